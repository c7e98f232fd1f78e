//! Was the server there to the end?

use super::{Check, Evidence};
use crate::transports::sockets::NO_PORT;

/// What became of a server that is gone.
pub const LOST: &str = "every connection was closed and none could be opened again for 5 s";

pub(super) const CHECK: Check = Check {
    name: "server lost",
    about: "connections that were closed could be opened again",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    evidence.was_lost.then(|| match evidence.out_of_ports {
        0 => LOST.into(),
        times => format!("{LOST}: {times} times no local port was left for it; {NO_PORT}"),
    })
}
