//! Log-normal gaps by their coefficient of variation.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::renewal::{Renewal, number};
use super::{ArrivalKind, Process};
use crate::dist;

const USAGE: &str = "lognormal:CV (lognormal:2)";

pub(super) const KIND: ArrivalKind = ArrivalKind {
    kind: Kind {
        name: "lognormal",
        about: "log-normal gaps: many short ones, some long ones",
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
    Ok(Box::new(Renewal::new(dist::parse(&format!("lognormal:1,{cv}"))?)))
}
