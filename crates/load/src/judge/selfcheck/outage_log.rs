//! Is every outage known? Only what the log holds can be excluded.

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "outage log",
    about: "the log holds all outages of the client",
    source: "METHOD M27",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let unlisted = evidence.outages_unlisted;
    (unlisted > 0).then(|| {
        format!(
            "{unlisted} outages beyond what the log holds; raise outage_over, or use a quieter host"
        )
    })
}
