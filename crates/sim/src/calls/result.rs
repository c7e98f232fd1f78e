//! What `sojourn-sim calls` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::Span;
use sojourn_base::with_quantiles;

use super::job::Job;
use crate::result::Verdict;
use crate::stats::Interval;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.sim.calls/1";

/// Everything that the runs found. It holds no clock time: same job, same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallsResult {
    /// Version of this form: `sojourn.sim.calls/1`.
    pub schema: String,
    /// Program and version that wrote it.
    pub program: String,
    /// Always `simulated`.
    pub label: String,
    /// The job.
    pub job: Job,
    /// Whether the numbers can be believed.
    pub verdict: Verdict,
    /// Why not; what to do about it.
    pub reasons: Vec<String>,
    /// Requests/s that users offered, mean of the runs.
    pub offered_rps: f64,
    /// Share of the users' requests that were answered.
    pub answered: Interval,
    /// From a user's request to its answer; those without one are lost. All runs together.
    pub sojourn_ns: Span,
    /// 95 % intervals of the same (Student over runs); `null` where a run has no such number.
    pub intervals: RunIntervals,
    /// In the order of the job.
    pub services: Vec<ServiceResult>,
    /// Events of all runs.
    pub events: u64,
}

with_quantiles! {
    /// Intervals over runs, for the mean and each quantile.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct RunIntervals of Interval {
        /// Mean.
        pub mean: Option<Interval>,
    } and then {
    }
}

/// What became of one service, mean of the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceResult {
    /// Its name.
    pub name: String,
    /// Share of its workers' time in use, calls that a worker waits for included.
    pub utilisation: f64,
    /// Mean number of instances that served.
    pub instances: f64,
    /// Share of the time at the lower speed.
    pub slow_share: f64,
    /// Requests that came to it, for each request of a user.
    pub per_request: f64,
    /// Share of them that were refused, because the queue was full.
    pub refused: f64,
    /// Share of them that were answered when the caller no longer waited.
    pub wasted: f64,
    /// Timeouts, retries and hedges, for each call that was made.
    pub timeouts: f64,
    /// See `timeouts`.
    pub retries: f64,
    /// See `timeouts`.
    pub hedges: f64,
}
