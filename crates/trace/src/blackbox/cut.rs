//! A slow request's time, cut up: by stage, and by who or what took it.
//!
//! The hooks know when a request came and when its reply left, and what the replying thread did meanwhile. So a
//! stage is a state of that thread. Every moment belongs to exactly one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sojourn_base::visible::in_line;

use super::memory::Slow;
use super::parts::{Culprit, Cut};
use super::record::Signal;
use crate::culprit::pieces::{Index, Piece};
use crate::culprit::seen::{Off, OffKind};
use crate::culprit::suspect::{Suspect, wait_stage};

/// The thread ran: this request, or others before it.
pub const RUNNING: &str = "running";
/// It was stopped by a signal.
pub const STOPPED: &str = "stopped";
/// It slept in `epoll_wait` or its like: for an upstream, or until it was woken.
pub const IDLE: &str = "wait_upstream";
const RUNQ: &str = "runq_delay";
/// SIGSTOP.
const STOP: u32 = 19;
/// Frames of a stack that are written.
const FRAMES: usize = 24;

/// What is known when a request is cut up.
pub struct Known<'a> {
    /// What threads waited for.
    pub index: &'a Index<'a>,
    /// Events that ended before this may have left memory, ns of the monotonic clock.
    pub from_ns: u64,
    /// To the service.
    pub signals: &'a [Signal],
    /// Of threads, by process and thread.
    pub names: &'a HashMap<(u32, u32), String>,
}

impl Known<'_> {
    /// The name of the thread that replied; empty: not known.
    pub fn thread(&self, slow: &Slow) -> &str {
        self.names.get(&(slow.tgid, slow.tid)).map_or("", String::as_str)
    }
}

/// Cuts a request up by what its thread did and who else ran meanwhile.
pub fn cut(slow: &Slow, known: &Known<'_>) -> Cut {
    let index = known.index;
    let (from_ns, to_ns) = (slow.start_ns, slow.end_ns());
    let mut stages = BTreeMap::<&'static str, u64>::new();
    let mut culprits = BTreeMap::<Culprit, u64>::new();
    let mut left_ns = slow.total_ns;
    let mut put = |stage: &'static str, culprit: Culprit, ns: u64| {
        let ns = ns.min(left_ns);
        if ns > 0 {
            left_ns -= ns;
            *stages.entry(stage).or_default() += ns;
            *culprits.entry(culprit).or_default() += ns;
        }
    };
    let pieces = index.pieces(slow.tid, from_ns, to_ns);
    for piece in &pieces {
        put(stage_of(piece), of_suspect(&piece.suspect), piece.ns);
    }
    // What was seen of the time before the oldest event is known all the same.
    let mut forgotten_ns = known.from_ns.min(to_ns).saturating_sub(from_ns);
    for off in index.offs(slow.tid, from_ns, to_ns) {
        let before_ns = off.to_ns.min(known.from_ns).saturating_sub(off.from_ns.max(from_ns));
        forgotten_ns = forgotten_ns.saturating_sub(before_ns);
        let asleep_ns = off.woken_ns.min(to_ns).saturating_sub(off.from_ns.max(from_ns));
        match off.kind {
            OffKind::Stopped => put(STOPPED, of_stop(off, known.signals), asleep_ns),
            OffKind::Asleep if off.is_idle => put(IDLE, idle(), asleep_ns),
            OffKind::Asleep | OffKind::Preempted => {}
        }
    }
    put(RUNNING, forgotten(), forgotten_ns);
    put(RUNNING, running(known.thread(slow)), slow.total_ns);
    let mut culprits: Vec<(Arc<Culprit>, u64)> =
        culprits.into_iter().map(|(it, ns)| (Arc::new(it), ns)).collect();
    culprits.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let longest = longest_sleep(&pieces);
    let slept = longest.map(|(suspect, _)| of_suspect(suspect));
    let slept = slept.and_then(|slept| culprits.iter().position(|(it, _)| **it == slept));
    let stack = longest.map_or_else(Vec::new, |(_, off)| stack_of(off, index));
    Cut { stages: stages.into_iter().collect(), culprits, slept, stack }
}

fn stage_of(piece: &Piece<'_>) -> &'static str {
    match &piece.suspect {
        _ if piece.is_runq => RUNQ,
        Suspect::Wait { kind, .. } => wait_stage(*kind),
        _ => RUNNING,
    }
}

fn of_suspect(suspect: &Suspect) -> Culprit {
    let (cgroup, waker) = match suspect {
        Suspect::Task { group, .. } => (group.to_string(), String::new()),
        Suspect::Wait { waker, .. } => (String::new(), waker.to_string()),
        _ => Default::default(),
    };
    Culprit { kind: suspect.kind(), name: suspect.name(), cgroup, waker, about: suspect.words() }
}

fn plain(kind: &'static str, name: &str, about: String) -> Culprit {
    let (cgroup, waker) = Default::default();
    Culprit { kind, name: name.into(), cgroup, waker, about }
}

fn idle() -> Culprit {
    plain(
        "idle",
        "",
        "its thread slept in epoll_wait: for an upstream, or for more of the request".into(),
    )
}

/// What is left of the time before the oldest event: it is not known whether its thread ran.
fn forgotten() -> Culprit {
    plain("unseen", "", "events of that time had left memory before its reply".into())
}

fn running(thread: &str) -> Culprit {
    let about = format!("its thread `{}` ran: this request, or others before it", in_line(thread));
    plain("running", thread, about)
}

/// The newest stop signal before the thread stopped.
fn of_stop(off: &Off, signals: &[Signal]) -> Culprit {
    let is_it = |signal: &&Signal| {
        signal.number == STOP && signal.target == off.tgid && signal.at_ns <= off.from_ns
    };
    let sender = signals.iter().filter(is_it).max_by_key(|signal| signal.at_ns);
    let name = sender.map_or("", |signal| signal.comm.as_str());
    let about = match sender {
        Some(signal) => format!("stopped by a signal from `{}` ({})", in_line(name), signal.tgid),
        None => "stopped by a signal, from whom was not seen".into(),
    };
    plain("stopped", name, about)
}

/// The longest sleep, and to whom it is put down.
fn longest_sleep<'p, 'a>(pieces: &'p [Piece<'a>]) -> Option<(&'p Suspect, &'a Off)> {
    let sleeps = pieces.iter().filter_map(|piece| Some((piece, piece.off?)));
    let (piece, off) = sleeps.max_by_key(|(piece, _)| piece.ns)?;
    Some((&piece.suspect, off))
}

fn stack_of(off: &Off, index: &Index<'_>) -> Vec<Arc<str>> {
    let stacks = index.stacks();
    let kernel = stacks.kernel_of(off).iter().cloned();
    let user = stacks.user_of(off).iter().cloned();
    kernel.map(|name| Arc::from(format!("{name}_[k]"))).chain(user).take(FRAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::culprit::seen::{Run, Seen, Waker};

    const MS: u64 = 1_000_000;

    fn off(kind: OffKind, from: u64, woken: u64, to: u64) -> Off {
        Off {
            tid: 7,
            tgid: 7,
            cpu: 0,
            kind,
            from_ns: from * MS,
            woken_ns: woken * MS,
            here_ns: woken * MS,
            to_ns: to * MS,
            is_idle: false,
            call: u32::try_from(libc::SYS_futex).ok(),
            kernel_stack: 1,
            user_stack: -1,
            waker: Some(Waker { tid: 8, tgid: 7, comm: "locker".into(), is_irq: false }),
            file: None,
        }
    }

    fn parts(seen: &Seen, signals: &[Signal]) -> Vec<(&'static str, String, u64)> {
        parts_from(seen, signals, 0)
    }

    fn parts_from(
        seen: &Seen,
        signals: &[Signal],
        from_ns: u64,
    ) -> Vec<(&'static str, String, u64)> {
        let names = HashMap::from([((0, 7), "worker".to_owned())]);
        let known = Known { index: &Index::new(seen, [7]), from_ns, signals, names: &names };
        let slow = Slow { start_ns: 10 * MS, total_ns: 20 * MS, tid: 7, ..Slow::default() };
        let cut = cut(&slow, &known);
        assert_eq!(cut.stages.iter().map(|(_, ns)| ns).sum::<u64>(), slow.total_ns);
        assert_eq!(cut.culprits.iter().map(|(_, ns)| ns).sum::<u64>(), slow.total_ns);
        cut.culprits.iter().map(|(it, ns)| (it.kind, it.name.clone(), ns / MS)).collect()
    }

    #[test]
    fn a_neighbour_on_the_cpu_has_the_time_that_it_ran() {
        let run = Run {
            cpu: 0,
            tid: 99,
            tgid: 99,
            from_ns: 12 * MS,
            to_ns: 24 * MS,
            is_kernel: false,
            is_own: false,
            comm: "xz".into(),
            group: "batch".into(),
        };
        let offs = vec![off(OffKind::Preempted, 12, 12, 24)];
        let seen = Seen { runs: vec![run], offs, ..Seen::default() };
        assert_eq!(parts(&seen, &[]), [("task", "xz".into(), 12), ("running", "worker".into(), 8)]);
    }

    #[test]
    fn a_lock_has_its_holder_and_a_stop_its_sender() {
        let seen = Seen { offs: vec![off(OffKind::Asleep, 0, 28, 29)], ..Seen::default() };
        let listed = parts(&seen, &[]);
        assert_eq!((listed[0].0, listed[0].2), ("futex", 18), "only what lies in the request");
        let waited = ("unseen", "no task seen".to_owned(), 1);
        assert!(listed.contains(&waited), "it waited for its CPU: {listed:?}");
        let seen = Seen { offs: vec![off(OffKind::Stopped, 11, 29, 29)], ..Seen::default() };
        let sent = |at, comm: &str, number, target| Signal {
            at_ns: at * MS,
            number,
            tid: 5,
            tgid: 5,
            comm: comm.into(),
            target,
        };
        let signals = [
            sent(9, "sh", 19, 7),
            sent(10, "kill", 19, 7),
            sent(10, "x", 15, 7),
            sent(20, "y", 19, 7),
        ];
        assert_eq!(parts(&seen, &signals)[0], ("stopped", "kill".into(), 18));
        assert_eq!(parts(&seen, &[])[0], ("stopped", String::new(), 18), "the sender is not known");
    }

    #[test]
    fn its_thread_did_not_run_for_sure_while_events_had_left_memory() {
        let seen = Seen { offs: vec![off(OffKind::Stopped, 22, 29, 29)], ..Seen::default() };
        let stopped = ("stopped", String::new(), 7);
        let (unseen, ran) = (("unseen", String::new(), 6), ("running", "worker".into(), 7));
        assert_eq!(parts_from(&seen, &[], 16 * MS), [ran, stopped.clone(), unseen]);
        let unseen = ("unseen", String::new(), 13);
        assert_eq!(parts_from(&seen, &[], 90 * MS), [unseen, stopped.clone()], "all of it");
        // From 8 to 23 it was stopped, which is known, and ran from then on.
        let seen = Seen { offs: vec![off(OffKind::Stopped, 8, 23, 23)], ..Seen::default() };
        let (stopped, ran) = (("stopped", String::new(), 13), ("running", "worker".to_owned(), 7));
        assert_eq!(parts_from(&seen, &[], 16 * MS), [stopped, ran]);
    }

    #[test]
    fn what_was_seen_of_other_threads_is_none_of_its_time() {
        let mut other = off(OffKind::Asleep, 0, 100, 100);
        other.tid = 8;
        let seen = Seen { offs: vec![other], ..Seen::default() };
        assert_eq!(parts(&seen, &[]), [("running", "worker".into(), 20)]);
        let mut asleep = off(OffKind::Asleep, 0, 25, 25);
        asleep.is_idle = true;
        let seen = Seen { offs: vec![asleep], ..Seen::default() };
        assert_eq!(parts(&seen, &[])[0].0, "idle", "it waits for an upstream");
    }
}
