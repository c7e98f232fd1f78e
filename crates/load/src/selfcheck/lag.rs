//! Is the instrument's own lag small against what it measured?
//!
//! Judged by `pick_up_ns`: from the moment a request was due and a connection was free until it was
//! sent. The rest of the send lag is a wait for a reply, which is the service's.

use sojourn_base::units::show_ns;

use super::{Check, Evidence};

const SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check = Check {
    name: "send lag",
    about: "p99 of the instrument's own lag is at most 5 % of the measured p99",
    source: "METHOD M3",
    in_closed_loop: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let lag_ns = evidence.pick_up.quantile(0.99)? as f64;
    let sojourn_ns = evidence.sojourn.quantile(0.99)? as f64;
    (lag_ns > SHARE_MAX * sojourn_ns).then(|| {
        format!(
            "p99 of the client's own lag is {}, {:.1} % of the measured p99 of {}, {:.0} % may be; \
             let the client spin on a CPU of its own, or add threads",
            show_ns(lag_ns),
            lag_ns / sojourn_ns * 100.0,
            show_ns(sojourn_ns),
            SHARE_MAX * 100.0
        )
    })
}
