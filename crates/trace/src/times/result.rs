//! The counts of a trace of times, and whether they hold.

use serde::Serialize;

use super::rows::MOST;
use crate::judge::result::{TargetFacts, VerdictWord};

/// Version of the form of [`TimesResult`].
pub const SCHEMA: &str = "sojourn.times/1";

/// What the hooks counted, from `enable` on until they were detached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Requests that were replied to.
    pub requests: u64,
    /// Writes of replies without room in the ring, requests on connections without memory in the kernel.
    pub dropped: u64,
    /// Requests after [`MOST`] others, which fill the memory for them here.
    pub left_out: u64,
    /// Times that more bytes came on a connection before the reply to what had come.
    pub together: u64,
    /// Requests on its ports that processes of others replied to; they are in no other number.
    pub foreign: u64,
}

/// Whether the times hold, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// In a word.
    pub verdict: VerdictWord,
    /// In sentences.
    pub reasons: Vec<String>,
}

/// The result as `--json` has it.
#[derive(Clone, Debug, Serialize)]
pub struct TimesResult {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The service.
    pub target: TargetFacts,
    /// Begin, `CLOCK_MONOTONIC`, ns.
    pub started_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// The service ended first: what it had not answered is in no number.
    pub service_ended: bool,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// Whether it holds.
    pub verdict: Verdict,
}

/// The verdict on `counts`, of which a share of `unmatched_max` may be wrong.
pub fn verdict(counts: &Counts, unmatched_max: f64) -> Verdict {
    let Counts { requests, dropped, left_out, together, foreign } = *counts;
    let mut reasons = Vec::new();
    let all = requests + dropped + left_out;
    let is_many = |count: u64| count as f64 > unmatched_max * all as f64;
    if requests == 0 {
        reasons.push("no request was replied to".to_owned());
    }
    if is_many(dropped) {
        reasons.push(format!("{dropped} writes of replies were lost: give a larger --buffer"));
    }
    if is_many(left_out) {
        reasons.push(format!(
            "{left_out} requests came after {MOST} others, and there is memory for no more: trace for a shorter time"
        ));
    }
    if is_many(foreign) {
        reasons.push(format!(
            "{foreign} requests to its ports were answered by processes that are none of the service's"
        ));
    }
    if is_many(together) {
        reasons.push(format!(
            "requests and replies cannot be matched one by one: {together} times more came before the reply to \
             what had come"
        ));
    }
    let verdict = if reasons.is_empty() { VerdictWord::Holds } else { VerdictWord::Unknown };
    Verdict { verdict, reasons }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_what_is_wrong_is_allowed_and_no_request_is_none() {
        let of = |requests, dropped, together| {
            let counts = Counts { requests, dropped, together, ..Counts::default() };
            let it = verdict(&counts, 0.01);
            (it.verdict, it.reasons.join(";"))
        };
        assert_eq!(of(1000, 0, 10).0, VerdictWord::Holds);
        assert!(of(1000, 0, 11).1.contains("cannot be matched one by one: 11 times"));
        assert!(of(1000, 11, 0).1.contains("--buffer"));
        assert_eq!(of(1000, 9, 0).0, VerdictWord::Holds);
        assert!(of(0, 0, 0).1.contains("no request"));
    }

    #[test]
    fn requests_of_other_processes_and_those_without_memory_have_reasons_of_their_own() {
        let of = |left_out, foreign| {
            let counts = Counts { requests: 1000, left_out, foreign, ..Counts::default() };
            verdict(&counts, 0.01).reasons
        };
        assert_eq!(of(10, 10), [""; 0]);
        let memory = of(20, 0).join(";");
        assert!(memory.contains("for a shorter time") && !memory.contains("--buffer"), "{memory}");
        let others = of(0, 11).join(";");
        assert!(others.starts_with("11 requests") && others.contains("none of the service's"));
    }
}
