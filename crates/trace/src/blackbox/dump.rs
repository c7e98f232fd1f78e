//! A dump: what the black box has of the last minutes, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::result::TargetFacts;

/// Version of the form below.
pub const SCHEMA: &str = "sojourn.trace.ring/1";

/// A dump of the black box. Times are ns; shares are 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dump {
    /// `sojourn.trace.ring/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// `uname -r`.
    pub kernel: String,
    /// The service that was watched.
    pub target: TargetFacts,
    /// What started it.
    pub cause: Cause,
    /// The answer in a sentence.
    pub answer: String,
    /// Start of what is here, ns since the Unix epoch.
    pub from_unix_ns: u64,
    /// The same on `CLOCK_MONOTONIC`: the clock of `slow`.
    pub from_ns: u64,
    /// Length of what is here.
    pub duration_ns: u64,
    /// Requests that ended in it, all of them.
    pub requests: u64,
    /// How many took how long: lower edge of a bin, its upper edge, requests. Bins are 0.8 % wide.
    pub totals: Vec<(u64, u64, u64)>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Slower requests start a dump (`--over`); `null`: none do by themselves.
    pub over_ns: Option<u64>,
    /// What is missing.
    pub blind: Blind,
    /// Who or what took the time of the slow requests, the longest first.
    pub culprits: Vec<CulpritSum>,
    /// The slow requests, slowest first.
    pub slow: Vec<SlowRequest>,
    /// Signals that stopped or ended a process of the service, in order.
    pub signals: Vec<SignalLine>,
    /// Second by second, in order.
    pub seconds: Vec<SecondLine>,
    /// Things the reader should know.
    pub warnings: Vec<String>,
}

/// What started a dump: a request, a quantile, a signal, or the end of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// `over`, `tail`, `signal` (SIGUSR1), `ended` (the service has).
    pub kind: String,
    /// In words.
    pub about: String,
    /// When, ns since the Unix epoch.
    pub at_unix_ns: u64,
    /// Further causes that were passed over since the last dump, because it was too soon.
    pub passed_over: u64,
}

/// What a dump does not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blind {
    /// All requests from here on were to be stored; shorter ones are counted only.
    pub slow_from_ns: u64,
    /// How many took so long, by the kernel's own count.
    pub slow_requests: u64,
    /// How many of them are here.
    pub stored: u64,
    /// 1 − stored ÷ slow: the blind rate. 0 without slow requests.
    pub share: f64,
    /// Slow requests that had no room on their way to user space.
    pub dropped: u64,
    /// Slow requests that left, because there was no room or the dump is at its bound.
    pub evicted: u64,
    /// Of `requests`, those with a time that is a lower bound: more bytes came after all before had been read.
    /// They may be a body in parts, or come after bytes that get no reply. May be absent in older dumps.
    #[serde(default)]
    pub lower_bounds: u64,
    /// Times that more bytes came on a connection before the reply to what had come. May be absent in older dumps.
    #[serde(default)]
    pub together: u64,
    /// Of these, requests with more than half of their time runnable, with no task seen on the CPU.
    pub unexplained: u64,
    /// Events of the scheduler that had no room.
    pub events_lost: u64,
    /// Requests on the service's ports that processes of others replied to; they are in no other number.
    pub foreign: u64,
    /// Time in which the service was not watched: it was gone, or hooks began anew.
    pub unwatched_ns: u64,
}

/// Who or what took time, over all slow requests of a dump.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CulpritSum {
    /// `task`, `futex`, `block_io`, `page_fault`, `pipe`, `socket`, `sleep`, `other`, `unseen`, `stopped` (by a
    /// signal), `idle` (in `epoll_wait`), `running` (its thread ran).
    pub kind: String,
    /// Of the task, file, kernel function, sender or thread.
    pub name: String,
    /// Control group of a task, its own name; `null`: the root, or no task.
    pub cgroup: Option<String>,
    /// Name of the thread that ended a sleep, if known.
    pub waker: Option<String>,
    /// In words.
    pub about: String,
    /// Slow requests of which it took the most time.
    pub requests: u64,
    /// Time that it took of all slow requests.
    pub ns: u64,
    /// That, as a share of their time.
    pub share: f64,
    /// Functions of the longest sleep, innermost first; kernel functions end in `_[k]`.
    pub stack: Vec<String>,
}

/// One slow request: its connection, its time, and what its thread did meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowRequest {
    /// Its first bytes came then, ns since the Unix epoch.
    pub start_unix_ns: u64,
    /// The same on `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Until its reply began to leave.
    pub total_ns: u64,
    /// Thread that replied.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub thread: String,
    /// The client's port.
    pub peer_port: u16,
    /// The service's port.
    pub port: u16,
    /// Bytes of the first write of the reply.
    pub bytes_out: u32,
    /// What the thread did meanwhile, ns; adds to the total.
    pub stages: Vec<(String, u64)>,
    /// Time by culprit: number in `culprits`, ns, the longest first.
    pub culprits: Vec<(u32, u64)>,
}

/// A signal that stopped or ended the service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalLine {
    /// When, ns since the Unix epoch.
    pub at_unix_ns: u64,
    /// Its number.
    pub number: u32,
    /// The process that got it.
    pub pid: u32,
    /// Name of the sender.
    pub from: String,
    /// Its process.
    pub from_pid: u32,
}

/// The requests of one second: how many, and how long they took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecondLine {
    /// Its end, ns since the Unix epoch.
    pub end_unix_ns: u64,
    /// Requests that ended in it.
    pub requests: u64,
    /// Their 99th percentile.
    pub p99_ns: Option<u64>,
    /// Lower edge of the bin of the slowest.
    pub max_ns: Option<u64>,
    /// Shorter requests were not stored.
    pub slow_from_ns: u64,
    /// Slow ones without room.
    pub dropped: u64,
}
