//! Gaussian values; those below 0 become 0, because no size or time is negative.
//!
//! mutilate draws the radius and the angle of its normal values from one random number, which makes
//! them anything but normal (its Generator.h); this does not.

use rand_distr::{Distribution as _, StandardNormal};
use statrs::function::erf::erfc;

use super::{Dist, DistKind, Distribution, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

#[derive(Debug)]
struct Normal {
    mean: f64,
    sd: f64,
}

impl Normal {
    /// P(X > 0) and the density at 0 times sd, of the normal value before negative ones become 0.
    fn at_zero(&self) -> (f64, f64) {
        let a = self.mean / self.sd;
        let above = 0.5 * erfc(-a / std::f64::consts::SQRT_2);
        (above, (-0.5 * a * a).exp() / std::f64::consts::TAU.sqrt())
    }
}

impl Distribution for Normal {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        (self.mean + self.sd * z).max(0.0)
    }
    /// E max(0, X) = μΦ(a) + σφ(a), a = μ/σ.
    fn mean(&self) -> f64 {
        let (above, density) = self.at_zero();
        self.mean * above + self.sd * density
    }
    /// E max(0, X)² = (μ² + σ²)Φ(a) + μσφ(a).
    fn variance(&self) -> f64 {
        let (above, density) = self.at_zero();
        let square = (self.mean.powi(2) + self.sd.powi(2)) * above + self.mean * self.sd * density;
        square - self.mean().powi(2)
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "normal",
        about: "Gaussian, by mean and standard deviation; negative values become 0",
        usage: "normal:MEAN,SD (normal:200,50)",
        params: &[
            value_param("mean", "mean before negative values become 0", "> 0"),
            value_param("sd", "standard deviation", "> 0"),
        ],
        needs: &[],
        source: "mutilate's notation",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    Ok(Box::new(Normal { mean: positive(numbers[0], "mean")?, sd: positive(numbers[1], "sd")? }))
}
