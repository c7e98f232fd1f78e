//! Queueing and scheduler simulator, and the closed forms that it is checked against.
//!
//! What a machine at hand cannot show is simulated; what is simulated was first compared with what
//! is known exactly. Reading order: [`closed`] (formulas), [`queue`] (requests and servers, one
//! recursion per discipline), [`sched`] (CPUs, run queues, tasks), [`fleet`] (a
//! datacenter of queues), [`calls`] (services that call each other), [`stats`] (sections and their intervals), [`cli`].
//!
//! Every result is a function of its job alone: same seed, same bytes, on any number of CPUs.

pub mod calls;
pub mod cli;
pub mod closed;
mod describe;
pub mod fleet;
pub mod queue;
pub mod result;
pub mod sched;
pub mod service;
pub mod show;
pub mod stats;

use sojourn_base::Fault;

/// Name and version, as results carry them.
pub(crate) fn program() -> String {
    format!("sojourn-sim {}", env!("CARGO_PKG_VERSION"))
}

/// Refuses a job of another form.
pub(crate) fn check_schema(input: &str, ours: &str) -> Result<(), Fault> {
    if input == ours {
        return Ok(());
    }
    let what = format!("the job's form is '{input}', this program reads '{ours}'");
    Err(Fault::usage(what, "schema", format!("write \"schema\": \"{ours}\", or leave it out")))
}
