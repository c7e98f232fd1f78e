//! Two values: mostly one, sometimes the other. The least that shows head-of-line blocking.

use super::{Dist, DistKind, Distribution, not_negative, number_param, share, value_param};
use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, RngExt};

#[derive(Debug)]
struct Bimodal {
    usual: f64,
    other: f64,
    share: f64,
}

impl Distribution for Bimodal {
    fn sample(&self, rng: &mut Rng) -> f64 {
        if rng.random::<f64>() < self.share { self.other } else { self.usual }
    }
    fn mean(&self) -> f64 {
        self.usual + self.share * (self.other - self.usual)
    }
    fn variance(&self) -> f64 {
        self.share * (1.0 - self.share) * (self.other - self.usual).powi(2)
    }
}

pub(super) const KIND: DistKind = DistKind {
    kind: Kind {
        name: "bimodal",
        about: "one value, and another for a share of the draws",
        usage: "bimodal:USUAL,OTHER,SHARE (bimodal:10,1000,0.01)",
        params: &[
            value_param("usual", "the usual value", ">= 0"),
            value_param("other", "the other value", ">= 0"),
            number_param("share", "share of the other value", "0..1"),
        ],
        needs: &[],
        source: "",
    },
    build,
    is_list: false,
};

fn build(numbers: &[f64]) -> Result<Dist, Fault> {
    Ok(Box::new(Bimodal {
        usual: not_negative(numbers[0], "usual")?,
        other: not_negative(numbers[1], "other")?,
        share: share(numbers[2], "share")?,
    }))
}
