//! Log-normal values, by mean and coefficient of variation: what service times often look like.

use rand_distr::{Distribution as _, StandardNormal};

use super::{Dist, DistKind, Distribution, number_param, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

#[derive(Debug)]
struct LogNormal {
    mean: f64,
    cv: f64,
    /// Mean and standard deviation of the logarithm.
    mu: f64,
    sigma: f64,
}

impl Distribution for LogNormal {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        (self.mu + self.sigma * z).exp()
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
        name: "lognormal",
        about: "log-normal, by mean and coefficient of variation",
        usage: "lognormal:MEAN,CV (lognormal:200,1)",
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

/// σ² = ln(1 + CV²), μ = ln(mean) − σ²/2.
fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    let (mean, cv) = (positive(numbers[0], "mean")?, positive(numbers[1], "cv")?);
    let square = (cv * cv).ln_1p();
    Ok(Box::new(LogNormal { mean, cv, mu: mean.ln() - square / 2.0, sigma: square.sqrt() }))
}
