//! What a judgement is, and what the last two steps to it ask of a run alike.

use super::{Evidence, steal};
use crate::judge::qos_sample::QosSample;
use crate::judge::result::Verdict;

/// A server that is idle for less than this has work all the time: one tick in a second is 1 %, and
/// the run's own start and end leave it without work.
const IDLE_MAX: f64 = 0.05;
/// Of the time of the server's CPUs: others that used more may have kept it from its work.
const OTHERS_MAX: f64 = 0.05;
/// Up to this factor what exclusion leaves is not worth a word.
const ALLOWANCE_LITTLE: f64 = 1.05;

/// What the checks and the `QoS` target came to.
#[derive(Debug)]
pub struct Judgement {
    /// `unknown` beats `violated` and `holds`.
    pub verdict: Verdict,
    /// Why it is not `holds`, and what to do about it.
    pub reasons: Vec<String>,
    /// Checks in spite of which the verdict stands.
    pub lateness: Vec<String>,
    /// What the instrument's lag adds to the quantiles at most, if that is not little; see `lag`.
    pub lateness_ns: Option<u64>,
    /// Whether quantiles and misses are too high if anything; also where the verdict is `unknown`.
    pub upper_bounds: bool,
    /// What the reader should know and what decides nothing.
    pub notes: Vec<String>,
    /// How the sample decides on the `QoS` bound; `None` without one.
    pub qos: Option<QosSample>,
}

/// Whether so much was excluded that quantiles are upper bounds.
pub(super) fn is_loose(evidence: &Evidence) -> bool {
    evidence.outages.allowance > ALLOWANCE_LITTLE && !evidence.job.find_max
}

/// Whether the server's CPUs had work of the server all the time, and the machine did not take them away.
///
/// CPUs that others keep busy say nothing of the server: it may have waited for requests, or for them.
pub(super) fn is_server_busy(evidence: &Evidence) -> bool {
    evidence.checks.server_idle_share.is_some_and(|idle| idle <= IDLE_MAX)
        && evidence.server_others.is_some_and(|others| others <= OTHERS_MAX)
        && steal::excess(evidence).is_none()
}
