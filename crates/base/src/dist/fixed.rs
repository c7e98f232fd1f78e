//! Always the same value.

use super::{Dist, DistKind, Distribution};
use crate::Fault;
use crate::kind::{Kind, Param};
use crate::rng::Rng;

#[derive(Debug)]
struct Fixed(f64);

impl Distribution for Fixed {
    fn sample(&self, _rng: &mut Rng) -> f64 {
        self.0
    }
    fn mean(&self) -> f64 {
        self.0
    }
    fn variance(&self) -> f64 {
        0.0
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "fixed",
        about: "always the same value",
        usage: "fixed:VALUE (fixed:200)",
        params: &[Param {
            name: "value",
            unit: "",
            about: "the value",
            default: "",
            range: ">= 0",
        }],
        needs: &[],
        source: "",
    },
    build,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    if numbers[0] < 0.0 {
        return Err(Fault::usage(
            format!("value is {}", numbers[0]),
            "value",
            "give a value of 0 or more",
        ));
    }
    Ok(Box::new(Fixed(numbers[0])))
}
