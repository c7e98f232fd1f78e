//! How many requests were outstanding when: by that the reach of an outage is judged.

use super::{RECOVERY_FACTOR_MAX, SAMPLES};
use crate::watch::outage::Outage;

/// What the reach of an outage depends on.
pub trait Backlog {
    /// How long before an outage a request is due at the most that is late because of it: the
    /// run's p99 sojourn time, ns.
    fn look_back_ns(&self) -> u64;
    /// Median number of outstanding requests at evenly spaced moments outside `log`.
    fn median_away_from(&self, log: &[Outage]) -> usize;
    /// When the backlog that `outage` left was worked off, ns.
    fn recovered_ns(&self, outage: &Outage, typical: usize) -> u64;
}

/// Requests outstanding over time: due and not done. Those never done are left out, since they
/// would count as a backlog for ever. All in ns, ascending.
#[derive(Debug)]
pub struct Queue {
    due: Vec<u64>,
    done: Vec<u64>,
    p99_sojourn: u64,
}

impl Queue {
    /// Requests by when they were due and done, in no order.
    pub(crate) fn of_pairs(mut pairs: Vec<(u64, u64)>) -> Self {
        let p99_sojourn = p99(pairs.iter().map(|(due, done)| done - due).collect());
        pairs.sort_unstable();
        let due = pairs.iter().map(|pair| pair.0).collect();
        let mut done: Vec<u64> = pairs.into_iter().map(|pair| pair.1).collect();
        done.sort_unstable();
        Self { due, done, p99_sojourn }
    }

    /// Requests due before `ns` and not done before it.
    fn outstanding_before(&self, ns: u64) -> usize {
        let due = self.due.partition_point(|&due| due < ns);
        due - self.done.partition_point(|&done| done < ns).min(due)
    }
}

impl Backlog for Queue {
    fn look_back_ns(&self) -> u64 {
        self.p99_sojourn
    }

    fn median_away_from(&self, log: &[Outage]) -> usize {
        let (Some(&first), Some(&last)) = (self.due.first(), self.due.last()) else {
            return 0;
        };
        let mut seen: Vec<usize> = (0..SAMPLES)
            .map(|i| first + (last - first) / SAMPLES * i)
            .filter(|&ns| !log.iter().any(|o| (o.start_ns..o.end_ns()).contains(&ns)))
            .map(|ns| self.outstanding_before(ns))
            .collect();
        seen.sort_unstable();
        seen.get(seen.len() / 2).copied().unwrap_or(0)
    }

    fn recovered_ns(&self, outage: &Outage, typical: usize) -> u64 {
        let enough = typical.max(self.outstanding_before(outage.start_ns));
        let latest_ns = outage.end_ns() + RECOVERY_FACTOR_MAX * outage.length_ns;
        let mut due = self.due.partition_point(|&due| due < outage.end_ns());
        let first_done = self.done.partition_point(|&done| done < outage.end_ns());
        if due <= first_done + enough {
            return outage.end_ns();
        }
        for (done, &ns) in self.done.iter().enumerate().skip(first_done) {
            while self.due.get(due).is_some_and(|&next| next <= ns) {
                due += 1;
            }
            if ns >= latest_ns || due <= done + 1 + enough {
                return ns.min(latest_ns);
            }
        }
        latest_ns
    }
}

fn p99(mut values: Vec<u64>) -> u64 {
    if values.is_empty() {
        return 0;
    }
    let rank = (values.len() * 99).div_ceil(100).max(1) - 1;
    *values.select_nth_unstable(rank).1
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::{RngExt, stream};

    use super::*;

    #[test]
    fn outstanding_are_those_due_and_not_done_before_a_moment() {
        let queue = Queue::of_pairs(vec![(20, 40), (10, 20), (10, 30)]);
        let seen = [10, 11, 20, 21, 30, 31, 40, 41].map(|ns| queue.outstanding_before(ns));
        assert_eq!(seen, [0, 2, 2, 2, 2, 1, 1, 0]);
    }

    #[test]
    fn the_p99_is_the_value_that_99_in_100_do_not_exceed() {
        let of = |n: u64| p99((1..=n).rev().collect());
        assert_eq!([0, 1, 50, 99, 100, 101, 200, 201].map(of), [0, 1, 50, 99, 99, 100, 198, 199]);
        let queue = Queue::of_pairs((0..200).map(|i| (1000 * i, 1001 * i)).collect());
        assert_eq!(queue.look_back_ns(), 197, "the 198th of 0 to 199");
    }

    /// `more` outstanding until `edge`, then `less` until the last is due at `to`.
    fn two_levels(from: u64, edge: u64, to: u64, more: usize, less: usize) -> Queue {
        let mut pairs = vec![(from, to); less];
        pairs.resize(more, (from, edge));
        pairs.push((to, to));
        Queue::of_pairs(pairs)
    }

    #[test]
    fn the_median_is_over_the_time_from_the_first_due_to_the_last() {
        let (from, step) = (5_000_000, 1000);
        let at = |sample: u64| from + SAMPLES * step * sample / 100;
        let outage =
            |from: u64, to: u64| Outage { start_ns: at(from), length_ns: at(to) - at(from) };
        let mostly_less = two_levels(from, at(40), at(100), 7, 3);
        assert_eq!(mostly_less.median_away_from(&[]), 3);
        assert_eq!(mostly_less.median_away_from(&[outage(45, 95)]), 7, "40 against 10 in 100");
        assert_eq!(mostly_less.median_away_from(&[outage(0, 30), outage(41, 80)]), 3);
        assert_eq!(two_levels(from, at(60), at(100), 7, 3).median_away_from(&[]), 7);
        assert_eq!(
            mostly_less.median_away_from(&[outage(0, 101)]),
            0,
            "nothing is left to look at"
        );
        assert_eq!(Queue::of_pairs(vec![]).median_away_from(&[]), 0);
    }

    /// The definition, moment by moment: at the end, or with the first reply after it, no more are
    /// outstanding than before the outage, or than is typical; at most 20 outages later.
    fn recovered_by_definition(pairs: &[(u64, u64)], outage: &Outage, typical: usize) -> u64 {
        let count =
            |is: &dyn Fn(&(u64, u64)) -> bool| pairs.iter().filter(|&pair| is(pair)).count();
        let (start, end) = (outage.start_ns, outage.start_ns + outage.length_ns);
        let enough = typical.max(count(&|&(due, done)| due < start && done >= start));
        if count(&|&(due, done)| due < end && done >= end) <= enough {
            return end;
        }
        let latest = end + 20 * outage.length_ns;
        let mut replies: Vec<u64> =
            pairs.iter().map(|pair| pair.1).filter(|&ns| ns >= end).collect();
        replies.sort_unstable();
        let is_few = |&ns: &u64| count(&|&(due, done)| due <= ns && done > ns) <= enough;
        replies.into_iter().find(is_few).unwrap_or(latest).min(latest)
    }

    #[test]
    fn recovery_ends_when_the_backlog_is_as_it_was() {
        let mut rng = stream(1, "recovery", 0);
        let mut ends = [0; 3];
        for round in 0..3000 {
            let outage = Outage { start_ns: 20, length_ns: rng.random_range(1..12) };
            let pairs: Vec<(u64, u64)> = (0..rng.random_range(1..40))
                .map(|_| {
                    let due = rng.random_range(0..60);
                    (due, due + rng.random_range(0..60_u64) * rng.random_range(0..3_u64))
                })
                .collect();
            let typical = rng.random_range(0..6);
            let wanted = recovered_by_definition(&pairs, &outage, typical);
            let got = Queue::of_pairs(pairs.clone()).recovered_ns(&outage, typical);
            assert_eq!(got, wanted, "round {round}: {outage:?}, {typical}, {pairs:?}");
            let latest = outage.end_ns() + 20 * outage.length_ns;
            ends[usize::from(got > outage.end_ns()) + usize::from(got == latest)] += 1;
        }
        assert!(ends.iter().all(|&times| times > 100), "at once, later, too late: {ends:?}");
    }
}
