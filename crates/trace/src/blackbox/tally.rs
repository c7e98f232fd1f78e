//! All requests by total, second by second: counts that the kernel adds up, cut where a second ends.

use std::collections::VecDeque;

use crate::reconstruct::bins;

/// What is counted beside the requests by total; since the beginning, or in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Slow requests that had no room on their way to user space.
    pub dropped: u64,
    /// Requests with a time that is a lower bound, because they may have come before they were timed.
    pub lower_bounds: u64,
    /// Times that more bytes came on a connection before the reply to what had come.
    pub together: u64,
    /// Requests on the service's ports that processes of others replied to.
    pub foreign: u64,
    /// Events of the scheduler that had no room.
    pub events_lost: u64,
    /// Time in which the service was not watched, ns.
    pub unwatched_ns: u64,
}

impl Beside {
    /// What came since `before`.
    fn since(self, before: Self) -> Self {
        Self {
            dropped: self.dropped.saturating_sub(before.dropped),
            lower_bounds: self.lower_bounds.saturating_sub(before.lower_bounds),
            together: self.together.saturating_sub(before.together),
            foreign: self.foreign.saturating_sub(before.foreign),
            events_lost: self.events_lost.saturating_sub(before.events_lost),
            unwatched_ns: self.unwatched_ns.saturating_sub(before.unwatched_ns),
        }
    }
}

/// Of one second: how many requests each bin has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Its end, `CLOCK_MONOTONIC`, ns.
    pub end_ns: u64,
    /// Bins of [`bins::TOTAL`] with requests, ascending.
    pub bins: Vec<(u16, u32)>,
    /// What was counted beside them.
    pub beside: Beside,
    /// Shorter requests were not stored, ns.
    pub floor_ns: u64,
    /// Unix time less `CLOCK_MONOTONIC` at its end, ns: the machine may sleep, and its clock may be set.
    pub unix_less_mono_ns: u64,
}

impl Second {
    /// How many requests ended in it.
    pub fn requests(&self) -> u64 {
        self.bins.iter().map(|(_, n)| u64::from(*n)).sum()
    }
}

/// The seconds of the last minutes.
#[derive(Debug)]
pub struct Tally {
    last_ns: u64,
    before: Vec<u64>,
    beside_before: Beside,
    seconds: VecDeque<Second>,
}

impl Tally {
    /// Counts of the last `last_ns`, second by second.
    pub fn new(last_ns: u64) -> Self {
        let before = vec![0; bins::TOTAL.count()];
        let beside_before = Beside::default();
        Self { last_ns, before, beside_before, seconds: VecDeque::new() }
    }

    /// A second ends, at a time of both clocks: `totals` and `beside` are the kernel's counts since it began to count.
    pub fn add(
        &mut self,
        (end_ns, end_unix_ns): (u64, u64),
        totals: &[u64],
        beside: Beside,
        floor_ns: u64,
    ) {
        let news =
            self.before.iter_mut().zip(totals).enumerate().filter_map(|(bin, (old, new))| {
                let n = new.saturating_sub(*old);
                *old = *new;
                (n > 0).then_some((bin as u16, n.min(u64::from(u32::MAX)) as u32))
            });
        let bins = news.collect();
        let since = beside.since(self.beside_before);
        self.beside_before = beside;
        let unix_less_mono_ns = end_unix_ns.wrapping_sub(end_ns);
        self.seconds.push_back(Second { end_ns, bins, beside: since, floor_ns, unix_less_mono_ns });
        while self.seconds.front().is_some_and(|old| old.end_ns + self.last_ns < end_ns) {
            self.seconds.pop_front();
        }
    }

    /// Those that ended from then on.
    pub fn since(&self, from_ns: u64) -> impl Iterator<Item = &Second> {
        self.seconds.iter().filter(move |second| second.end_ns > from_ns)
    }

    /// Where the second begins in which `ns` lies: the end of the one before; `began_ns` if there is none.
    pub fn edge(&self, ns: u64, began_ns: u64) -> u64 {
        let ends = self.seconds.iter().map(|second| second.end_ns);
        ends.filter(|end| *end <= ns).max().unwrap_or(began_ns)
    }

    /// Unix time less `CLOCK_MONOTONIC` in the second of a moment; `None`: it is not over.
    pub fn unix_less_mono_ns(&self, ns: u64) -> Option<u64> {
        let at = self.seconds.partition_point(|second| second.end_ns < ns);
        self.seconds.get(at).map(|second| second.unix_less_mono_ns)
    }

    /// Requests by bin, of the seconds that ended from then on.
    pub fn totals(&self, from_ns: u64) -> Vec<u64> {
        let mut totals = vec![0; bins::TOTAL.count()];
        for (bin, n) in self.since(from_ns).flat_map(|second| &second.bins) {
            totals[usize::from(*bin)] += u64::from(*n);
        }
        totals
    }

    /// Requests by bin, since the beginning.
    pub fn ever(&self) -> &[u64] {
        &self.before
    }
}

/// Requests at or above a time, to the width of a bin (0.8 %).
pub fn at_least(totals: &[u64], ns: u64) -> u64 {
    totals.iter().skip(bins::TOTAL.of(ns)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(u64, u64)]) -> Vec<u64> {
        let mut totals = vec![0; bins::TOTAL.count()];
        for (ns, n) in of {
            totals[bins::TOTAL.of(*ns)] += n;
        }
        totals
    }

    #[test]
    fn a_second_has_what_was_added_in_it_and_old_ones_leave() {
        let mut tally = Tally::new(2_000);
        let beside = |dropped, lower_bounds| Beside {
            dropped,
            lower_bounds,
            together: lower_bounds + 1,
            ..Beside::default()
        };
        tally.add((1_000, 0), &counts(&[(500, 3)]), beside(1, 0), 0);
        tally.add((2_000, 0), &counts(&[(500, 3), (9_000_000, 2)]), beside(1, 2), 7);
        let seconds: Vec<(u64, Beside)> =
            tally.since(0).map(|second| (second.requests(), second.beside)).collect();
        let second = Beside { lower_bounds: 2, together: 2, ..Beside::default() };
        assert_eq!(seconds, [(3, beside(1, 0)), (2, second)]);
        assert_eq!(at_least(&tally.totals(0), 5_000_000), 2);
        assert_eq!(at_least(&tally.totals(1_000), 0), 2, "the first second is not asked for");
        assert_eq!([0, 1_500, 2_000].map(|ns| tally.edge(ns, 7)), [7, 1_000, 2_000]);
        tally.add((5_000, 0), &counts(&[(500, 4), (9_000_000, 2)]), beside(4, 2), 7);
        assert_eq!(tally.since(0).count(), 1, "two seconds are too old");
        assert_eq!(at_least(tally.ever(), 0), 6, "and the sum of all stays");
    }
    #[test]
    fn a_moment_has_the_clock_of_its_second() {
        let mut tally = Tally::new(60_000);
        tally.add((1_000, 7_000), &[], Beside::default(), 0);
        tally.add((2_000, 908_000), &[], Beside::default(), 0); // the machine slept in between
        let of = |ns| tally.unix_less_mono_ns(ns);
        assert_eq!(
            [of(0), of(1_000), of(1_001), of(2_001)],
            [Some(6_000), Some(6_000), Some(906_000), None]
        );
    }
}
