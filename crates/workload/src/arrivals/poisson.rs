//! Independent arrivals at a mean rate: what many independent users look like.
//!
//! Source: Schroeder, Wierman, Harchol-Balter, "Open Versus Closed", NSDI 2006.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use crate::dist::exponential;

use super::{ArrivalKind, ArrivalProcess, Process, no_params};

#[derive(Debug)]
struct Poisson;

impl ArrivalProcess for Poisson {
    #[inline]
    fn next_gap(&mut self, rng: &mut Rng) -> f64 {
        exponential::unit(rng)
    }
    fn dispersion(&self) -> f64 {
        1.0
    }
    fn superposes(&self) -> bool {
        true
    }
}

pub(super) const KIND: ArrivalKind = ArrivalKind { kind: ABOUT, build };

const ABOUT: Kind = Kind {
    name: "poisson",
    about: "independent arrivals at a mean rate",
    usage: "poisson (poisson)",
    params: &[],
    needs: &[],
    source: "PAPERS L9, C6; Schroeder et al., NSDI 2006",
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    no_params(text, &ABOUT)?;
    Ok(Box::new(Poisson))
}
