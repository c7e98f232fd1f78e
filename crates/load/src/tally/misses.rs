//! Misses of the `QoS` bound over time: what a search can learn from a run beyond one share.
//!
//! Requests that queue behind each other miss together. How many do is a property of service and
//! machine, and only counts in order of time show it. So all requests that count (those outside
//! outages of the instrument, METHOD M27) are counted by windows of the time at which they were
//! *due*. None is sampled, and none is counted by a histogram, whose bins are 0.1 % wide: the sum
//! of `n` is the count of `sojourn_ns`, the sum of `k` is `over` plus its lost requests.
//!
//! A window is half the bound long: finer ones would only cut excursions into pieces, which last
//! about the bound. Below 2 ms they would hold a few requests each and fill the result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocols::Outcome;
use crate::tally::request::Request;
use crate::tally::share;

/// Shortest window, ns.
const LENGTH_NS_MIN: u64 = 2_000_000;
/// Windows at the most: from half an hour on they are longer, by powers of two, or those of a day would take 700 MB.
const WINDOWS_MAX: u64 = 1 << 20;

/// Requests and misses by windows of intended time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissWindows {
    /// Length of each, ns; the last one may be cut short by the end of the run. Half the bound, 2 ms at least,
    /// and twice or four times as long and so on in a run that would have more than a million.
    pub length_ns: u64,
    /// Requests due in each that count, lost ones included; window 0 begins with the measured part.
    pub n: Vec<u64>,
    /// Of these, how many took longer than the bound or never completed.
    pub k: Vec<u64>,
    /// Exact number of requests that completed and took longer than the bound.
    pub over: u64,
    /// Windows, ascending, in which an independent log says that the server's CPUs were kept from
    /// the service, recovery included (METHOD M29); empty where there is no such log.
    pub disturbed: Vec<u64>,
}

impl MissWindows {
    /// No requests yet, over a measured part that is planned to be `measured_ns` long.
    pub(crate) fn empty(bound_ns: u64, measured_ns: u64) -> Self {
        let mut length_ns = (bound_ns / 2).max(LENGTH_NS_MIN);
        while measured_ns.div_ceil(length_ns) > WINDOWS_MAX {
            length_ns *= 2;
        }
        let windows = measured_ns.div_ceil(length_ns) as usize;
        Self { length_ns, n: vec![0; windows], k: vec![0; windows], ..Self::default() }
    }

    /// Of the requests, those in windows that are disturbed.
    pub(crate) fn share_disturbed(&self) -> f64 {
        let within = self.disturbed.iter().filter_map(|&at| self.n.get(at as usize)).sum();
        share(within, self.n.iter().sum())
    }

    /// Those of a measured part that was over after `measured_ns`.
    pub(crate) fn cut(mut self, measured_ns: u64) -> Self {
        let windows = measured_ns.div_ceil(self.length_ns) as usize;
        self.n.truncate(windows);
        self.k.truncate(windows);
        self
    }

    /// Counts a request that was due in the measured part, which began at `from_ns`.
    pub(crate) fn add_due(&mut self, request: &Request, from_ns: u64, bound_ns: u64) {
        let window = ((request.intended_ns - from_ns) / self.length_ns) as usize;
        let is_lost = request.outcome != Outcome::Hit;
        let is_over = !is_lost && request.done_ns.saturating_sub(request.intended_ns) > bound_ns;
        self.n[window] += 1;
        self.k[window] += u64::from(is_lost || is_over);
        self.over += u64::from(is_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::measurement::{Measurement, fake};
    use crate::job::Job;
    use crate::judge::summary::summarise;
    use crate::watch::outage::Outage;

    fn with_bound(bound: &str) -> Job {
        Job { qos_quantile: 0.99, qos_bound: bound.into(), ..fake::job() }
    }

    fn windows(run: &Measurement) -> MissWindows {
        let result = summarise(run).unwrap();
        let windows = result.windows.unwrap();
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        assert_eq!(sum(&windows.n), result.sojourn_ns.count, "every request that counts, once");
        assert_eq!(sum(&windows.k), windows.over + result.sojourn_ns.lost);
        assert_eq!(windows.n.len(), windows.k.len());
        assert!(windows.n.iter().zip(&windows.k).all(|(n, k)| k <= n));
        windows
    }

    #[test]
    fn sums_are_the_results_own_with_losses_outages_and_several_threads() {
        let mut run = fake::run(Job { threads: 2, ..with_bound("100us") }, 1_000, 60_000);
        run.threads[0].marks.outcome[3000..3005].fill(Outcome::Closed);
        let clean = windows(&run);
        assert!(clean.over > 0, "60 µs of service at 10k/s on two servers queue beyond 100 µs");
        run.threads[1].outages.push(Outage { start_ns: 900_000_000, length_ns: 5_000_000 });
        let cut = windows(&run);
        assert!(cut.n.iter().sum::<u64>() < clean.n.iter().sum());
        assert!(cut.n[400] < clean.n[400] / 2, "the outage began 800 ms into the measured part");
    }

    #[test]
    fn a_day_has_a_million_windows_at_the_most_and_a_minute_those_of_half_the_bound() {
        let of = |bound_ns: u64, s: u64| {
            let windows = MissWindows::empty(bound_ns, s * 1_000_000_000);
            (windows.length_ns, windows.n.len())
        };
        assert_eq!(of(1_000_000, 60), (2_000_000, 30_000));
        assert_eq!(of(1_000_000, 2_097), (2_000_000, 1_048_500));
        assert_eq!(of(1_000_000, 2_098), (4_000_000, 524_500));
        assert_eq!(of(1_000_000, 86_400), (128_000_000, 675_000));
        assert_eq!(of(5_000_000_000, 86_400), (2_500_000_000, 34_560));
    }

    #[test]
    fn a_request_at_the_bound_is_none_and_one_ns_later_is_a_miss() {
        let mut run = fake::run(with_bound("100us"), 0, 0);
        let plan = &run.threads[0].plan;
        let (first, due_ns) = (plan.measured_from, plan.intended_ns.clone());
        run.threads[0].marks.done_ns[first] = due_ns[first] + 100_000;
        run.threads[0].marks.done_ns[first + 1] = due_ns[first + 1] + 100_001;
        let result = windows(&run);
        assert_eq!(
            (result.over, result.k.iter().sum::<u64>()),
            (1, 1),
            "a histogram does not show it"
        );
    }

    #[test]
    fn misses_stand_where_their_requests_were_due() {
        let mut run = fake::run(with_bound("20ms"), 0, 0);
        let thread = &mut run.threads[0];
        for (i, &due_ns) in thread.plan.intended_ns.iter().enumerate() {
            if (1_100_000_000..1_105_000_000).contains(&due_ns) {
                thread.marks.done_ns[i] = due_ns + 50_000_000; // completes five windows later
            }
        }
        let result = windows(&run);
        assert_eq!((result.length_ns, result.n.len()), (10_000_000, 200), "half of 20 ms; 2 s");
        let at: Vec<usize> = (0..200).filter(|&i| result.k[i] > 0).collect();
        assert_eq!(at, [100], "1 s into the measured part");
    }

    #[test]
    fn short_bounds_have_windows_of_two_ms_and_the_last_may_be_short() {
        let job = Job { duration: "999ms".into(), ..with_bound("1ms") };
        let result = windows(&fake::run(job, 0, 0));
        assert_eq!((result.length_ns, result.n.len()), (2_000_000, 500));
        assert!(result.n[499] > 0);
    }

    #[test]
    fn without_a_bound_or_a_plan_there_are_none() {
        assert_eq!(summarise(&fake::run(fake::job(), 0, 0)).unwrap().windows, None);
        let closed = Job { find_max: true, ..with_bound("1ms") };
        assert_eq!(summarise(&fake::run(closed, 0, 0)).unwrap().windows, None);
    }
}
