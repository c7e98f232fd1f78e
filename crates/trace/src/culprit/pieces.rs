//! A thread's time between two moments, cut into pieces by what kept it from running.
//!
//! Pieces never overlap. What they leave out, the thread ran.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::seen::{HARD, Irq, Off, OffKind, Run, Seen};
use super::suspect::{Suspect, of_sleep};

/// Some time, and what it is put down to.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece<'a> {
    /// To what.
    pub suspect: Suspect,
    /// How long, ns.
    pub ns: u64,
    /// The thread was runnable and not running.
    pub is_runq: bool,
    /// The thread that had the CPU meanwhile.
    pub tid: Option<u32>,
    /// The sleep that it is a part of.
    pub off: Option<&'a Off>,
}

/// What was seen, by thread and CPU, in the order of time.
#[derive(Debug)]
pub struct Index<'a> {
    seen: &'a Seen,
    offs: HashMap<u32, Vec<&'a Off>>,
    runs: HashMap<u32, Vec<&'a Run>>,
    struck: HashMap<(u32, u32), Vec<&'a Irq>>,
    on_cpu: HashMap<(u32, u32), Vec<&'a Irq>>,
    vectors: Vec<u32>,
    groups: HashMap<u32, Arc<str>>,
    own: HashSet<u32>,
}

/// From when to when; of a list in which nothing overlaps.
trait Span {
    fn span(&self) -> (u64, u64);
}

impl Span for Off {
    fn span(&self) -> (u64, u64) {
        (self.from_ns, self.to_ns)
    }
}

impl Span for Run {
    fn span(&self) -> (u64, u64) {
        (self.from_ns, self.to_ns)
    }
}

impl Span for Irq {
    fn span(&self) -> (u64, u64) {
        (self.from_ns, self.to_ns)
    }
}

/// Those that overlap `[from, to)`.
fn within<'s, 'a, T: Span>(
    sorted: Option<&'s Vec<&'a T>>,
    from_ns: u64,
    to_ns: u64,
) -> impl Iterator<Item = &'a T> + use<'s, 'a, T> {
    let sorted = sorted.map_or(&[][..], Vec::as_slice);
    let first = sorted.partition_point(|item| item.span().1 <= from_ns);
    sorted[first..].iter().copied().take_while(move |item| item.span().0 < to_ns)
}

fn group<'a, T: Span, K: std::hash::Hash + Eq>(
    items: &'a [T],
    key: impl Fn(&T) -> K,
) -> HashMap<K, Vec<&'a T>> {
    let mut groups = HashMap::<K, Vec<&'a T>>::new();
    for item in items {
        groups.entry(key(item)).or_default().push(item);
    }
    for group in groups.values_mut() {
        group.sort_by_key(|item| item.span());
    }
    groups
}

impl<'a> Index<'a> {
    /// `own`: processes of the service.
    pub fn new(seen: &'a Seen, own: impl IntoIterator<Item = u32>) -> Self {
        let mut vectors: Vec<u32> = seen.irqs.iter().map(|irq| irq.vector).collect();
        vectors.sort_unstable();
        vectors.dedup();
        let named = seen.runs.iter().filter(|run| !run.group.is_empty());
        Self {
            seen,
            offs: group(&seen.offs, |off| off.tid),
            runs: group(&seen.runs, |run| run.cpu),
            struck: group(&seen.irqs, |irq| (irq.tid, irq.vector)),
            on_cpu: group(&seen.irqs, |irq| (irq.cpu, irq.vector)),
            vectors,
            groups: named.map(|run| (run.tid, run.group.clone())).collect(),
            own: own.into_iter().collect(),
        }
    }

    /// Function names of the stacks.
    pub fn stacks(&self) -> &'a super::seen::Stacks {
        &self.seen.stacks
    }

    /// Is this process one of the service?
    pub fn is_own(&self, tgid: u32) -> bool {
        self.own.contains(&tgid)
    }

    /// The times off its CPU of thread `tid` that overlap `[from, to)`.
    pub fn offs(
        &self,
        tid: u32,
        from_ns: u64,
        to_ns: u64,
    ) -> impl Iterator<Item = &'a Off> + use<'_, 'a> {
        within(self.offs.get(&tid), from_ns, to_ns)
    }

    /// What kept thread `tid` from running between two moments.
    pub fn pieces(&self, tid: u32, from_ns: u64, to_ns: u64) -> Vec<Piece<'a>> {
        let (mut pieces, mut at_ns) = (Vec::new(), from_ns);
        for off in within(self.offs.get(&tid), from_ns, to_ns) {
            self.interrupted(&self.struck, tid, (at_ns, off.from_ns.min(to_ns)), &mut pieces);
            self.off(off, from_ns, to_ns, &mut pieces);
            at_ns = at_ns.max(off.to_ns);
        }
        self.interrupted(&self.struck, tid, (at_ns, to_ns), &mut pieces);
        pieces
    }

    fn off(&self, off: &'a Off, from_ns: u64, to_ns: u64, pieces: &mut Vec<Piece<'a>>) {
        let asleep_ns = clip((off.from_ns, off.woken_ns), from_ns, to_ns);
        if asleep_ns > 0 && off.kind == OffKind::Asleep && !off.is_idle {
            let suspect = of_sleep(off, &self.seen.stacks, |tgid| self.is_own(tgid));
            pieces.push(Piece {
                suspect,
                ns: asleep_ns,
                is_runq: false,
                tid: None,
                off: Some(off),
            });
        }
        let (from_ns, to_ns) = (off.woken_ns.max(from_ns), off.to_ns.min(to_ns));
        // It waited for another CPU first, and who had that is not known.
        let mut at_ns = off.here_ns.max(from_ns).min(to_ns);
        let ns = at_ns.saturating_sub(from_ns);
        if ns > 0 {
            let suspect = Suspect::Unseen;
            pieces.push(Piece { suspect, ns, is_runq: true, tid: None, off: None });
        }
        for run in within(self.runs.get(&off.cpu), at_ns, to_ns) {
            self.waited(off.cpu, (at_ns, run.from_ns.min(to_ns)), None, pieces);
            let during = (run.from_ns.max(at_ns), run.to_ns.min(to_ns));
            self.waited(off.cpu, during, Some(run), pieces);
            at_ns = at_ns.max(run.to_ns);
        }
        self.waited(off.cpu, (at_ns, to_ns), None, pieces);
    }

    /// It waited for its CPU while `run` was on there: less the interrupts that struck meanwhile.
    fn waited(&self, cpu: u32, during: (u64, u64), run: Option<&Run>, pieces: &mut Vec<Piece<'a>>) {
        let first = pieces.len();
        let left_ns = self.interrupted(&self.on_cpu, cpu, during, pieces);
        pieces[first..].iter_mut().for_each(|piece| piece.is_runq = true);
        if left_ns > 0 {
            let suspect = run.map_or(Suspect::Unseen, |run| self.runner(run));
            let tid = run.map(|run| run.tid);
            pieces.push(Piece { suspect, ns: left_ns, is_runq: true, tid, off: None });
        }
    }

    /// A run too short to read the control group's name has that of the thread's other runs.
    fn runner(&self, run: &Run) -> Suspect {
        let known = self.groups.get(&run.tid).filter(|_| run.group.is_empty());
        Suspect::Task {
            comm: run.comm.clone(),
            group: known.unwrap_or(&run.group).clone(),
            is_kernel: run.is_kernel,
            is_own: run.is_own,
        }
    }

    /// Adds the interrupts of a span, and answers what they left of it, ns.
    fn interrupted(
        &self,
        irqs: &HashMap<(u32, u32), Vec<&'a Irq>>,
        key: u32,
        (from_ns, to_ns): (u64, u64),
        pieces: &mut Vec<Piece<'a>>,
    ) -> u64 {
        let mut left_ns = to_ns.saturating_sub(from_ns);
        if left_ns == 0 {
            return 0;
        }
        for &vector in &self.vectors {
            for irq in within(irqs.get(&(key, vector)), from_ns, to_ns) {
                let length_ns = (irq.to_ns - irq.from_ns).max(1) as f64;
                let inside_ns = clip(irq.span(), from_ns, to_ns) as f64;
                let ns = ((irq.ns as f64 * inside_ns / length_ns) as u64).min(left_ns);
                let suspect = match vector {
                    HARD => Suspect::Hardirq(irq.number),
                    vector => Suspect::Softirq(vector),
                };
                left_ns -= ns;
                if ns > 0 {
                    pieces.push(Piece { suspect, ns, is_runq: false, tid: None, off: None });
                }
            }
        }
        left_ns
    }

    /// When `waker` last woke `tid` between two moments.
    pub fn woken_by(&self, tid: u32, waker: u32, from_ns: u64, to_ns: u64) -> Option<u64> {
        let is_it = |off: &&Off| {
            (from_ns..to_ns).contains(&off.woken_ns)
                && off.waker.as_ref().is_some_and(|w| w.tid == waker && !w.is_irq)
        };
        within(self.offs.get(&tid), from_ns, to_ns).filter(is_it).last().map(|off| off.woken_ns)
    }
}

/// Length of the part of a span that lies in `[from, to)`, ns.
fn clip(span: (u64, u64), from_ns: u64, to_ns: u64) -> u64 {
    span.1.min(to_ns).saturating_sub(span.0.max(from_ns))
}
