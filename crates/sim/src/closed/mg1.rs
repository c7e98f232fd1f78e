//! M/G/1: the mean by Pollaczek and Khinchine. It needs only the first two moments of service.

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, Model};

pub(super) const KIND: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/G/1",
        about: "Poisson arrivals, any service, one server, FCFS: exact mean",
        usage: "",
        params: &[],
        needs: &[],
        source: "Pollaczek 1930, Khinchine 1932; Kleinrock, Queueing Systems I (1975), 5.6",
    },
    apply,
};

fn apply(model: &Model) -> Option<Closed> {
    let applies = model.servers == 1 && model.is_fcfs && model.service_scv.is_finite();
    applies.then(|| Closed::mean_only("M/G/1", true, mean_sojourn(model)))
}

/// S + ρ S (1 + c²) / (2 (1 − ρ)).
pub(super) fn mean_sojourn(model: &Model) -> f64 {
    let rho = model.utilisation();
    model.service_ns * (1.0 + rho * (1.0 + model.service_scv) / (2.0 * (1.0 - rho)))
}
