//! When things happen in a run, and how many requests are expected by when.

use sojourn_base::Fault;

use super::Workload;
use crate::arrivals;
use crate::rate::Rate;

/// When things happen, ns after the start of the warm-up, and at which rate.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// Length of the warm-up, ns: the measured part starts here.
    pub warmup_ns: u64,
    /// Length of the measured part, ns.
    pub measured_ns: u64,
    /// Offered load from the start of the measured part.
    pub rate: Rate,
}

impl Timetable {
    /// That of a workload: its rate, or the one that recorded arrivals bring along.
    pub fn of(asked: &Workload) -> Result<Self, Fault> {
        let (warmup_ns, measured_ns) = (asked.warmup_ns, asked.measured_ns);
        if measured_ns == 0 {
            return Err(Fault::usage("nothing is measured", "duration", "give a time above 0"));
        }
        let rate = Rate::parse(&asked.rate, measured_ns as f64 / 1e9)?;
        let own = arrivals::parse(&asked.arrivals, mean_rps(&rate, measured_ns))?.own_rate_rps();
        Ok(Self { warmup_ns, measured_ns, rate: own.map_or(rate, Rate::Constant) })
    }

    /// Mean offered load of the measured part, requests/s.
    pub fn mean_rps(&self) -> f64 {
        mean_rps(&self.rate, self.measured_ns)
    }

    /// Requests expected by `ns` after the start of the warm-up (operational time).
    pub fn expected_by(&self, ns: f64) -> f64 {
        let warmup_s = self.warmup_ns as f64 / 1e9;
        self.rate.integral(ns / 1e9 - warmup_s) - self.rate.integral(-warmup_s)
    }

    /// Inverse of [`Self::expected_by`], ns; infinite when the rate has ended.
    pub(super) fn ns_at(&self, expected: f64) -> f64 {
        let warmup_s = self.warmup_ns as f64 / 1e9;
        (self.rate.inverse(expected + self.rate.integral(-warmup_s)) + warmup_s) * 1e9
    }

    /// End of the load, ns after the start of the warm-up.
    pub fn end_ns(&self) -> u64 {
        self.warmup_ns + self.measured_ns
    }
}

fn mean_rps(rate: &Rate, measured_ns: u64) -> f64 {
    let measured_s = measured_ns as f64 / 1e9;
    rate.integral(measured_s) / measured_s
}
