//! What a comparison of traces writes: JSON of a stated version, described by `--describe`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reconstruct::parts::VerdictWord;
use crate::reconstruct::stages::Cause;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.trace.diff/1";

/// The whole result. Times are ns per request; changes are second less first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffResult {
    /// `sojourn.trace.diff/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// Traces of the first side.
    pub first: Vec<TraceFacts>,
    /// Traces of the second side.
    pub second: Vec<TraceFacts>,
    /// How the traces themselves differ, a sentence each.
    pub differs: Vec<String>,
    /// What intervals come from: `blocks` of requests of each trace, or `pairs` of traces.
    pub units: String,
    /// How many of them each side has.
    pub counts: [usize; 2],
    /// Of every interval, one by one.
    pub confidence: f64,
    /// Chance that any part is named where nothing differs.
    pub alpha: f64,
    /// Smaller changes do not count: share of the first side's mean.
    pub least: f64,
    /// Of the draws.
    pub seed: u64,
    /// May it be believed?
    pub verdict: VerdictWord,
    /// Why not, a sentence each.
    pub reasons: Vec<String>,
    /// The answer in a sentence.
    pub answer: String,
    /// All requests.
    pub mean: Table,
    /// The slowest 1 − `tail.q` of each side.
    pub tail: Table,
    /// The tail by culprit, from traces with `--blame`; `null`: one of them has none, or see `culprits_unknown`.
    pub culprits: Option<Table>,
    /// Functions in which the tail's requests slept. They do not add up: a function's time has that of what it
    /// called.
    pub functions: Vec<Part>,
    /// Why culprits and functions are not compared, though all traces have them: which trace is unknown, and why.
    #[serde(default)]
    pub culprits_unknown: Option<String>,
}

/// One file of a side, and what it was of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceFacts {
    /// Where it is.
    pub file: String,
    /// Name of the process.
    pub name: String,
    /// Start, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Requests that were matched.
    pub requests: u64,
    /// May it be believed?
    pub verdict: VerdictWord,
}

/// Changes that add up to the one of the total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Requests at and above this quantile of their side; 0: all.
    pub q: f64,
    /// Requests of each side.
    pub requests: [u64; 2],
    /// All of their time.
    pub total: Part,
    /// What it is the sum of, the largest change first.
    pub parts: Vec<Part>,
    /// The same by cause; empty for culprits.
    pub causes: Vec<Part>,
}

/// How one part of the time differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Stage, cause, culprit or function.
    pub name: String,
    /// What a stage's time is put down to.
    pub cause: Option<Cause>,
    /// Of the first side.
    pub first_ns: f64,
    /// Of the second side.
    pub second_ns: f64,
    /// Second less first.
    pub change_ns: f64,
    /// Its interval; `null`: it has no end, because no request was matched.
    pub low_ns: Option<f64>,
    /// The other end.
    pub high_ns: Option<f64>,
    /// p-value of a change that counts, Holm's of the whole family; 1 for totals, causes and functions, which
    /// are in no family.
    pub p: f64,
    /// It has moved: p is at most alpha.
    pub has_moved: bool,
}
