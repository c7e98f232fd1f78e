//! Gamma gaps by their coefficient of variation: one dial from even (CV 0.1) to bursty (CV 4).

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::renewal::{Renewal, number};
use super::{ArrivalKind, Process};
use crate::dist;

const USAGE: &str = "gamma:CV (gamma:2)";

pub(super) const KIND: ArrivalKind = ArrivalKind {
    kind: Kind {
        name: "gamma",
        about: "gamma gaps: burstier than Poisson above CV 1, more even below",
        usage: USAGE,
        params: &[Param {
            name: "cv",
            unit: "",
            about: "standard deviation of the gaps over their mean",
            default: "",
            range: "> 0",
        }],
        needs: &[],
        source: "METHOD M1",
    },
    build,
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    let cv = number(text, "cv", USAGE)?;
    Ok(Box::new(Renewal::new(dist::parse(&format!("gamma:1,{cv}"))?)))
}
