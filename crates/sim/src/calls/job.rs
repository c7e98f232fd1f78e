//! The job of `sojourn-sim calls`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the job's form.
pub const JOB_SCHEMA: &str = "sojourn.sim.calls.job/1";

/// One system of services under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Version of this form: `sojourn.sim.calls.job/1`.
    pub schema: String,
    /// Arrival process, as for the generator: `poisson`, `fixed`, `trace:FILE`, …
    pub arrivals: String,
    /// Offered load, requests/s: `50`, `steps:50@10s,150@60s`, `ramp:10..200@60s`; empty: the trace's own.
    pub rate: String,
    /// How users call the first service: timeout, retries, hedging.
    pub client: Call,
    /// The services; the first is the one that users call, unless `client.to` names another.
    pub services: Vec<ServiceJob>,
    /// Requests that count in each run.
    pub requests: u64,
    /// Requests before them that do not.
    pub warmup: u64,
    /// Independent runs, from which intervals are made.
    pub runs: u32,
    /// Events in one run at most; a run that needs more is `unknown`.
    pub events_max: u64,
    /// Seed of every draw.
    pub seed: u64,
}

/// One service: its instances and whom it calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceJob {
    /// Its name.
    pub name: String,
    /// Own service time of one request in `unit`: `exponential:1`, `histogram:FILE#KEY`.
    pub service: String,
    /// Unit of the numbers in `service`.
    pub unit: String,
    /// Worker threads of one instance.
    pub workers: u32,
    /// Instances, each with a queue of its own.
    pub instances: u32,
    /// Which instance gets a request: `random`, `turn`, `shortest`, `each` (copy i to instance i).
    pub pick: String,
    /// Whether a worker waits for the calls of its request instead of taking another one.
    pub holds: bool,
    /// Requests that may wait at one instance; more are refused at once. 0: any number.
    pub queue_max: u32,
    /// Stages of calls after its own service, one after another.
    pub calls: Vec<Call>,
    /// Instances that come and go with the load; `null`: they do not.
    pub scaling: Option<Scaling>,
    /// Frequencies that change with the load; `null`: always full speed.
    pub speed: Option<Speed>,
}

/// One stage of calls: how many at once, and what becomes of late ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// Name of the service; of the client, empty: the first.
    pub to: String,
    /// Calls at once.
    pub copies: u32,
    /// How many of them must succeed; 0: all.
    pub need: u32,
    /// Chance that a reply is an error.
    pub fails: f64,
    /// Time after which an attempt is given up; empty: never.
    pub timeout: String,
    /// Attempts after the first.
    pub retries: u32,
    /// Pause before each of these; the second is twice as long, and so on.
    pub backoff: String,
    /// Retries per first attempt at most, over all requests so far; 0: no limit.
    pub retry_budget: f64,
    /// Time after which a second copy of an attempt is sent; empty: none is.
    pub hedge: String,
}

/// Instances by the rule of Kubernetes: as many as bring use to the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scaling {
    /// Fewest instances.
    pub min: u32,
    /// Most instances.
    pub max: u32,
    /// Share of the workers' time that is meant to be in use.
    pub target: f64,
    /// Time between two looks.
    pub every: String,
    /// Time from the decision until a new instance serves.
    pub startup: String,
    /// Time in which no more instances were wanted before any is stopped.
    pub down_after: String,
}

/// Two frequencies, by the rule of the governor `ondemand`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Speed {
    /// The lower speed; full speed is 1.
    pub low: f64,
    /// Use above which the next window runs at full speed.
    pub up_above: f64,
    /// Length of a window.
    pub every: String,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            schema: JOB_SCHEMA.into(),
            arrivals: "poisson".into(),
            rate: "50".into(),
            client: Call::default(),
            services: vec![ServiceJob::default()],
            requests: 100_000,
            warmup: 10_000,
            runs: 8,
            events_max: 100_000_000,
            seed: 1,
        }
    }
}

impl Default for ServiceJob {
    fn default() -> Self {
        Self {
            name: "service".into(),
            service: "exponential:10".into(),
            unit: "ms".into(),
            workers: 1,
            instances: 1,
            pick: "random".into(),
            holds: false,
            queue_max: 0,
            calls: Vec::new(),
            scaling: None,
            speed: None,
        }
    }
}

impl Default for Call {
    fn default() -> Self {
        Self {
            to: String::new(),
            copies: 1,
            need: 0,
            fails: 0.0,
            timeout: String::new(),
            retries: 0,
            backoff: "0".into(),
            retry_budget: 0.0,
            hedge: String::new(),
        }
    }
}

impl Default for Scaling {
    fn default() -> Self {
        // HPA's defaults: every 15 s, five minutes before it scales down.
        Self {
            min: 1,
            max: 10,
            target: 0.6,
            every: "15s".into(),
            startup: "30s".into(),
            down_after: "300s".into(),
        }
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self { low: 0.5, up_above: 0.8, every: "10ms".into() }
    }
}
