//! CPUs, run queues and tasks: what a scheduler does to a service's tail.
//!
//! One file per scheduling policy; [`KINDS`] is the table. `plan` understands a job, `build` makes the
//! machine of it; `machine` moves time forward, and `machine/cpus` does what one CPU does then; [`run`] turns what
//! `books` were kept into a result.

mod books;
mod build;
mod bvt;
pub mod bvt_arithmetic;
mod cfs;
mod cpu;
mod eevdf;
mod fair;
mod fifo;
pub mod job;
mod machine;
mod plan;
pub mod policy;
pub mod result;
mod rt;
#[cfg(test)]
mod rules;
pub mod run;
mod task;
#[cfg(test)]
mod tests;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, near};

use policy::{Knobs, Policy, Terms};

/// One entry of the table.
pub struct PolicyKind {
    /// Name, about, source.
    pub kind: Kind,
    /// Whether tasks may have a quota.
    pub has_quota: bool,
    /// One CPU's run queue, for all tasks of the machine.
    pub build: fn(&Knobs, &[Terms]) -> Box<dyn Policy>,
}

/// Every policy, in reading order; `fifo` is the null of this table.
pub const KINDS: &[PolicyKind] = &[fifo::KIND, rt::KIND, cfs::KIND, bvt::KIND, eevdf::KIND];

/// The policy called `name`, or a fault with the names there are.
pub fn find(name: &str) -> Result<&'static PolicyKind, Fault> {
    if let Some(entry) = KINDS.iter().find(|entry| entry.kind.name == name.trim()) {
        return Ok(entry);
    }
    let names: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
    let hint = near(name, names.iter().copied())
        .first()
        .map_or(String::new(), |n| format!("did you mean {n}? "));
    let known = names.join(", ");
    let what = format!("no scheduling policy is called '{name}'");
    Err(Fault::usage(what, "policy", format!("{hint}known: {known}")))
}
