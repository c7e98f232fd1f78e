//! Generalised extreme value: the largest of many.

use statrs::function::gamma::gamma;

use super::{Dist, DistKind, Distribution, number_param, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, open_unit};

/// Most that a distribution may lie below 0, where no size or time is: such values become 0, and
/// the closed forms of mean and variance would be off by more than rounding.
const BELOW_ZERO_MAX: f64 = 1e-12;

#[derive(Debug)]
pub(super) struct Gev {
    pub loc: f64,
    pub scale: f64,
    pub shape: f64,
}

impl Gev {
    /// P(X < 0).
    fn below_zero(&self) -> f64 {
        let base = 1.0 - self.shape * self.loc / self.scale;
        if base <= 0.0 { 0.0 } else { (-base.powf(-1.0 / self.shape)).exp() }
    }
}

impl Distribution for Gev {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let exponential = -open_unit(rng).ln();
        let value = self.loc + self.scale * (exponential.powf(-self.shape) - 1.0) / self.shape;
        // A draw of exactly 0 (one in 2^53) would be infinite.
        value.clamp(0.0, f64::MAX)
    }
    /// μ + σ (g₁ − 1)/ξ, where gₖ = Γ(1 − kξ).
    fn mean(&self) -> f64 {
        if self.shape >= 1.0 {
            return f64::INFINITY;
        }
        self.loc + self.scale * (gamma(1.0 - self.shape) - 1.0) / self.shape
    }
    /// σ² (g₂ − g₁²)/ξ².
    fn variance(&self) -> f64 {
        if self.shape >= 0.5 {
            return f64::INFINITY;
        }
        let (g1, g2) = (gamma(1.0 - self.shape), gamma(1.0 - 2.0 * self.shape));
        self.scale.powi(2) * (g2 - g1 * g1) / self.shape.powi(2)
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "gev",
        about: "generalised extreme value",
        usage: "gev:LOC,SCALE,SHAPE (gev:30.7984,8.20449,0.078688)",
        params: &[
            value_param("loc", "location", "> 0"),
            value_param("scale", "scale", "> 0"),
            number_param("shape", "weight of the tail", "> 0"),
        ],
        needs: &[],
        source: "mutilate's notation",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    let gev = Gev {
        loc: positive(numbers[0], "loc")?,
        scale: positive(numbers[1], "scale")?,
        shape: positive(numbers[2], "shape")?,
    };
    let below = gev.below_zero();
    if below > BELOW_ZERO_MAX {
        let what = format!("a share of {below:.1e} of its values would be negative");
        return Err(Fault::usage(what, "gev", "raise loc, or lower scale"));
    }
    Ok(Box::new(gev))
}
