//! Processor sharing: the mean depends on the mean service time alone.

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, MmN, Model};

pub(super) const KIND: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/G/n-PS",
        about: "Poisson arrivals, any service, shared equally by all present: exact mean",
        usage: "",
        params: &[],
        needs: &[],
        source: "insensitivity: Kelly, Reversibility and Stochastic Networks (1979), 3.3",
    },
    apply,
};

/// The number present is insensitive and, for exponential service, that of FCFS; then Little.
fn apply(model: &Model) -> Option<Closed> {
    if model.is_fcfs {
        return None;
    }
    let queue = MmN::new(model.rate_per_ns, model.service_ns, model.servers)?;
    Some(Closed::mean_only("M/G/n-PS", true, queue.mean_sojourn()))
}
