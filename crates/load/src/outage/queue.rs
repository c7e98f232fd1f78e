//! How many requests were outstanding when: by that the reach of an outage is judged.

use super::{RECOVERY_FACTOR_MAX, SAMPLES};
use crate::marks::{Outage, Outcome};
use crate::summary::Run;

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
    /// All requests of a run that is in memory.
    pub(super) fn of(run: &Run) -> Self {
        Self::of_pairs(
            (0..run.threads.len())
                .flat_map(|index| run.requests(index))
                .filter(|request| request.outcome == Outcome::Hit)
                .map(|request| (request.intended_ns, request.done_ns.max(request.intended_ns)))
                .collect(),
        )
    }

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
