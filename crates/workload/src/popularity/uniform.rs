//! Every item is as likely as any other: the worst case for caches.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;
use sojourn_base::rng::{Rng, RngExt};

use super::{Choice, Popularity, PopularityKind};

#[derive(Debug)]
struct Uniform {
    items: u32,
}

impl Popularity for Uniform {
    fn next_item(&self, rng: &mut Rng) -> u32 {
        rng.random_range(0..self.items)
    }
    fn share_of_rank(&self, _rank: u32) -> f64 {
        1.0 / f64::from(self.items)
    }
}

pub(super) const KIND: PopularityKind = PopularityKind {
    kind: Kind {
        name: "uniform",
        about: "every item is as likely as any other",
        usage: "uniform (uniform)",
        params: &[],
        needs: &[],
        source: "PAPERS L9",
    },
    build,
};

fn build(text: &str, items: u32) -> Result<Choice, Fault> {
    if !text.is_empty() {
        let what = format!("uniform takes no parameters, '{text}' given");
        return Err(Fault::usage(what, "", "write uniform"));
    }
    Ok(Box::new(Uniform { items }))
}
