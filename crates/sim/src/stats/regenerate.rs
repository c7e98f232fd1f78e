//! A second, independent interval for the mean: regenerative cycles.
//!
//! A request that finds the system empty starts the process anew, so cycles between such requests
//! are independent, whatever the load. Mean = ΣY/ΣN over cycles (Y: sojourn times, N: requests).
//! Source: Crane and Iglehart, Simulating stable stochastic systems III, Operations Research 23, 1975.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Interval;

/// Fewest cycles from which an interval is made: the normal approximation needs them.
const CYCLES_MIN: u64 = 100;

/// The mean by regenerative cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regenerative {
    /// Complete cycles.
    pub cycles: u64,
    /// Mean sojourn time, ns; `null` with fewer than 100 cycles.
    pub mean: Option<Interval>,
}

/// Sums over cycles. Five numbers, however long the run.
#[derive(Clone, Debug, Default)]
pub struct Cycles {
    open: bool,
    time: f64,
    requests: f64,
    closed: u64,
    sums: [f64; 5],
}

impl Cycles {
    /// A request arrives and finds the system empty: one cycle ends, the next begins.
    #[inline]
    pub fn begin(&mut self) {
        if self.open && self.requests > 0.0 {
            let (y, n) = (self.time, self.requests);
            for (sum, term) in self.sums.iter_mut().zip([y, n, y * y, n * n, y * n]) {
                *sum += term;
            }
            self.closed += 1;
        }
        (self.open, self.time, self.requests) = (true, 0.0, 0.0);
    }

    /// A request of the cycle under way took `ns`.
    #[inline]
    pub fn add(&mut self, ns: f64) {
        self.time += ns;
        self.requests += 1.0;
    }

    /// Mean and interval of all complete cycles.
    pub fn finish(&self) -> Regenerative {
        let cycles = self.closed;
        Regenerative { cycles, mean: (cycles >= CYCLES_MIN).then(|| self.interval()) }
    }

    fn interval(&self) -> Interval {
        let m = self.closed as f64;
        let [y, n, yy, nn, yn] = self.sums.map(|sum| sum / m);
        let mid = y / n;
        let variance =
            ((yy - y * y) - 2.0 * mid * (yn - y * n) + mid * mid * (nn - n * n)).max(0.0);
        let half = 1.959_964 * (variance / m).sqrt() / n;
        Interval { lo: mid - half, mid, hi: mid + half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_is_total_time_over_total_requests_of_complete_cycles() {
        let mut cycles = Cycles::default();
        for i in 0..1001 {
            cycles.begin();
            (0..=(i % 3)).for_each(|_| cycles.add(f64::from(1 + i % 3)));
        }
        let result = cycles.finish();
        assert_eq!(result.cycles, 1000);
        // 334 cycles of one request of 1 ns, 333 of two of 2 ns, 333 of three of 3 ns
        let want = (334.0 + 333.0 * 4.0 + 333.0 * 9.0) / (334.0 + 333.0 * 2.0 + 333.0 * 3.0);
        assert!((result.mean.unwrap().mid - want).abs() < 1e-12);
        // Around the ratio r a cycle of time Y and N requests errs by Y − r·N.
        let errs = [(334.0, 1.0, 1.0), (333.0, 4.0, 2.0), (333.0, 9.0, 3.0)]
            .map(|(cycles, time, n)| cycles * (time - want * n).powi(2));
        let variance = errs.iter().sum::<f64>() / 1000.0;
        let per_cycle = (334.0 + 333.0 * 2.0 + 333.0 * 3.0) / 1000.0;
        let half = 1.959_964 * (variance / 1000.0).sqrt() / per_cycle;
        let mean = result.mean.unwrap();
        assert!((mean.hi - mean.mid - half).abs() < 1e-9, "{half}");
        assert!((mean.mid - mean.lo - half).abs() < 1e-9, "{half}");
    }
}
