//! Independent gaps from a distribution of mean 1: what gamma, lognormal, pareto and zipf share.
//!
//! k superposed copies of such a process are another process (only Poisson superposes to itself),
//! so `schedule` deals it out to the threads.

use crate::dist::Dist;
use sojourn_base::Fault;
use sojourn_base::rng::Rng;
use sojourn_base::units::parse_count;

use super::ArrivalProcess;

/// Independent gaps.
#[derive(Debug)]
pub(super) struct Renewal {
    gaps: Dist,
    mean: f64,
}

impl Renewal {
    /// Gaps from `gaps`, stretched to a mean of 1.
    pub(super) fn new(gaps: Dist) -> Self {
        let mean = gaps.mean();
        Self { gaps, mean }
    }
}

impl ArrivalProcess for Renewal {
    fn next_gap(&mut self, rng: &mut Rng) -> f64 {
        self.gaps.sample(rng) / self.mean
    }
    /// Var(N(t))/E(N(t)) → CV² of the gaps. Source: Cox, Renewal Theory (1962), section 3.3.
    fn dispersion(&self) -> f64 {
        self.gaps.variance() / (self.mean * self.mean)
    }
}

/// Reads the one number that a kind takes.
pub(super) fn number(text: &str, name: &str, usage: &str) -> Result<f64, Fault> {
    parse_count(text).map_err(|_| {
        let what = format!("{name} is '{text}'");
        Fault::usage(what, name, format!("write a number: {usage}"))
    })
}
