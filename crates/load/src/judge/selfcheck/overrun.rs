//! Was the plan of a long run sent to its end?
//!
//! Plan and marks of a long run go through a ring ([`crate::drive::long`]). Where it is full, what is due next
//! is not drawn, and the run ends there: what was measured until then is in the result, and is no
//! answer to what was asked.

use super::{Check, Evidence};
use crate::plan::marks::Overrun;

pub(super) const CHECK: Check = Check {
    name: "overrun",
    about: "a long run was not stopped by a ring of plan and marks that was full",
    source: "",
    in_closed_loop: false,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    Some(match evidence.overrun? {
        Overrun::Server => {
            "the server fell so far behind that a request was still without a reply when all others \
             of the ring of plan and marks had been sent; the run was stopped there: lower the rate, or \
             find out why the server does not answer"
        }
        Overrun::Keeper => {
            "the thread that draws the plan and summarises the marks did not keep up; the run was \
             stopped there: leave it a CPU that neither --cpus nor --server-cpus names, or lower the rate"
        }
    }.into())
}
