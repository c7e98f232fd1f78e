//! What `sojourn-sim sched` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::Span;

use super::job::Job;
use crate::result::Verdict;
use crate::stats::Intervals;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.sim.sched/1";

/// Everything that one run found. It holds no clock time: same job, same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedResult {
    /// Version of this form: `sojourn.sim.sched/1`.
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
    /// In the order of the job.
    pub services: Vec<ServiceResult>,
    /// In the order of the job.
    pub neighbours: Vec<NeighbourResult>,
    /// By CPU: share of time busy.
    pub busy_ratio: Vec<f64>,
    /// By CPU: share of time in softIRQ.
    pub softirq_ratio: Vec<f64>,
    /// By CPU: context switches per second.
    pub switches_rps: Vec<f64>,
    /// Events that the engine handled, warm-up included.
    pub events: u64,
}

/// What became of one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceResult {
    /// Its name.
    pub name: String,
    /// Requests per second that arrived.
    pub offered_rps: f64,
    /// Requests per second that were finished within the measured part.
    pub achieved_rps: f64,
    /// CPUs' worth of time that its workers used.
    pub cpu_share: f64,
    /// done − arrived.
    pub sojourn_ns: Span,
    /// 95 % intervals by sectioning.
    pub intervals: Intervals,
    /// Mean time in softIRQ, waiting included, ns.
    pub softirq_ns_mean: f64,
    /// Mean time until `epoll_wait` returned it, ns: thread busy, asleep, or waiting for its CPU.
    pub epoll_ns_mean: f64,
    /// Mean time from there to the end: others of the batch, its own service, preemption, ns.
    pub after_ns_mean: f64,
}

/// What became of one neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeighbourResult {
    /// Its name.
    pub name: String,
    /// CPUs' worth of time that it used.
    pub cpu_share: f64,
    /// That over what it would have used alone.
    pub progress: f64,
}
