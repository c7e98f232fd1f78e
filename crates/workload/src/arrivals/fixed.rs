//! Evenly spaced arrivals: the least variable load there is; hides queueing that real users cause.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use super::{ArrivalKind, ArrivalProcess, Process, no_params};

#[derive(Debug)]
struct Fixed;

impl ArrivalProcess for Fixed {
    fn next_gap(&mut self, _rng: &mut Rng) -> f64 {
        1.0
    }
    fn dispersion(&self) -> f64 {
        0.0
    }
}

pub(super) const KIND: ArrivalKind = ArrivalKind { kind: ABOUT, build };

const ABOUT: Kind = Kind {
    name: "fixed",
    about: "evenly spaced arrivals; threads take turns",
    usage: "fixed (fixed)",
    params: &[],
    needs: &[],
    source: "",
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    no_params(text, &ABOUT)?;
    Ok(Box::new(Fixed))
}
