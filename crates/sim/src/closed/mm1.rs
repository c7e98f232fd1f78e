//! M/M/1: the sojourn time is exponential with rate μ − λ.

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, Model};

pub(super) const KIND: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/M/1",
        about: "Poisson arrivals, exponential service, one server, FCFS: exact",
        usage: "",
        params: &[],
        needs: &[],
        source: "Leverich and Kozyrakis 2014, section 3.1 (L5); Kleinrock, Queueing Systems I (1975), 3.2",
    },
    apply,
};

fn apply(model: &Model) -> Option<Closed> {
    if model.servers != 1 || !model.is_exponential || !model.is_fcfs {
        return None;
    }
    let mean = model.service_ns / (1.0 - model.utilisation());
    Some(Closed::full("M/M/1", mean, |q| -(-q).ln_1p() * mean))
}
