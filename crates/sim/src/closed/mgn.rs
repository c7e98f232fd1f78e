//! M/G/n: no exact form is known; two approximations of the mean, each with its name.

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, MmN, Model};

pub(super) const LEE_LONGTON: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/G/n (Lee-Longton)",
        about: "mean wait of M/M/n times (1 + c²)/2: approximation",
        usage: "",
        params: &[],
        needs: &[],
        source: "Lee and Longton, Queueing processes associated with airline passenger check-in, OR Quarterly 10 (1959)",
    },
    apply: lee_longton,
};

pub(super) const KIMURA: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/G/n (Kimura)",
        about: "between M/M/n and Cosmetatos' M/D/n, by the harmonic mean: approximation",
        usage: "",
        params: &[],
        needs: &[],
        source: "Kimura, Approximations for multi-server queues, Queueing Systems 17 (1994); Cosmetatos 1976",
    },
    apply: kimura,
};

fn lee_longton(model: &Model) -> Option<Closed> {
    let queue = general(model)?;
    let wait = queue.mean_wait() * (1.0 + model.service_scv) / 2.0;
    Some(Closed::mean_only("M/G/n (Lee-Longton)", false, wait + model.service_ns))
}

/// Holds for c² up to 1; beyond it the harmonic mean may turn negative, so it does not answer.
fn kimura(model: &Model) -> Option<Closed> {
    let queue = general(model)?;
    if model.service_scv > 1.0 {
        return None;
    }
    let (n, rho, scv) = (f64::from(model.servers), model.utilisation(), model.service_scv);
    let correction = (1.0 - rho) * (n - 1.0) * ((4.0 + 5.0 * n).sqrt() - 2.0) / (16.0 * rho * n);
    let (random, fixed) = (queue.mean_wait(), queue.mean_wait() * (1.0 + correction) / 2.0);
    let wait = (1.0 + scv) / (2.0 * scv / random + (1.0 - scv) / fixed);
    Some(Closed::mean_only("M/G/n (Kimura)", false, wait + model.service_ns))
}

fn general(model: &Model) -> Option<MmN> {
    let applies = model.is_fcfs && model.service_scv.is_finite() && model.rate_per_ns > 0.0;
    if !applies {
        return None;
    }
    MmN::new(model.rate_per_ns, model.service_ns, model.servers)
}
