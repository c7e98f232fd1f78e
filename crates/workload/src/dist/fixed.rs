//! Always the same value.

use super::{Dist, DistKind, Distribution, not_negative, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

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
        params: &[value_param("value", "the value", ">= 0")],
        needs: &[],
        source: "",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    Ok(Box::new(Fixed(not_negative(numbers[0], "value")?)))
}
