//! Generalised Pareto: a tail as heavy as its shape says; shape 0 is exponential.

use super::{Dist, DistKind, Distribution, not_negative, number_param, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, open_unit};

#[derive(Debug)]
pub(super) struct Pareto {
    pub loc: f64,
    pub scale: f64,
    pub shape: f64,
}

impl Distribution for Pareto {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let exponential = -open_unit(rng).ln();
        if self.shape == 0.0 {
            return self.loc + self.scale * exponential;
        }
        // (u^−ξ − 1)/ξ with u = e^−x, exact for small ξ too
        self.loc + self.scale * (self.shape * exponential).exp_m1() / self.shape
    }
    fn mean(&self) -> f64 {
        if self.shape >= 1.0 { f64::INFINITY } else { self.loc + self.scale / (1.0 - self.shape) }
    }
    fn variance(&self) -> f64 {
        let shape = self.shape;
        if shape >= 0.5 {
            return f64::INFINITY;
        }
        self.scale.powi(2) / ((1.0 - shape).powi(2) * (1.0 - 2.0 * shape))
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "pareto",
        about: "generalised Pareto; no variance from shape 0.5, no mean from shape 1",
        usage: "pareto:LOC,SCALE,SHAPE (pareto:0,16.0292,0.154971)",
        params: &[
            value_param("loc", "least value", ">= 0"),
            value_param("scale", "scale", "> 0"),
            number_param("shape", "weight of the tail", ">= 0"),
        ],
        needs: &[],
        source: "mutilate's notation",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    Ok(Box::new(Pareto {
        loc: not_negative(numbers[0], "loc")?,
        scale: positive(numbers[1], "scale")?,
        shape: not_negative(numbers[2], "shape")?,
    }))
}
