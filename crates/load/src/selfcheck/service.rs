//! Did the service do the work that was asked for? Wrong replies make another workload of it.
//!
//! Refused, slow or lost requests are what a service under load does: they count as infinite and
//! the `QoS` target decides. A miss or a wrong body means that the run measured something else.

use super::{Check, Evidence};
use crate::summary::share;

const SHARE_MAX: f64 = 0.01;

pub(super) const CHECK: Check = Check {
    name: "replies",
    about: "at most 1 % of replies are misses or have a wrong body; in a closed loop, fail at all",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let wrong = share(evidence.wrong_replies, evidence.requests);
    if wrong > SHARE_MAX {
        return Some(format!(
            "{:.1} % of replies were misses or had a wrong body (see errors); preload the items, and \
             check items, value_size, paths and expect_bytes",
            wrong * 100.0
        ));
    }
    if evidence.job.find_max {
        return no_peak(evidence);
    }
    let is_dead = evidence.requests > 0 && evidence.errors == evidence.requests;
    is_dead.then(|| "no request succeeded (see errors); check that the service is up".into())
}

/// Why the rate of a closed loop is not the service's peak.
fn no_peak(evidence: &Evidence) -> Option<String> {
    let (broke, requests) = (evidence.checks.broken_connections, evidence.requests);
    if share(broke, requests) > SHARE_MAX {
        return Some(format!(
            "connections broke {broke} times during {requests} requests: the pace is that of opening \
             them, and not what the service can do"
        ));
    }
    let failed = share(evidence.errors, requests);
    (failed > SHARE_MAX).then(|| {
        format!(
            "{:.1} % of the closed loop's requests failed (see errors): their rate is not what the \
             service can do",
            failed * 100.0
        )
    })
}
