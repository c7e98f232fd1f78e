//! A list of values, each with its share.

use super::{Dist, DistKind, Distribution, not_negative, number_param, share, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, RngExt};

#[derive(Debug)]
struct Discrete {
    /// Values, and the share of all values up to and with each.
    steps: Vec<(f64, f64)>,
    mean: f64,
    variance: f64,
}

impl Distribution for Discrete {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let u = rng.random::<f64>();
        let at = self.steps.partition_point(|(_, up_to)| *up_to <= u);
        self.steps[at.min(self.steps.len() - 1)].0
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.variance
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "discrete",
        about: "a list of values, each with its share; the shares add to 1",
        usage: "discrete:VALUE,SHARE,… (discrete:2,0.5,11,0.3,500,0.2)",
        params: &[
            value_param("value", "a value", ">= 0"),
            number_param("share", "its share", "0..1"),
        ],
        needs: &[],
        source: "",
    },
    build,
    is_list: true,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    let (mut steps, mut up_to, mut mean, mut square) = (Vec::new(), 0.0, 0.0, 0.0);
    for pair in numbers.chunks(2) {
        let (value, share) = (not_negative(pair[0], "value")?, share(pair[1], "share")?);
        up_to += share;
        mean += share * value;
        square += share * value * value;
        steps.push((value, up_to));
    }
    if (up_to - 1.0).abs() > 1e-9 {
        let what = format!("the shares add to {up_to}");
        return Err(Fault::usage(what, "discrete", "give shares that add to 1"));
    }
    Ok(Box::new(Discrete { steps, mean, variance: square - mean * mean }))
}
