//! Was anything measured at all?

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "requests",
    about: "some requests were due outside outages",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    match (evidence.requests, evidence.retained) {
        (0, _) => Some("no request was due in the measured part; raise rate or duration".into()),
        (all, 0) => {
            Some(format!("all {all} requests fell into outages of the client; see outages"))
        }
        _ => None,
    }
}
