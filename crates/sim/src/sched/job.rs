//! The job of `sojourn-sim sched`: a machine, its services and its neighbours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::Fault;
use sojourn_base::units::parse_ns;

use super::policy::{Terms, Tuning, virtual_ns};

/// Most weight of a task: sums of more of it could wrap. Linux allows 262,144.
const WEIGHT_MAX: u64 = u32::MAX as u64;

/// Version of the job's form.
pub const JOB_SCHEMA: &str = "sojourn.sim.sched.job/1";

/// One simulated machine: CPUs, policy, services and neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Version of this form: `sojourn.sim.sched.job/1`.
    pub schema: String,
    /// CPUs, numbered from 0.
    pub cpus: u32,
    /// Scheduling policy of every CPU: `fifo`, `rt`, `cfs`, `bvt`, `eevdf`.
    pub policy: String,
    /// The policies' knobs.
    pub tuning: Tuning,
    /// Cost of switching between two tasks.
    pub switch: String,
    /// CPUs 2i and 2i + 1 share a core: while both are busy each is slower by this. 1: no SMT.
    pub smt_slowdown: f64,
    /// Services.
    pub services: Vec<ServiceJob>,
    /// What else runs.
    pub neighbours: Vec<NeighbourJob>,
    /// Length of the measured part, simulated time.
    pub duration: String,
    /// Length of the load before it.
    pub warmup: String,
    /// Simulate also what has no steady state: then only throughput means something.
    pub allow_overload: bool,
    /// Most requests in flight per worker; more are lost.
    pub in_flight_max: u32,
    /// Seed of every draw.
    pub seed: u64,
}

/// A service: arrivals, service times, workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceJob {
    /// Its name in the result.
    pub name: String,
    /// Arrival process, as for the generator.
    pub arrivals: String,
    /// Offered load, requests/s.
    pub rate: String,
    /// Service time in `unit`.
    pub service: String,
    /// Unit of the numbers in `service`.
    pub unit: String,
    /// Worker threads.
    pub workers: u32,
    /// Connections, dealt to workers round-robin (L16); 0: as many as workers.
    pub connections: u32,
    /// CPUs of the workers, in turn; empty: all CPUs.
    pub cpus: Vec<u32>,
    /// CPU time of waking up from `epoll_wait`.
    pub wake: String,
    /// CPU time of one return of `epoll_wait`.
    pub r#loop: String,
    /// CPU time per request in softIRQ before the worker sees it, in `unit`; empty: none.
    pub softirq: String,
    /// CPUs that do softIRQ, one per connection in turn; empty: the worker's own (Flow Director).
    pub softirq_cpus: Vec<u32>,
    /// What its workers were granted.
    pub grant: Grant,
}

/// A task that serves nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NeighbourJob {
    /// Its name in the result.
    pub name: String,
    /// `square` (on, then off, for ever) or `spin`.
    pub kind: String,
    /// `square`: CPU time per burst.
    pub on: String,
    /// `square`: sleep between bursts.
    pub off: String,
    /// One task on each of these CPUs.
    pub cpus: Vec<u32>,
    /// What it was granted.
    pub grant: Grant,
}

/// What the scheduler grants a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Grant {
    /// cgroup shares; 1024 is standard.
    pub weight: u64,
    /// `bvt`: virtual time it may borrow.
    pub warp: String,
    /// `rt`: higher runs first.
    pub priority: u32,
    /// `rt`: CPU time per period; empty: no limit.
    pub quota: String,
    /// `rt`: length of the period.
    pub period: String,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            schema: JOB_SCHEMA.into(),
            cpus: 1,
            policy: "cfs".into(),
            tuning: Tuning::default(),
            switch: "0".into(),
            smt_slowdown: 1.0,
            services: vec![ServiceJob::default()],
            neighbours: Vec::new(),
            duration: "10s".into(),
            warmup: "1s".into(),
            allow_overload: false,
            in_flight_max: 100_000,
            seed: 1,
        }
    }
}

impl Default for ServiceJob {
    fn default() -> Self {
        Self {
            name: "service".into(),
            arrivals: "poisson".into(),
            rate: "50k".into(),
            service: "exponential:10".into(),
            unit: "us".into(),
            workers: 1,
            connections: 0,
            cpus: Vec::new(),
            wake: "0".into(),
            r#loop: "0".into(),
            softirq: String::new(),
            softirq_cpus: Vec::new(),
            grant: Grant::default(),
        }
    }
}

impl Default for NeighbourJob {
    fn default() -> Self {
        Self {
            name: "neighbour".into(),
            kind: "square".into(),
            on: "6ms".into(),
            off: "42ms".into(),
            cpus: vec![0],
            grant: Grant::default(),
        }
    }
}

impl Default for Grant {
    fn default() -> Self {
        Self {
            weight: 1024,
            warp: "0".into(),
            priority: 0,
            quota: String::new(),
            period: "24ms".into(),
        }
    }
}

impl Grant {
    /// The texts, understood; `has_quota` if the policy knows quotas.
    pub fn terms(&self, has_quota: bool) -> Result<Terms, Fault> {
        let ns = |text: &str, at| parse_ns(text).map_err(|fault| fault.within(at));
        let quota_ns = if self.quota.is_empty() { 0 } else { ns(&self.quota, "quota")?.max(1) };
        let period_ns = ns(&self.period, "period")?;
        if quota_ns > 0 && !has_quota {
            let fix = "leave quota out, or choose the policy rt";
            return Err(Fault::usage("this policy knows no quota", "quota", fix));
        }
        if self.weight == 0 || period_ns == 0 {
            let what = format!("weight is {}, period is {}", self.weight, self.period);
            return Err(Fault::usage(what, "weight", "give a weight and a period above 0"));
        }
        if self.weight > WEIGHT_MAX {
            let what = format!("weight is {}", self.weight);
            return Err(Fault::usage(what, "weight", format!("give at most {WEIGHT_MAX}")));
        }
        let (weight, priority) = (self.weight, self.priority);
        let warp_ns = virtual_ns(&self.warp, "warp")? as i64;
        Ok(Terms { weight, warp_ns, priority, quota_ns, period_ns })
    }
}
