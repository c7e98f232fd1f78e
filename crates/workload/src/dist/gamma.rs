//! Gamma values, by mean and coefficient of variation; CV 1 is exponential, CV 1/√k is Erlang-k.

use rand_distr::Distribution as _;

use super::{Dist, DistKind, Distribution, number_param, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

#[derive(Debug)]
struct Gamma {
    mean: f64,
    cv: f64,
    sampler: rand_distr::Gamma<f64>,
}

impl Distribution for Gamma {
    fn sample(&self, rng: &mut Rng) -> f64 {
        self.sampler.sample(rng)
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        (self.mean * self.cv).powi(2)
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "gamma",
        about: "gamma, by mean and coefficient of variation",
        usage: "gamma:MEAN,CV (gamma:200,0.5)",
        params: &[
            value_param("mean", "mean value", "> 0"),
            number_param("cv", "standard deviation over mean", "> 0"),
        ],
        needs: &[],
        source: "",
    },
    build,
    is_list: false,
};

/// Shape 1/CV², scale mean · CV².
fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    let (mean, cv) = (positive(numbers[0], "mean")?, positive(numbers[1], "cv")?);
    let sampler = rand_distr::Gamma::new(1.0 / (cv * cv), mean * cv * cv)
        .map_err(|error| Fault::usage(error.to_string(), "gamma", "give a cv nearer to 1"))?;
    Ok(Box::new(Gamma { mean, cv, sampler }))
}
