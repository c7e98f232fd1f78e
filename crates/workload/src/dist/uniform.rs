//! Every value from 0 to a largest one is as likely as any other.

use super::{Dist, DistKind, Distribution, positive, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, RngExt};

#[derive(Debug)]
struct Uniform {
    max: f64,
}

impl Distribution for Uniform {
    fn sample(&self, rng: &mut Rng) -> f64 {
        rng.random::<f64>() * self.max
    }
    fn mean(&self) -> f64 {
        self.max / 2.0
    }
    fn variance(&self) -> f64 {
        self.max * self.max / 12.0
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "uniform",
        about: "from 0 to a largest value, all alike",
        usage: "uniform:MAX (uniform:400)",
        params: &[value_param("max", "largest value", "> 0")],
        needs: &[],
        source: "mutilate's notation",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    Ok(Box::new(Uniform { max: positive(numbers[0], "max")? }))
}
