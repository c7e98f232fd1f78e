//! Pareto gaps: P(gap > x) = (1 + x/scale)^−shape, Lomax's form, which starts at 0.
//!
//! Up to shape 2 the gaps have no variance: the number of requests of a run then scatters widely
//! around rate · time however long the run, and the rate check allows it.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::renewal::{Renewal, number};
use super::{ArrivalKind, Process};
use crate::dist;

const USAGE: &str = "pareto:SHAPE (pareto:3)";

pub(super) const KIND: ArrivalKind = ArrivalKind {
    kind: Kind {
        name: "pareto",
        about: "Pareto (Lomax) gaps: long silences; no variance up to shape 2",
        usage: USAGE,
        params: &[Param {
            name: "shape",
            unit: "",
            about: "tail index: P(gap > x) falls like x^-shape",
            default: "",
            range: "> 1",
        }],
        needs: &[],
        source: "METHOD M1",
    },
    build,
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    let shape = number(text, "shape", USAGE)?;
    if shape <= 1.0 {
        let what = format!("shape is {shape}: such gaps have no mean, so there is no rate");
        return Err(Fault::usage(what, "shape", "give a shape above 1"));
    }
    Ok(Box::new(Renewal::new(dist::parse(&format!("pareto:0,1,{}", 1.0 / shape))?)))
}
