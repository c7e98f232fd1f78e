//! CPUs, run queues and tasks: what a scheduler does to a service's tail.
//!
//! One file per scheduling policy; [`KINDS`] is the table. `plan` underis a job, `build` makes the
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
use sojourn_base::kind::{self, Kind};

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

impl AsRef<Kind> for PolicyKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every policy, in reading order; `fifo` is the null of this table.
pub const KINDS: &[PolicyKind] = &[fifo::KIND, rt::KIND, cfs::KIND, bvt::KIND, eevdf::KIND];

/// The policy called `name`, or a fault with the names there are.
pub fn find(name: &str) -> Result<&'static PolicyKind, Fault> {
    kind::find(KINDS, name, "scheduling policy", "policy")
}
