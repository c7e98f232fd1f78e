//! All requests by total, second by second: counts that the kernel adds up, cut where a second ends.

use std::collections::VecDeque;

use crate::reconstruct::bins;

/// Of one second: how many requests each bin has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Its end, `CLOCK_MONOTONIC`, ns.
    pub end_ns: u64,
    /// Bins of [`bins::TOTAL`] with requests, ascending.
    pub bins: Vec<(u16, u32)>,
    /// Slow requests that had no room on their way to user space.
    pub dropped: u64,
    /// Shorter requests were not stored, ns.
    pub floor_ns: u64,
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
    dropped_before: u64,
    seconds: VecDeque<Second>,
}

impl Tally {
    /// Counts of the last `last_ns`, second by second.
    pub fn new(last_ns: u64) -> Self {
        let before = vec![0; bins::TOTAL.count()];
        Self { last_ns, before, dropped_before: 0, seconds: VecDeque::new() }
    }

    /// A second ends: `totals` and `dropped` are the kernel's counts since it began to count.
    pub fn add(&mut self, end_ns: u64, totals: &[u64], dropped: u64, floor_ns: u64) {
        let news =
            self.before.iter_mut().zip(totals).enumerate().filter_map(|(bin, (old, new))| {
                let n = new.saturating_sub(*old);
                *old = *new;
                (n > 0).then_some((bin as u16, n.min(u64::from(u32::MAX)) as u32))
            });
        let bins = news.collect();
        let dropped_now = dropped.saturating_sub(self.dropped_before);
        self.dropped_before = dropped;
        self.seconds.push_back(Second { end_ns, bins, dropped: dropped_now, floor_ns });
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
        tally.add(1_000, &counts(&[(500, 3)]), 1, 0);
        tally.add(2_000, &counts(&[(500, 3), (9_000_000, 2)]), 1, 7);
        let seconds: Vec<(u64, u64)> =
            tally.since(0).map(|second| (second.requests(), second.dropped)).collect();
        assert_eq!(seconds, [(3, 1), (2, 0)]);
        assert_eq!(at_least(&tally.totals(0), 5_000_000), 2);
        assert_eq!(at_least(&tally.totals(1_000), 0), 2, "the first second is not asked for");
        assert_eq!([0, 1_500, 2_000].map(|ns| tally.edge(ns, 7)), [7, 1_000, 2_000]);
        tally.add(5_000, &counts(&[(500, 4), (9_000_000, 2)]), 4, 7);
        assert_eq!(tally.since(0).count(), 1, "two seconds are too old");
        assert_eq!(at_least(tally.ever(), 0), 6, "and the sum of all stays");
    }
}
