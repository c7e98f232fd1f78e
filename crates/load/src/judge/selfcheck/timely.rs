//! Were requests sent when they were due?
//!
//! Waits for a free connection are left out: they are the service's doing, are part of the sojourn
//! time, and are reported as `waited_share`. Requests in outages are left out too: the outages
//! themselves are judged.

use sojourn_base::units::{percents, show_ns};

use super::{Check, Evidence};

/// PAPERS P5.
const RATIO_MIN: f64 = 0.975;

pub(super) const CHECK: Check = Check {
    name: "timely",
    about: "at least 97.5 % of requests were sent within ε of the moment they could be",
    source: "METHOD M3, PAPERS P5",
    in_closed_loop: false,
    is_lateness: true,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let ratio = evidence.checks.pick_up_timely_ratio;
    (evidence.retained > 0 && ratio < RATIO_MIN).then(|| {
        let [timely, least] = percents(ratio, RATIO_MIN, 1);
        format!(
            "{timely} % of requests were sent within {} after they were due, {least} % are required; \
             lower the rate, {}, or add threads",
            show_ns(evidence.timely_within_ns as f64),
            evidence.next_step()
        )
    })
}
