//! Requests and events made up, so that who is to blame is known.

use std::sync::Arc;

use super::flame::lines;
use super::join::cut;
use super::keep::Selection;
use super::pieces::Index;
use super::result::{Asked, Blame, Blamed, blame};
use super::seen::{File, Irq, Off, OffKind, Run, Seen, Waker};
use super::suspect::Suspect;
use super::svg::{Panel, draw};
use crate::reconstruct::counts::Thread;
use crate::reconstruct::parts::VerdictWord;
use crate::reconstruct::record::Record;
use crate::reconstruct::record::tests::record;
use crate::reconstruct::stages::{COUNT, STAGES};

mod cpus;
mod rules;

const WORKER: u32 = 11;
const LOCKER: u32 = 12;
const SERVICE: u32 = 10;
const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// The trace: 10 s, a request every 10 ms.
const SPAN: (u64, u64) = (1_000 * MS, 11_000 * MS);
const EVERY_NS: u64 = 10 * MS;

fn stage(name: &str) -> usize {
    STAGES.iter().position(|stage| stage.name == name).unwrap()
}

/// A request with so much of each stage.
fn request(start_ns: u64, stages: &[(&str, u64)]) -> Record {
    let mut stage_ns = [0; COUNT];
    for (name, ns) in stages {
        stage_ns[stage(name)] += ns;
    }
    let total_ns = stage_ns.iter().sum();
    Record { start_ns, stage_ns, thread: WORKER, writer: WORKER, ..record(total_ns) }
}

fn run(comm: &str, group: &str, from_ns: u64, ns: u64) -> Run {
    Run {
        cpu: 0,
        tid: 900,
        tgid: 900,
        from_ns,
        to_ns: from_ns + ns,
        is_kernel: comm.starts_with('k'),
        is_own: false,
        comm: comm.into(),
        group: group.into(),
    }
}

fn off(kind: OffKind, from_ns: u64, asleep_ns: u64, waits_ns: u64) -> Off {
    Off {
        tid: WORKER,
        tgid: SERVICE,
        cpu: 0,
        kind,
        from_ns,
        woken_ns: from_ns + asleep_ns,
        here_ns: from_ns + asleep_ns,
        to_ns: from_ns + asleep_ns + waits_ns,
        is_idle: false,
        call: Some(0),
        kernel_stack: -1,
        user_stack: -1,
        waker: None,
        file: None,
    }
}

fn preempted(from_ns: u64, ns: u64) -> Off {
    off(OffKind::Preempted, from_ns, 0, ns)
}

fn irq(vector: u32, from_ns: u64, length_ns: u64, ns: u64) -> Irq {
    Irq { cpu: 0, tid: WORKER, vector, number: 4, from_ns, to_ns: from_ns + length_ns, ns }
}

fn stack(names: &[&str]) -> Vec<Arc<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

/// 900 requests of 50 µs and `slow` in between, every tenth.
#[derive(Default)]
struct Scene {
    kept: Selection,
    seen: Seen,
}

impl Scene {
    /// `slow` makes a slow request that begins at a time, and what is to be seen of it; `quick` what is
    /// to be seen of another.
    fn new(
        mut slow: impl FnMut(u64, &mut Seen) -> Record,
        mut quick: impl FnMut(u64, &mut Seen),
    ) -> Self {
        let mut scene = Self::default();
        scene.seen.losses.told = 1000;
        for i in 0..1000 {
            let at_ns = SPAN.0 + i * EVERY_NS;
            if i % 10 == 5 {
                let record = slow(at_ns, &mut scene.seen);
                scene.kept.tail.push(record);
            } else {
                quick(at_ns, &mut scene.seen);
                scene.kept.body.push(request(at_ns, &[("application", 40 * US), ("tx", 10 * US)]));
            }
        }
        scene
    }

    fn blamed(&self) -> Blamed {
        let thread =
            |tid, comm: &str| Thread { tid, tgid: SERVICE, comm: comm.into(), ..Thread::default() };
        let threads = [thread(WORKER, "worker"), thread(LOCKER, "locker")];
        let requests = self.kept.tail.len() as u64;
        let asked = Asked { q: 0.9, from_ns: 51 * US, requests, span: SPAN, threads: &threads };
        blame(asked, &self.kept, &self.seen)
    }

    fn blame(&self) -> Blame {
        let blame = self.blamed().blame;
        let sum: f64 = blame.suspects.iter().map(|suspect| suspect.share).sum();
        assert!((sum - 1.0).abs() < 0.05, "but for what is too small to list: {sum}");
        blame
    }
}

fn named(blame: &Blame) -> Vec<String> {
    let named = blame.suspects.iter().filter(|suspect| suspect.is_named);
    named.map(|suspect| format!("{} {}", suspect.kind, suspect.name)).collect()
}

fn nothing(_: u64, _: &mut Seen) {}

/// A proxy: a loop that sleeps sends no event, so the stage itself says what it waits for.
#[test]
fn a_tail_that_waits_for_an_upstream_says_so_and_blames_no_one_here() {
    let slow = |at_ns, _: &mut Seen| {
        request(at_ns, &[("application", 40 * US), ("wait_upstream", 5 * MS), ("tx", 10 * US)])
    };
    let blamed = Scene::new(slow, nothing).blamed();
    assert!(named(&blamed.blame).is_empty());
    let answer = &blamed.blame.answer;
    assert!(answer.contains("100 % of it waiting for an upstream"), "{answer}");
    assert!(blamed.tail.keys().any(|path| path == "worker;sleeps;wait_upstream"), "{blamed:?}");
}

/// A sleep that was reported lies in its own stage, though another one is longer.
#[test]
fn what_a_thread_slept_on_is_taken_out_of_the_wait_for_it() {
    let mut seen = Seen::default();
    let mut slept = off(OffKind::Asleep, 100 * US, 2 * MS, 0);
    slept.call = u32::try_from(libc::SYS_futex).ok();
    seen.offs.push(slept);
    let stages = [("thread_busy", 5 * MS), ("wait_lock", 2 * MS)];
    let record = request(0, &stages);
    let index = Index::new(&seen, [SERVICE]);
    let rest = cut(&record, &index).rest;
    assert_eq!((rest[stage("thread_busy")], rest[stage("wait_lock")]), (5 * MS, 0));
}

/// Preempted for 4 ms, of which `xz` had the CPU for 3.9.
fn behind_xz(at_ns: u64, seen: &mut Seen) -> Record {
    seen.offs.push(preempted(at_ns + 20 * US, 4 * MS));
    seen.runs.push(run("xz", "batch", at_ns + 20 * US, 3900 * US));
    request(at_ns, &[("application", 40 * US), ("runq_delay", 4 * MS)])
}

#[test]
fn a_hog_is_named_with_its_control_group_and_share() {
    let mut blame = Scene::new(behind_xz, nothing).blame();
    assert_eq!(named(&blame), ["task xz"]);
    let xz = &blame.suspects[0];
    assert_eq!((xz.cgroup.as_deref(), &xz.tids[..], xz.requests), (Some("batch"), &[900][..], 100));
    assert!((0.97..0.98).contains(&xz.share), "3.9 of 3.99 ms: {}", xz.share);
    assert!((0.02..0.03).contains(&blame.unexplained_share), "{}", blame.unexplained_share);
    let answer =
        "p90: 98 % of the excess is run-queue delay behind `xz` (cgroup batch), 3 % unexplained";
    assert_eq!(blame.answer, answer);
    let page = super::text::page(&blame);
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("* run-queue delay behind `xz`"), "{page}");
    blame.suspects[0].share_low = 0.969;
    let page = super::text::page(&blame);
    assert!(page.contains(" 96 %"), "its lower bound is rounded down: {page}");
}

#[test]
fn a_slow_disk_is_named_with_the_file() {
    let slow = |at_ns, seen: &mut Seen| {
        let file = File { mode: 0o100_644, device: 0, name: "data.bin".into() };
        let asleep = off(OffKind::Asleep, at_ns + 10 * US, 3 * MS, 0);
        seen.offs.push(Off { kernel_stack: 7, user_stack: 8, file: Some(file), ..asleep });
        request(at_ns, &[("application", 3 * MS + 30 * US)])
    };
    let mut scene = Scene::new(slow, nothing);
    let kernel = ["bpf_prog", "__schedule", "schedule", "io_schedule", "folio_wait", "vfs_read"];
    scene.seen.stacks.kernel.insert(7, stack(&kernel));
    // Beyond its outermost frame a program without frame pointers has anything.
    let user = ["pread", "[unknown]", "serve", "main", "[unknown]", "[unknown]"];
    scene.seen.stacks.user.insert((SERVICE, 8), stack(&user));
    let blamed = scene.blamed();
    assert_eq!(named(&blamed.blame), ["block_io data.bin"]);
    let text = lines(("p90", &blamed.tail), ("others", &blamed.body));
    let path = "p90;worker;sleeps;main;serve;[unknown];pread;vfs_read_[k];folio_wait_[k];io_schedule_[k];disk: data.bin";
    assert!(text.contains(&format!("{path} 300000\n")), "100 times 3 ms:\n{text}");
    assert!(text.contains("others;worker;works;application 36000\n"), "{text}");
}

/// The lock's holder sleeps: it is followed, and named with what it did.
#[test]
fn a_lock_is_put_down_to_the_thread_that_held_it() {
    let waker = Waker { tid: LOCKER, tgid: SERVICE, comm: "locker".into(), is_irq: false };
    let slow = |at_ns, seen: &mut Seen| {
        let asleep = off(OffKind::Asleep, at_ns + 10 * US, 5 * MS, 0);
        let call = u32::try_from(libc::SYS_futex).ok();
        seen.offs.push(Off { call, waker: Some(waker.clone()), ..asleep });
        let sleep = u32::try_from(libc::SYS_clock_nanosleep).ok();
        let nap = off(OffKind::Asleep, at_ns - MS, 5 * MS, 0);
        seen.offs.push(Off { tid: LOCKER, call: sleep, ..nap });
        request(at_ns, &[("application", 5 * MS + 30 * US)])
    };
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(named(&blame), ["futex "]);
    let lock = &blame.suspects[0];
    assert_eq!((lock.waker.as_deref(), &lock.tids[..]), (Some("locker"), &[LOCKER][..]));
    assert_eq!(lock.waker_did[0].0, "sleep of its own");
    assert!((lock.waker_did[0].1 - 3.99e6).abs() < 1e3, "{:?}", lock.waker_did);
    assert_eq!(lock.waker_did[1].0, "`locker` ran");
    assert!(blame.answer.contains("let go by its thread `locker`"), "{}", blame.answer);
}

/// A futex whose time is out is let go by whomever the timer struck: not by that one.
#[test]
fn a_stranger_does_not_let_a_futex_go() {
    let waker = Waker { tid: 5, tgid: 5, comm: "bash".into(), is_irq: false };
    let slow = |at_ns, seen: &mut Seen| {
        let asleep = off(OffKind::Asleep, at_ns, 5 * MS, 0);
        let call = u32::try_from(libc::SYS_futex).ok();
        seen.offs.push(Off { call, waker: Some(waker.clone()), ..asleep });
        request(at_ns, &[("application", 5 * MS + 30 * US)])
    };
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(blame.suspects[0].waker, None);
    assert!(!blame.answer.contains("bash"), "{}", blame.answer);
}

#[test]
fn interrupts_are_named_by_vector_on_the_cpu_and_while_waiting_for_it() {
    let slow = |at_ns, seen: &mut Seen| {
        // On the CPU for 1 ms, half of it in NET_RX; then 2 ms behind a task that is struck for 1.
        let irq = irq(3, at_ns, MS, MS / 2);
        let (from_ns, to_ns) = (at_ns + 1500 * US, at_ns + 2500 * US);
        seen.irqs.push(irq);
        seen.irqs.push(Irq { tid: 900, from_ns, to_ns, ns: MS, ..irq });
        seen.offs.push(preempted(at_ns + MS, 2 * MS));
        seen.runs.push(run("xz", "", at_ns + MS, 2 * MS));
        request(at_ns, &[("application", MS), ("runq_delay", 2 * MS)])
    };
    let blame = Scene::new(slow, nothing).blame();
    assert_eq!(named(&blame), ["softirq NET_RX", "task xz"]);
    assert!((blame.suspects[0].tail_mean_ns - 1.5e6).abs() < 1.0, "{:?}", blame.suspects[0]);
    assert!((blame.suspects[1].tail_mean_ns - 1e6).abs() < 1.0, "{:?}", blame.suspects[1]);
}

/// Its reader's waits count until it hands over, its writer's from then on.
#[test]
fn a_request_that_is_handed_over_is_followed() {
    let mut seen = Seen::default();
    let woken = Waker { tid: WORKER, tgid: SERVICE, comm: "worker".into(), is_irq: false };
    let at_ns = SPAN.0;
    seen.offs.push(preempted(at_ns + 10 * US, MS));
    seen.runs.push(run("before", "", at_ns + 10 * US, MS));
    // The writer slept until it was handed the request after 2 ms, and then waited for its CPU.
    let parked = off(OffKind::Asleep, at_ns - MS, 3 * MS, 3 * MS);
    seen.offs.push(Off { tid: LOCKER, cpu: 1, waker: Some(woken), ..parked });
    seen.runs.push(Run { cpu: 1, ..run("after", "", at_ns + 2 * MS, 3 * MS) });
    // What befalls the reader later is none of its business.
    seen.offs.push(preempted(at_ns + 3 * MS, MS));
    seen.runs.push(run("later", "", at_ns + 3 * MS, MS));
    let mut record =
        request(at_ns, &[("application", 2 * MS), ("runq_delay", 4 * MS), ("handover", 10 * US)]);
    record.writer = LOCKER;
    let parts = cut(&record, &Index::new(&seen, [SERVICE])).parts();
    let of = |name: &str| parts.iter().find(|(s, _)| s.name() == name).map_or(0, |(_, ns)| *ns);
    assert_eq!((of("before"), of("after"), of("later")), (MS, 3 * MS, 0), "{parts:?}");
    assert_eq!(parts.iter().map(|(_, ns)| ns).sum::<u64>(), record.total_ns);
}

/// Whatever is seen, a request's parts add to its total.
#[test]
fn parts_add_to_the_total() {
    let mut seen = Seen::default();
    let mut random = 12_345_u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (random >> 33) % n
    };
    let mut at_ns = SPAN.0;
    for _ in 0..500 {
        at_ns += below(100 * US);
        let kind = [OffKind::Preempted, OffKind::Asleep, OffKind::Stopped][below(3) as usize];
        let mut it = off(kind, at_ns, below(50 * US), below(80 * US));
        if kind == OffKind::Preempted {
            it.woken_ns = it.from_ns;
        }
        it.here_ns = it.woken_ns + below(it.to_ns - it.woken_ns + 1);
        seen.runs.push(run("xz", "", it.woken_ns, below(it.to_ns - it.woken_ns + 1)));
        let length_ns = 1 + below(90 * US);
        seen.irqs.push(irq(below(11) as u32, at_ns, length_ns, below(length_ns)));
        at_ns = it.to_ns;
        seen.offs.push(it);
    }
    let index = Index::new(&seen, [SERVICE]);
    for _ in 0..2000 {
        let start_ns = SPAN.0 + below(30 * MS);
        let stages =
            [("application", below(MS)), ("runq_delay", below(MS)), ("thread_busy", below(MS))];
        let record = request(start_ns, &stages);
        let cut = cut(&record, &index);
        let parts = cut.parts();
        assert_eq!(parts.iter().map(|(_, ns)| ns).sum::<u64>(), record.total_ns);
        let whole: u64 =
            index.pieces(WORKER, start_ns, start_ns + record.total_ns).iter().map(|p| p.ns).sum();
        assert!(whole <= record.total_ns, "pieces do not overlap");
        assert_eq!(cut.pieces.iter().map(|piece| piece.ns).sum::<u64>(), whole);
        assert!(
            !parts.iter().any(|(s, _)| matches!(s, Suspect::Stage(s) if *s == stage("runq_delay")))
        );
    }
}

#[test]
fn the_picture_has_both_groups_and_no_name_breaks_it() {
    let mut scene = Scene::new(behind_xz, nothing);
    scene.seen.runs.iter_mut().for_each(|run| run.comm = "x<&;z".into());
    let blamed = scene.blamed();
    let panel = |title, folded| Panel { title, requests: 100, folded };
    let svg = draw("a & b", "who", panel("slow", &blamed.tail), panel("others", &blamed.body));
    assert!(svg.contains("behind x&lt;&amp;:z (cgroup batch)"), "{svg}");
    assert!(svg.contains("a &amp; b") && svg.contains("slow: 100 requests, "), "{svg}");
    let opened = svg.matches("<g ").count();
    assert_eq!(opened, svg.matches("</g>").count());
    assert!(opened >= 8, "{opened} frames");
    let wide = |rect: &str| rect.split("width=\"").nth(1)?.split('"').next()?.parse::<f64>().ok();
    let frames = svg.split("<rect x=").skip(1).filter_map(wide);
    assert!(frames.into_iter().all(|wide| wide <= 670.0));
}
