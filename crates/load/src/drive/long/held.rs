//! Requests near an outage of the instrument, held until it is known how far it reaches.
//!
//! An outage [s, e) of length L excludes at most what was due from s − L to e + 20 L ([`crate::watch::outage`]);
//! how much of that is a matter of the whole run: its p99, its usual backlog, its other outages.
//! Requests due in there are held as they are, and so are the times of those in flight meanwhile, by
//! which the recovery is judged. What is due elsewhere is kept for certain.
//!
//! An outage is reported when it is over, and a request is summarised [`super::keeper`]'s delay after it was
//! answered. So of an outage longer than that delay some requests that were due before it stay in.
//!
//! On a machine that stops all the time this would be the whole run: beyond [`ROWS_MAX`] requests the
//! older outages are decided by what is known by then ([`Held::is_full`]).

use super::backlog::Near;
use crate::protocols::Outcome;
use crate::tally::request::Request;
use crate::watch::outage::Outage;
use crate::watch::outage::union;
use crate::watch::outage::{RECOVERY_FACTOR_MAX, Windows, unrefuted};

/// Requests held before old outages are decided early: 40 MB.
pub const ROWS_MAX: usize = 500_000;

/// What one sentinel has reported, and when the threads that it watches over were alive meanwhile.
#[derive(Debug, Default)]
struct Sentinel {
    /// Threads that it watches over; none: a synthetic service.
    threads: Vec<usize>,
    /// Ascending.
    outages: Vec<Outage>,
    signs_ns: Vec<u64>,
}

/// Requests near an outage, kept until it is known how far that reaches.
#[derive(Debug, Default)]
pub struct Held {
    /// Outages of the threads themselves, and of sentinels when they are decided.
    own: Vec<Outage>,
    sentinels: Vec<Sentinel>,
    /// All outages until now, the sentinels' as they were reported; ascending, disjoint.
    all: Vec<Outage>,
    /// What they may exclude; ascending, disjoint.
    reach: Vec<Outage>,
    rows: Vec<(usize, Request)>,
    /// Due and done of every hit near an outage.
    pairs: Vec<(u64, u64)>,
    /// Windows of outages that were decided early, and up to when that is.
    decided: Vec<Outage>,
    decided_ns: u64,
}

impl Held {
    /// With a sentinel for each entry, over the threads that it names.
    pub fn new(sentinels: Vec<Vec<usize>>) -> Self {
        let sentinels =
            sentinels.into_iter().map(|threads| Sentinel { threads, ..Sentinel::default() });
        Self { sentinels: sentinels.collect(), ..Self::default() }
    }

    /// A thread saw that it did not run.
    pub fn note_own(&mut self, outage: Outage) {
        self.own.push(outage);
        self.widen(outage);
    }

    /// Takes note that sentinel `index` woke late by `outage`.
    pub fn note_of_sentinel(&mut self, index: usize, outage: Outage) {
        self.sentinels[index].outages.push(outage);
        self.widen(outage);
    }

    /// Adds what `outage`, with those that it touches, may exclude to the reach.
    fn widen(&mut self, outage: Outage) {
        let whole = join(&mut self.all, outage);
        let start_ns = whole.start_ns.saturating_sub(whole.length_ns);
        let end_ns = whole.end_ns() + RECOVERY_FACTOR_MAX * whole.length_ns;
        join(&mut self.reach, Outage { start_ns, length_ns: end_ns - start_ns });
    }

    /// Takes `request` of `thread` if it may be excluded; answers whether it is to be counted now.
    pub fn passes(&mut self, thread: usize, request: &Request) -> bool {
        self.note_signs(thread, request);
        let Some(last) = self.reach.last() else { return true };
        if request.intended_ns >= last.end_ns() {
            return true;
        }
        let due_ns = request.intended_ns;
        let done_ns = request.done_ns.max(due_ns);
        let next = self.reach.partition_point(|window| window.end_ns() <= due_ns);
        let Some(window) = self.reach.get(next) else { return true };
        if request.outcome == Outcome::Hit && window.start_ns <= done_ns {
            self.pairs.push((due_ns, done_ns));
        }
        let is_held = window.start_ns <= due_ns;
        if is_held {
            self.rows.push((thread, *request));
        }
        !is_held
    }

    /// It was alive when it sent and picked up.
    fn note_signs(&mut self, thread: usize, request: &Request) {
        for sentinel in &mut self.sentinels {
            let is_service = sentinel.threads.is_empty();
            if sentinel.outages.is_empty() || !(is_service || sentinel.threads.contains(&thread)) {
                continue;
            }
            let last_ns = sentinel.outages.last().map_or(0, Outage::end_ns);
            for ns in [request.done_ns, if is_service { 0 } else { request.sent_ns }] {
                if ns >= last_ns {
                    continue;
                }
                let after = sentinel.outages.partition_point(|outage| outage.start_ns < ns);
                if after > 0 && ns < sentinel.outages[after - 1].end_ns() {
                    sentinel.signs_ns.push(ns);
                }
            }
        }
    }

    /// Whether old outages should be decided now.
    pub fn is_full(&self) -> bool {
        self.rows.len() > ROWS_MAX
    }

    /// All outages that are decided, ascending and disjoint, without what the marks refute of the
    /// sentinels'.
    pub fn log(&self) -> Vec<Outage> {
        union(self.own.clone())
    }

    /// Outages of sentinels that began before `until_ns` are what the marks leave of them.
    fn refute_before(&mut self, until_ns: u64, over_ns: u64) {
        for sentinel in &mut self.sentinels {
            let old = sentinel.outages.partition_point(|outage| outage.start_ns < until_ns);
            let outages: Vec<Outage> = sentinel.outages.drain(..old).collect();
            let end_ns = outages.last().map_or(0, Outage::end_ns);
            let signs = sentinel.signs_ns.extract_if(.., |ns| *ns < end_ns);
            self.own.extend(unrefuted(&outages, signs, over_ns));
        }
    }

    /// Up to when outages can be decided if all requests due before `before_ns` have been seen: those
    /// that may reach beyond are left for later, unless they are so many that nearly all is held.
    fn until_ns(&self, before_ns: u64) -> u64 {
        let cut_at = |times: &[Outage]| {
            let next = times.partition_point(|time| time.end_ns() <= before_ns);
            times.get(next).map_or(before_ns, |time| time.start_ns.min(before_ns))
        };
        let until_ns = cut_at(&self.reach);
        let left = self.rows.iter().filter(|row| row.1.intended_ns >= until_ns).count();
        if left > ROWS_MAX / 2 { cut_at(&self.all).max(self.decided_ns) } else { until_ns }
    }

    /// What all outages that are decided exclude, and the requests due before `before_ns` that this
    /// decides; `over_ns` is the length from which on a time without a sign of life is an outage.
    pub fn decide(
        &mut self,
        backlog: &Near<'_>,
        (before_ns, over_ns): (u64, u64),
    ) -> (Windows, Vec<(usize, Request)>) {
        let until_ns = self.until_ns(before_ns);
        self.refute_before(until_ns, over_ns);
        let log = union(self.own.clone());
        let ready: Vec<Outage> = log
            .iter()
            .filter(|outage| (self.decided_ns..until_ns).contains(&outage.start_ns))
            .copied()
            .collect();
        let windows = Windows::around(&ready, &backlog.with(&self.pairs));
        self.decided.extend(
            windows
                .within(0, u64::MAX)
                .map(|(start_ns, end_ns)| Outage { start_ns, length_ns: end_ns - start_ns }),
        );
        self.decided_ns = until_ns;
        self.pairs.retain(|&(_, done_ns)| done_ns >= until_ns);
        let rows = self.rows.extract_if(.., |row| row.1.intended_ns < until_ns).collect();
        (Windows::from(union(self.decided.clone())), rows)
    }
}

/// Adds `more` to ascending, disjoint times; answers the time that it is part of then.
fn join(times: &mut Vec<Outage>, more: Outage) -> Outage {
    let first = times.partition_point(|old| old.end_ns() < more.start_ns);
    let after = first + times[first..].partition_point(|old| old.start_ns <= more.end_ns());
    let whole = times[first..after].iter().fold(more, |whole, old| {
        let start_ns = whole.start_ns.min(old.start_ns);
        Outage { start_ns, length_ns: whole.end_ns().max(old.end_ns()) - start_ns }
    });
    times.splice(first..after, [whole]);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(due_ns: u64, done_ns: u64) -> Request {
        let outcome = Outcome::Hit;
        let sent_ns = due_ns + 1;
        let first_byte_ns = done_ns;
        Request {
            index: 0,
            op: sojourn_workload::plan::Op(0),
            item: 0,
            intended_ns: due_ns,
            free_ns: 0,
            sent_ns,
            first_byte_ns,
            done_ns,
            outcome,
            reply_bytes: 0,
        }
    }

    #[test]
    fn what_an_outage_can_reach_is_held_and_nothing_else() {
        let mut held = Held::default();
        assert!(held.passes(0, &hit(1000, 1001)), "there is no outage");
        held.note_own(Outage { start_ns: 1000, length_ns: 10 });
        for (due_ns, passes) in [(989, true), (990, false), (1209, false), (1210, true)] {
            assert_eq!(held.passes(0, &hit(due_ns, due_ns + 5)), passes, "due at {due_ns}");
        }
        assert!(held.passes(0, &hit(900, 1005)), "due long before: it is kept for certain");
        assert_eq!((held.rows.len(), held.pairs.len()), (2, 4), "and yet it was outstanding");
    }

    #[test]
    fn outages_that_touch_reach_as_far_as_one_of_their_length() {
        let mut held = Held::default();
        held.note_own(Outage { start_ns: 1000, length_ns: 10 });
        held.note_own(Outage { start_ns: 1010, length_ns: 10 });
        assert_eq!(held.reach.len(), 1);
        assert_eq!((held.reach[0].start_ns, held.reach[0].end_ns()), (980, 1020 + 20 * 20));
    }

    #[test]
    fn outages_without_an_end_are_decided_in_time() {
        let usual = crate::drive::long::backlog::Grid::new(1_000_000_000).outstanding();
        let mut held = Held::default();
        let (mut counted, mut passed) = (0, 0);
        for ns in (0..2 * ROWS_MAX as u64).map(|i| i * 1000) {
            if ns % 100_000 == 0 {
                held.note_own(Outage { start_ns: ns, length_ns: 10_000 });
            }
            passed += u64::from(held.passes(0, &hit(ns, ns + 10)));
            if held.is_full() {
                counted += held.decide(&Near::new(&usual), (ns, 1)).1.len();
            }
            assert!(held.rows.len() <= ROWS_MAX + 1);
        }
        let (windows, rows) = held.decide(&Near::new(&usual), (u64::MAX, 1));
        assert_eq!(counted + rows.len() + passed as usize, 2 * ROWS_MAX, "each request once");
        let out: u64 = windows.within(0, u64::MAX).map(|(start, end)| end - start).sum();
        assert_eq!(out, 10_000 * 20_000 / 2 * 2 / 2, "and every outage");
    }

    #[test]
    fn a_sign_of_life_refutes_a_sentinel() {
        let mut held = Held::new(vec![vec![0], vec![1]]);
        held.note_of_sentinel(0, Outage { start_ns: 1000, length_ns: 10 });
        held.note_of_sentinel(1, Outage { start_ns: 2000, length_ns: 10 });
        held.passes(0, &hit(1003, 1006));
        held.passes(0, &hit(2003, 2006)); // not the thread that it watches over
        let usual = crate::drive::long::backlog::Grid::new(1_000_000_000).outstanding();
        held.decide(&Near::new(&usual), (u64::MAX, 5));
        assert_eq!(held.log(), [Outage { start_ns: 2000, length_ns: 10 }]);
    }
}
