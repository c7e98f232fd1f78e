//! What `sojourn-sim fleet` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::Span;

use super::job::Job;
use crate::result::Verdict;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.sim.fleet/1";

/// Everything that one run found. It holds no clock time: same job, same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetResult {
    /// Version of this form: `sojourn.sim.fleet/1`.
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
    /// Time of a root request: own, and the slowest of each level below; the whole day, in which an
    /// hour has requests as its load.
    pub root_ns: Span,
    /// Time of a single request at one server (scale 1); the whole day. A server has requests as its
    /// cores, their speed and its load.
    pub server_ns: Span,
    /// Hour by hour.
    pub hours: Vec<Hour>,
    /// Platform by platform, mean over the day.
    pub platforms: Vec<PlatformResult>,
}

/// One hour of the datacenter's day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hour {
    /// Load that was asked for.
    pub load: f64,
    /// Mean load of the servers' services, slow-down by neighbours left out.
    pub service_load: f64,
    /// Share of the CPU time of all cores in use; a server with a neighbour is always busy.
    pub utilisation: f64,
    /// Share of servers with a neighbour.
    pub neighbour_share: f64,
    /// Mean neighbour throughput per server, alone = 1.
    pub neighbour_throughput: f64,
    /// Share of servers whose queue has no steady state in this hour.
    pub unstable_share: f64,
    /// Root requests.
    pub root_ns: Span,
    /// Single requests.
    pub server_ns: Span,
}

/// All servers of one platform together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlatformResult {
    /// Its name.
    pub name: String,
    /// Its servers.
    pub servers: u64,
    /// Price of one server, $.
    pub price_usd: f64,
    /// Requests per second that one server can serve alone.
    pub capacity_rps: f64,
    /// Mean load of the service.
    pub service_load: f64,
    /// Mean share of CPU time in use; a server with a neighbour is always busy.
    pub utilisation: f64,
    /// Mean neighbour throughput per server, alone = 1.
    pub neighbour_throughput: f64,
}
