//! Memoryless values: what independent users' gaps and the simplest service times look like.

use super::{Dist, DistKind, Distribution, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use rand_distr::Distribution as _;

/// One value of mean 1, by the ziggurat: it needs a logarithm in 1 of 130 draws.
#[inline]
pub fn unit(rng: &mut Rng) -> f64 {
    rand_distr::Exp1.sample(rng)
}

#[derive(Debug)]
struct Exponential {
    mean: f64,
}

impl Distribution for Exponential {
    #[inline]
    fn sample(&self, rng: &mut Rng) -> f64 {
        unit(rng) * self.mean
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.mean * self.mean
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "exponential",
        about: "memoryless, by its mean",
        usage: "exponential:MEAN (exponential:1)",
        params: &[value_param("mean", "mean value", "> 0")],
        needs: &[],
        source: "",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    Ok(Box::new(Exponential { mean: positive(numbers[0], "mean")? }))
}
