//! Was the server there to the end?

use super::{Check, Evidence};

/// What became of a server that is gone.
pub const LOST: &str = "every connection was closed and none could be opened again for 5 s";

pub(super) const CHECK: Check = Check {
    name: "server lost",
    about: "connections that were closed could be opened again",
    source: "",
    in_closed_loop: false,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    evidence.was_lost.then(|| LOST.into())
}
