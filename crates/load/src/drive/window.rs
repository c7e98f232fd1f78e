//! Requests that were answered since the last line of progress: how many, and their p99 with its interval.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use serde::Serialize;
use sojourn_base::quantiles::ranks;

use crate::drive::Live;
use crate::drive::watch::RECENT;

/// Requests that were answered in the last stretch of time: how many, and their p99.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Window {
    /// Length of the stretch: since the last line, or less where more came than are remembered.
    pub length_ms: u64,
    /// Requests in it.
    pub n: u64,
    /// Their 99th percentile, ns; none without requests.
    pub p99_ns: Option<u64>,
    /// Lower end of its 95 % interval, ns; none: too few requests.
    pub lo_ns: Option<u64>,
    /// Upper end, ns; none: too few requests.
    pub hi_ns: Option<u64>,
    /// Requests above the `QoS` bound; none: the job has no bound.
    pub above: Option<u64>,
}

/// What each thread had answered at the last line.
#[derive(Default)]
pub(super) struct Answered {
    before: Vec<u64>,
    /// Each window says how many requests took longer; none: the job has no bound.
    pub(super) bound_ns: Option<u64>,
}

impl Answered {
    /// What was answered in the `past_s` since then; a thread remembers its newest [`RECENT`] only.
    pub(super) fn window(&mut self, live: &[Arc<Live>], past_s: f64) -> Window {
        self.before.resize(live.len(), 0);
        let (mut times_ns, mut all) = (Vec::new(), 0);
        for (live, before) in live.iter().zip(&mut self.before) {
            let done = live.done.load(Relaxed);
            let fresh = done.saturating_sub(std::mem::replace(before, done));
            all += fresh;
            let slots = (done - fresh.min(RECENT as u64)..done).map(|one| one as usize % RECENT);
            times_ns.extend(slots.map(|slot| live.recent_ns[slot].load(Relaxed)));
        }
        times_ns.sort_unstable();
        let n = times_ns.len();
        let share = if all > 0 { n as f64 / all as f64 } else { 1.0 };
        let (lo, hi) = ranks(n as u64, 0.99);
        let at = |rank: f64| (rank >= 1.0 && rank <= n as f64).then(|| times_ns[rank as usize - 1]);
        Window {
            length_ms: ((past_s * 1e3 * share).round() as u64).max(1),
            n: n as u64,
            p99_ns: (n > 0).then(|| at_quantile(&times_ns, 0.99)),
            lo_ns: at(lo),
            hi_ns: at(hi),
            above: self
                .bound_ns
                .map(|bound_ns| (n - times_ns.partition_point(|&ns| ns <= bound_ns)) as u64),
        }
    }
}

/// A quantile of ascending times; 0 of none.
pub(super) fn at_quantile(ascending: &[u64], q: f64) -> u64 {
    let rank = (q * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::Outcome;

    #[test]
    fn a_window_has_what_was_answered_since_the_last_line_and_no_more() {
        let live = [Arc::new(Live::new(Arc::default())), Arc::new(Live::new(Arc::default()))];
        let mut progress = Answered { bound_ns: Some(900_000), ..Answered::default() };
        (1..=500).for_each(|us| live[0].done(us * 1000, Outcome::Hit));
        (501..=1000).for_each(|us| live[1].done(us * 1000, Outcome::Hit));
        let first = progress.window(&live, 0.1);
        assert_eq!((first.length_ms, first.n, first.p99_ns), (100, 1000, Some(990_000)));
        // Ranks of n = 1000, q = 0.99: 990 - 1.96 * 3.146 and 990 + 1.96 * 3.146 + 1.
        assert_eq!((first.lo_ns, first.hi_ns), (Some(983_000), Some(998_000)));
        assert_eq!(first.above, Some(100));
        (0..100).for_each(|_| live[1].done(7000, Outcome::Hit));
        let second = progress.window(&live, 0.1);
        assert_eq!((second.n, second.p99_ns, second.hi_ns), (100, Some(7000), None));
        let third = progress.window(&live, 0.1);
        assert_eq!((third.n, third.p99_ns, third.lo_ns), (0, None, None));
        (0..2 * RECENT).for_each(|_| live[0].done(9000, Outcome::Hit));
        let last = progress.window(&live, 0.1);
        assert_eq!((last.n, last.length_ms), (RECENT as u64, 50), "of the newest half");
    }
}
