//! What a trace writes: JSON of a stated version, described by `--describe`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::culprit::result::Blame;
use crate::judge::blocks::Blocks;
pub use crate::reconstruct::parts::{CauseShare, Hook, VerdictWord};
use crate::reconstruct::stages::Cause;
use crate::reconstruct::window::Sampling;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.trace.result/1";

/// The whole result. Times are ns; shares are 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceResult {
    /// `sojourn.trace.result/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// `uname -r`.
    pub kernel: String,
    /// Who was looked at.
    pub target: TargetFacts,
    /// Start, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Start on `CLOCK_MONOTONIC`, ns: the clock of `worst` and of the records.
    pub started_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// `windows`, `sample` (of flows), or of every request: `aggregate` or `records`.
    pub mode: String,
    /// Which requests were traced, what that cost, and how well the numbers are known from them.
    pub sampling: Sampling,
    /// Requests seen: matched, unmatched, and those in service at either end of the trace.
    pub requests: u64,
    /// Requests whose stages are all known; everything below is about these.
    pub matched: u64,
    /// Requests that could not be matched, by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// Unmatched ÷ (matched + unmatched).
    pub unmatched_share: f64,
    /// Requests in service when the trace began or ended, by reason; not held against it.
    pub cut_off: BTreeMap<String, u64>,
    /// Records that did not fit the ring.
    pub dropped: u64,
    /// Details that are missing, by reason; the requests are matched.
    pub notes: BTreeMap<String, u64>,
    /// May the numbers be believed?
    pub verdict: Verdict,
    /// The answer in a sentence.
    pub answer: String,
    /// From the first segment's arrival to the last reply segment at the driver.
    pub total: Times,
    /// What no stage explains.
    pub residual: Times,
    /// Stages in the order in which a request goes through them, without the residual.
    pub stages: Vec<StageTimes>,
    /// The same in the papers' stages.
    pub groups: Vec<Group>,
    /// The time of requests by cause (PAPERS L3).
    pub causes: Vec<CauseShare>,
    /// The requests at and above p99.
    pub tail: Tail,
    /// The requests at and above p50, p99, p99.9 and p99.99.
    pub tails: Vec<Tail>,
    /// The service's threads.
    pub threads: Vec<ThreadTimes>,
    /// Connections open at the end, those with the largest mean first; at most 20.
    pub connections: Vec<ConnectionTimes>,
    /// How evenly the threads were loaded.
    pub imbalance: Imbalance,
    /// Where the CPU time of the service went (PAPERS L11).
    pub cpu: CpuSplit,
    /// Hooks, and what is lost without those that could not be attached.
    pub hooks: Vec<Hook>,
    /// Things the reader should know.
    pub warnings: Vec<String>,
    /// Width of the bins that quantiles come from, relative to the value.
    pub resolution: Resolution,
    /// The slowest requests, slowest first.
    pub worst: Vec<WorstRequest>,
    /// Who made the slowest requests slow; `null`: not asked for.
    #[serde(default)]
    pub blame: Option<Blame>,
    /// What each part of the trace saw: `sojourn-trace diff` compares two traces by it.
    #[serde(default)]
    pub blocks: Blocks,
}

/// Who was looked at: process, ports, threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetFacts {
    /// As asked for.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// All processes, its children included.
    pub pids: Vec<u32>,
    /// Listening TCP ports.
    pub ports: Vec<u16>,
}

/// `holds` or `unknown`, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// `holds`: the self-checks passed. `unknown`: the numbers must not be believed.
    pub verdict: VerdictWord,
    /// One sentence per failed check.
    pub reasons: Vec<String>,
    /// Largest unmatched share that is accepted.
    pub unmatched_max: f64,
    /// Largest share of the residual in the total that is accepted.
    pub residual_max: f64,
}

/// A distribution in short. Quantiles are over the same requests, each stage by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// Exact mean; `null` without requests.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Sum ÷ sum of totals.
    pub share: f64,
}

/// Times of one stage over all requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    /// Its name.
    pub name: String,
    /// The papers' stage it belongs to.
    pub alias: String,
    /// From which event to which.
    pub about: String,
    /// What its time is put down to.
    pub cause: Cause,
    /// Its times.
    #[serde(flatten)]
    pub times: Times,
}

/// One stage of the papers: the sum of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// `RX`, `TCP/IP`, `EPoll`, `libevent`, …
    pub name: String,
    /// Exact mean.
    pub mean_ns: Option<f64>,
    /// Sum ÷ sum of totals.
    pub share: f64,
}

/// The requests at and above a quantile of the total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// The quantile asked for.
    pub q: f64,
    /// Totals from here on are in; the edge of a bin at or below the quantile.
    pub from_ns: u64,
    /// How many requests that is.
    pub requests: u64,
    /// Their share of all; compare with 1 − q.
    pub request_share: f64,
    /// Their totals.
    pub total: Times,
    /// Their residual.
    pub residual: Times,
    /// Their stages.
    pub stages: Vec<StageTimes>,
    /// In the papers' stages.
    pub groups: Vec<Group>,
    /// By cause.
    pub causes: Vec<CauseShare>,
}

/// What one thread of the service did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadTimes {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub pid: u32,
    /// Name.
    pub comm: String,
    /// Requests it read.
    pub requests: u64,
    /// Mean total.
    pub mean_ns: Option<f64>,
    /// 99th percentile of the total, to the width of a row (6 %).
    pub p99_ns: Option<u64>,
    /// Its share of the requests at and above the service's p99.
    pub tail_share: f64,
    /// Time on a CPU ÷ time in which it was looked at.
    pub busy_ratio: f64,
}

/// What was seen of one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionTimes {
    /// The client's port.
    pub peer_port: u16,
    /// Thread that read its last request.
    pub tid: u32,
    /// Requests.
    pub requests: u64,
    /// Mean total.
    pub mean_ns: Option<f64>,
    /// Largest total.
    pub max_ns: u64,
}

/// How evenly the threads that served were loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imbalance {
    /// Threads that read a request.
    pub workers: usize,
    /// Most requests of one thread ÷ mean over the workers.
    pub requests_max_over_mean: f64,
    /// Largest busy ratio less the smallest.
    pub busy_spread: f64,
}

/// CPU time of the service by mode, from samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuSplit {
    /// Samples in threads of the service; the shares are good to 1/√samples.
    pub samples: u64,
    /// In user mode.
    pub user_share: Option<f64>,
    /// In the kernel.
    pub kernel_share: Option<f64>,
    /// Part of the kernel's share that served softIRQs; `null` without readable stacks.
    pub softirq_share_of_kernel: Option<f64>,
}

/// Widths of bins, as a share of the value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolution {
    /// Of totals.
    pub total: f64,
    /// Of stages.
    pub stage: f64,
}

/// One of the slowest requests, stage by stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorstRequest {
    /// Arrival, `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Its total.
    pub total_ns: u64,
    /// The client's port; 0: not known any more.
    pub peer_port: u16,
    /// Thread that read it.
    pub tid: u32,
    /// Thread that wrote the reply; `null`: unknown.
    pub writer_tid: Option<u32>,
    /// Request bytes.
    pub bytes_in: u32,
    /// Reply bytes.
    pub bytes_out: u32,
    /// Its stages that took any time, in order, with the residual.
    pub stages: Vec<(String, u64)>,
}
