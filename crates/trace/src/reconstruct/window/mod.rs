//! Random windows: everything is traced inside, nothing is attached outside.
//!
//! [`draw`] says where they lie, [`duty`] how long and how often they may be for the cost that was
//! asked for, [`clusters`] keeps what each of them saw, [`estimate`] and [`limits`] how well the whole is
//! known from them, [`slowing`] what hooks do to what they see, [`stalls`] what users notice of it all,
//! [`judge`] whether that is enough. All of these are pure. [`work`] reads what the service did, and
//! `crate::session::windowed` holds them together.
//!
//! A request counts if its first segment arrived inside a window, however long it takes: after the end
//! the hooks stay until the last of them has ended, at most for [`DRAIN_MAX_NS`]. To count those that
//! *end* inside would leave out the long ones, which the tail is made of.

pub mod clusters;
pub mod draw;
pub mod duty;
pub mod estimate;
pub mod judge;
pub mod limits;
pub mod slowing;
pub mod stalls;
pub mod work;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long the hooks wait for the last requests of a window, at most.
pub const DRAIN_MAX_NS: u64 = 1_000_000_000;
/// Places that a result keeps; an hour has thousands.
#[cfg(feature = "bpf")]
pub(crate) const PLACES: usize = 1000;

/// Which requests were traced, what that cost, and how well the numbers are known from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Windows in which everything was traced; `null`: it was not done in windows.
    pub windows: Option<u64>,
    /// One flow in so many was traced; `null`: all were.
    pub one_in: Option<u32>,
    /// Of the windows' places, or of the flows; `null`: nothing was drawn.
    pub seed: Option<u64>,
    /// Time in which arrivals were counted, ns.
    pub traced_ns: u64,
    /// Time with hooks attached ÷ length of the trace.
    pub duty: f64,
    /// Longest wait for the last requests of a window, ns; `null`: no windows.
    pub drain_max_ns: Option<u64>,
    /// Where the first 1000 windows lay.
    #[serde(default)]
    pub places: Vec<Place>,
    /// What tracing took from the service; `null`: not measured in this way.
    pub cost: Option<Cost>,
    /// What tracing does to the tail that users see, in windows and between them; `null`: not known here, for
    /// nothing was seen without hooks.
    #[serde(default)]
    pub tail_cost: Option<stalls::TailCost>,
    /// What hooks do to the service in windows: all numbers are of the service while traced; `null`: not
    /// measured, for nothing was seen without hooks.
    #[serde(default)]
    pub slowing: Option<slowing::Slowing>,
    /// How well the numbers are known, as those of the service while traced; `null`: every request was
    /// traced.
    pub accuracy: Option<Accuracy>,
}

/// One window, `CLOCK_MONOTONIC`, ns: its hooks are there for longer than arrivals are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The first hook is about to be attached.
    pub attached_ns: u64,
    /// Arrivals count from here on.
    pub started_ns: u64,
    /// They count no more.
    pub ended_ns: u64,
    /// The last hook is gone.
    pub detached_ns: u64,
}

/// What tracing took, from the service's CPU time per TCP segment inside windows and between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Share of the service's CPU time that was asked for.
    pub asked: f64,
    /// Share that tracing took, of all the service's CPU time; `null`: too little was done to know.
    pub measured: Option<f64>,
    /// Of `measured`: 95 % interval, from window to window.
    pub interval: Option<Interval>,
    /// Share that tracing takes while the hooks are attached: what the duty is computed from.
    pub while_attached: f64,
    /// `while_attached` rests on an assumption more than on what was seen.
    pub is_assumed: bool,
    /// The tracer's own CPU time ÷ length of the trace; it counts as if it were the service's.
    pub tracer_cpu_ratio: f64,
}

/// Intervals from the variability between windows: the requests of one window are not independent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accuracy {
    /// Of all intervals here.
    pub confidence: f64,
    /// Windows, or slices of half a second of a sample of flows, in which requests arrived.
    pub clusters: usize,
    /// What strikes at random, less often than so many times a second, is in no window at all with a
    /// probability of 5 % or more, and then in no interval here either; `null`: no windows.
    #[serde(default)]
    pub blind_hz: Option<f64>,
    /// Mean total.
    pub mean_ns: Option<Interval>,
    /// Median of the total.
    pub p50_ns: Option<Interval>,
    /// 95th percentile of the total.
    pub p95_ns: Option<Interval>,
    /// 99th percentile of the total.
    pub p99_ns: Option<Interval>,
    /// Shares of the stages, the residual last.
    pub stages: Vec<StageAccuracy>,
}

/// The rate of events that windows of so much time together miss with a probability of 5 %: exp(-3).
pub fn blind_hz(traced_ns: u64) -> Option<f64> {
    (traced_ns > 0).then(|| 3.0e9 / traced_ns as f64)
}

/// How well the share of a stage is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageAccuracy {
    /// The stage.
    pub name: String,
    /// Of its share in the time of all requests; `null`: none of it was seen.
    pub share: Option<Interval>,
    /// Of its share in the time of the slowest hundredth; `null` also where that comes from too few
    /// windows.
    pub tail_share: Option<Interval>,
}

/// A range that holds the true value with the confidence beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end; `null`: too few requests lie above to bound it.
    pub high: Option<f64>,
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng;

    #[test]
    fn events_that_windows_are_blind_to_are_missed_once_in_twenty_traces() {
        let rate_hz = super::blind_hz(600_000_000).unwrap();
        let mut rng = rng::stream(8, "blind", 0);
        // Nothing within 0.6 s: the first event comes later.
        let missed = (0..10_000).filter(|_| -rng::open_unit(&mut rng).ln() / rate_hz > 0.6).count();
        assert!((430..=570).contains(&missed), "{missed}");
        assert_eq!(super::blind_hz(0), None);
    }
}
