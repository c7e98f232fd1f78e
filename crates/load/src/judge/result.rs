//! What a run found, as it is written to disk. Made from `Plan` and `Marks` after the run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::Span;

mod replies;
mod sessions;

pub use replies::{Replies, Tls};
pub use sessions::Sessions;

use crate::job::Job;
use crate::judge::qos_sample::QosSample;
use crate::judge::stops::ServerStops;
use crate::tally::misses::MissWindows;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.load.result/1";

/// A run's verdict. `unknown` beats the others (METHOD, verdicts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Valid; the `QoS` target, if one was given, is met.
    Holds,
    /// Valid; the `QoS` target is not met.
    Violated,
    /// A self-check failed: the numbers decide nothing.
    Unknown,
}

/// Everything that one run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// Version of this form: `sojourn.load.result/1`.
    pub schema: String,
    /// Program and version that wrote it.
    pub program: String,
    /// The job, resolved: no `auto`, no seed 0.
    pub job: Job,
    /// The address that connections led to, of each server that the target names: of a name with several
    /// the first that could be reached. Empty: there is no server.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// Start of the measured part, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Start of the warm-up, ns of `CLOCK_MONOTONIC`: the job's `start_at` where it names one. Every due
    /// time counts from here; what the instrument is late after it is its send lag.
    #[serde(default)]
    pub start_ns: u64,
    /// Length of the measured part as it was, s.
    pub measured_s: f64,
    /// Load that the plan offered in the measured part, requests/s.
    pub offered_rps: f64,
    /// Hits completed within the measured part, requests/s, whenever they were due: what still ran
    /// at its end makes up for what ran over from the warm-up. For a closed loop over the time in which
    /// the client kept the server supplied (`peak`).
    pub achieved_rps: f64,
    /// Requests planned in the measured part.
    pub requests: u64,
    /// Requests that did not end as a hit, by kind (`miss`, `status`, `length`, `content`,
    /// `garbled`, `closed`, `timed_out`: not answered within the job's `timeout`, `unanswered`: sent and
    /// not answered when the run ended, `unsent`: never sent); kinds that did not occur are left out. Each counts as +infinity in every span.
    pub errors: BTreeMap<String, u64>,
    /// Body bytes received.
    pub reply_bytes: u64,
    /// Bodies of replies: how long they were, and what checks of their content came to.
    #[serde(default)]
    pub replies: Replies,
    /// Share of all requests sent within `timely_within` of their intended time, whatever the cause.
    /// The verdict rests on `checks.pick_up_timely_ratio`, which leaves out waits for a connection.
    pub timely_ratio: f64,
    /// Times during which the instrument itself did not run.
    pub outages: Outages,
    /// Whether the run can be believed and what it decided.
    pub verdict: Verdict,
    /// Why the verdict is not `holds`; what to do about it.
    pub reasons: Vec<String>,
    /// Checks that failed because the instrument was late, where the verdict on the `QoS` target stands
    /// in spite of them: lateness only adds to the sojourn time. All quantiles are upper bounds then.
    pub lateness: Vec<String>,
    /// Where the client's lag is all that is late: its p99, ns, which is what it adds to the quantiles
    /// at most; `null` where it adds little, or lateness is not of known size.
    #[serde(default)]
    pub lateness_ns: Option<u64>,
    /// All quantiles and misses are too high if anything, because the instrument was late or stopped,
    /// whatever the verdict: evidence that is read from one side.
    #[serde(default)]
    pub upper_bounds: bool,
    /// What the reader should know and what decides nothing.
    pub notes: Vec<String>,
    /// How the sample decides on the `QoS` bound; `null` without one, and where nothing counts.
    #[serde(default)]
    pub qos: Option<QosSample>,
    /// Quantiles that are `null` because too few requests carry them, and why: `sojourn_ns.p99`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// done − intended: what a user waits. Requests in outages of the instrument and in the recovery
    /// from them are excluded here and in the spans below; never by latency, only by the log.
    pub sojourn_ns: Span,
    /// done − intended of every request.
    pub sojourn_all_ns: Span,
    /// The part of `sojourn_ns` that was due while no stop of the server's CPUs reached it; `null` where
    /// they were not watched, for a closed loop, and for a long run.
    #[serde(default)]
    pub undisturbed_ns: Option<Span>,
    /// done − sent.
    pub wire_ns: Span,
    /// first byte − sent.
    pub first_byte_ns: Span,
    /// sent − intended: the instrument's own fault, and the wait for a free connection.
    pub send_lag_ns: Span,
    /// The part of the send lag during which a free connection existed: the instrument's alone.
    pub pick_up_ns: Span,
    /// The probe client's sojourn times, if there was one.
    pub probe_sojourn_ns: Option<Span>,
    /// What users of sessions saw; `null` without sessions.
    #[serde(default)]
    pub sessions: Option<Sessions>,
    /// Requests and misses of the `QoS` bound by windows of intended time; `null` without a bound or
    /// for a closed loop. The same requests as in `sojourn_ns`.
    #[serde(default)]
    pub windows: Option<MissWindows>,
    /// What kept the server's CPUs from the service; `null` where it was not watched (`server_pid`).
    #[serde(default)]
    pub server_stops: Option<ServerStops>,
    /// Each thread by itself: a biased one shows (METHOD M14).
    pub threads: Vec<ThreadShare>,
    /// The tests that the run did on itself.
    pub checks: Checks,
    /// What TLS handshakes came to; `null` without TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// What the instrument used.
    pub cost: Cost,
}

/// Outages of the instrument (METHOD M27).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outages {
    /// How many.
    pub count: u64,
    /// Together, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// Share of the measured time.
    pub share_time: f64,
    /// Share of the requests that was excluded because of them.
    pub share_excluded: f64,
    /// Factor by which quantiles are too high at most because of what exclusion leaves (METHOD M33).
    #[serde(default = "exact")]
    pub allowance: f64,
    /// Start (ns after the start of the measured part) and length (ns) of each; the first 1000.
    pub log: Vec<[i64; 2]>,
}

fn exact() -> f64 {
    1.0
}

impl Default for Outages {
    fn default() -> Self {
        Self {
            count: 0,
            total_ns: 0,
            longest_ns: 0,
            share_time: 0.0,
            share_excluded: 0.0,
            allowance: exact(),
            log: Vec::new(),
        }
    }
}

/// One thread's part in the result (METHOD M14).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadShare {
    /// Requests of this thread in `sojourn_ns`.
    pub requests: u64,
    /// Median of its sojourn times, ns.
    pub p50: Option<u64>,
    /// p99 of its sojourn times, ns.
    pub p99: Option<u64>,
    /// Its share of the requests above the merged p99, over its share of all requests; 1 is fair,
    /// above 2 the thread is suspect. `null` with too few requests.
    pub tail_factor: Option<f64>,
    /// CPU share while it drove, 0 to 1.
    pub cpu_share: f64,
}

/// The run's tests on itself (METHOD M3, M7).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checks {
    /// Planned over asked number of requests, minus one.
    pub rate_error: f64,
    /// Rate at which the instrument issued requests over the planned rate, minus one.
    pub sent_rate_error: f64,
    /// Share of the requests outside outages that were sent within `timely_within` of the moment
    /// they were due and a connection was free.
    pub pick_up_timely_ratio: f64,
    /// What the instrument's own lag adds to the measured p99, as a share of it; `null` without a
    /// finite p99.
    pub lag_share_p99: Option<f64>,
    /// Share of the requests that waited for a free connection.
    pub waited_share: f64,
    /// Anderson–Darling statistic A*² of the gaps between arrivals as the instrument issued them,
    /// thinned to the scale of `arrival_fit_gap_ns`; `null` if the process is not Poisson.
    pub arrival_fit_a2: Option<f64>,
    /// The same for the planned arrivals, not thinned.
    pub planned_fit_a2: Option<f64>,
    /// The limit of both at 1 %.
    pub arrival_fit_limit: Option<f64>,
    /// Mean of the gaps tested, ns: 50 times the instrument's own jitter or the mean gap of the load.
    pub arrival_fit_gap_ns: Option<u64>,
    /// Variance over mean of the counts per window, as issued; 1 for Poisson. `null` for others.
    pub dispersion: Option<f64>,
    /// By how much it may differ from 1: 0.1, or its own sampling error if that is more.
    pub dispersion_within: Option<f64>,
    /// p99 of the gap between two polls of the connections, ns.
    pub poll_gap_p99_ns: Option<u64>,
    /// The longest such gap, ns.
    pub poll_gap_max_ns: Option<u64>,
    /// Most requests that were due and waited for a free connection at one moment, on one thread.
    pub backlog_max: u64,
    /// How often a connection broke: the server closed it unannounced, or sent what was not asked
    /// for; warm-up included.
    #[serde(default)]
    pub broken_connections: u64,
    /// Requests given up because no reply came within the job's `timeout`; warm-up included.
    #[serde(default)]
    pub timed_out: u64,
    /// How often a connection was opened again, for whatever reason; warm-up included.
    #[serde(default)]
    pub reconnects: u64,
    /// Of these, how often because a request on the old one was not answered in time.
    #[serde(default)]
    pub replaced_connections: u64,
    /// How often a request was sent again on another connection, because the server had ended its own before
    /// a reply began (RFC 9113, 6.8; RFC 9112, 9.3.1 and 9.6; RFC 9110, 9.2.2); warm-up included.
    #[serde(default)]
    pub sent_again: u64,
    /// How often a connection was replaced because more bytes came than a reply has by its own head;
    /// warm-up included.
    #[serde(default)]
    pub overlong_replies: u64,
    /// CPU share of the busiest thread, 0 to 1.
    pub cpu_share_max: f64,
    /// Share of the run in which the server's CPUs had nothing to do; `null` where they are unknown.
    pub server_idle_share: Option<f64>,
    /// Steal over the server's CPUs during the run, share of time; `null` where they are unknown.
    pub server_steal_share: Option<f64>,
    /// Steal over the client's CPUs during the run, share of time; `null` where it cannot be read.
    pub steal_share: Option<f64>,
}

/// What the instrument used per request: CPU time, system calls, and by which way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// CPU time per request, ns, all threads.
    pub cpu_ns_per_request: f64,
    /// System calls per request; `null` where the transport cannot count them.
    pub syscalls_per_request: Option<f64>,
    /// `epoll` or `io_uring`.
    pub transport: String,
    /// `spin` or `sleep`.
    pub wait: String,
}
