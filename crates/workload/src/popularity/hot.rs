//! A hot set: a share of the items gets a share of the requests; inside and outside all are alike.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::{Rng, RngExt};
use sojourn_base::units::parse_count;

use super::{Choice, Popularity, PopularityKind, shuffle};

const USAGE: &str = "hot:ITEMS,REQUESTS (hot:0.1,0.9)";

#[derive(Debug)]
struct Hot {
    items: u32,
    /// Items in the hot set: 1 or more.
    set: u32,
    /// Share of requests that ask for them.
    share: f64,
}

impl Popularity for Hot {
    fn next_item(&self, rng: &mut Rng) -> u32 {
        let is_hot = self.set == self.items || rng.random::<f64>() < self.share;
        let range = if is_hot { 0..self.set } else { self.set..self.items };
        shuffle(rng.random_range(range), self.items)
    }
    fn share_of_rank(&self, rank: u32) -> f64 {
        match rank {
            _ if self.set == self.items => 1.0 / f64::from(self.items),
            rank if rank < self.set => self.share / f64::from(self.set),
            _ => (1.0 - self.share) / f64::from(self.items - self.set),
        }
    }
}

pub(super) const KIND: PopularityKind = PopularityKind {
    kind: Kind {
        name: "hot",
        about: "a share of the items gets a share of the requests",
        usage: USAGE,
        params: &[
            Param {
                name: "items",
                unit: "ratio",
                about: "share of the items in the hot set",
                default: "",
                range: "0..1",
            },
            Param {
                name: "requests",
                unit: "ratio",
                about: "share of the requests that ask for them",
                default: "",
                range: "0..1",
            },
        ],
        needs: &[],
        source: "",
    },
    build,
};

fn build(text: &str, items: u32) -> Result<Choice, Fault> {
    let wrong = |what: String| Fault::usage(what, "hot", format!("write {USAGE}"));
    let (set, share) = text
        .split_once(',')
        .ok_or_else(|| wrong(format!("'{text}' names no two shares with ',' between them")))?;
    let read = |text: &str| match parse_count(text) {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(wrong(format!("'{text}' is not a share from 0 to 1"))),
    };
    let (set, share) = (read(set)?, read(share)?);
    let set = ((set * f64::from(items)).round() as u32).clamp(1, items);
    Ok(Box::new(Hot { items, set, share }))
}
