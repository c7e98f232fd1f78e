//! The item of rank k is asked for with probability proportional to k^−s: a few are popular.
//!
//! Ranks are shuffled over the items by a fixed permutation, the same in every run, so that popular
//! items are not neighbours in any table of the server.

use std::cell::OnceCell;

use rand_distr::Distribution as _;
use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::Rng;
use sojourn_base::units::parse_count;

use super::{Choice, Popularity, PopularityKind, shuffle};

#[derive(Debug)]
struct Zipf {
    items: u32,
    s: f64,
    ranks: rand_distr::Zipf<f64>,
    /// Sum of k^−s over all ranks, once it is asked for: of 4 billion items it takes a minute, and no draw
    /// needs it.
    weight: OnceCell<f64>,
}

impl Popularity for Zipf {
    fn next_item(&self, rng: &mut Rng) -> u32 {
        let rank = (self.ranks.sample(rng) as u32).clamp(1, self.items) - 1;
        shuffle(rank, self.items)
    }
    fn share_of_rank(&self, rank: u32) -> f64 {
        let all = || (1..=self.items).map(|k| f64::from(k).powf(-self.s)).sum();
        (f64::from(rank) + 1.0).powf(-self.s) / self.weight.get_or_init(all)
    }
}

pub(super) const KIND: PopularityKind = PopularityKind {
    kind: Kind {
        name: "zipf",
        about: "the item of rank k with probability proportional to k^-s",
        usage: "zipf:S (zipf:0.99)",
        params: &[Param {
            name: "s",
            unit: "",
            about: "exponent; 0: uniform",
            default: "",
            range: ">= 0",
        }],
        needs: &[],
        source: "PAPERS C6",
    },
    build,
};

fn wrong(what: String) -> Fault {
    Fault::usage(what, "zipf", "write zipf:S with S of 0 or more")
}

fn build(text: &str, items: u32) -> Result<Choice, Fault> {
    let s = parse_count(text).map_err(|_| wrong(format!("'{text}' is not a number")))?;
    zipf(items, s).map(|zipf| Box::new(zipf) as Choice)
}

fn zipf(items: u32, s: f64) -> Result<Zipf, Fault> {
    let ranks = rand_distr::Zipf::new(f64::from(items), s)
        .map_err(|_| wrong(format!("the exponent is {s}")))?;
    Ok(Zipf { items, s, ranks, weight: OnceCell::new() })
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::stream;

    use super::*;

    #[test]
    fn draws_need_no_sum_over_all_items() {
        let zipf = zipf(1000, 0.99).unwrap();
        assert!(zipf.next_item(&mut stream(1, "zipf", 0)) < 1000);
        assert!(zipf.weight.get().is_none());
        assert!((zipf.share_of_rank(0) / zipf.share_of_rank(1) - 2.0_f64.powf(0.99)).abs() < 1e-12);
        assert!(zipf.weight.get().is_some());
    }
}
