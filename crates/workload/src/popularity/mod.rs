//! Which item a request asks for. One file per kind; `KINDS` is the table.

mod hot;
mod order;
mod uniform;
mod zipf;

use std::fmt::Debug;

use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind};
use sojourn_base::rng::Rng;

/// Draws item numbers below the number of items.
pub trait Popularity: Debug + Send {
    /// The next item. Same `rng` state, and as many items before it: same item.
    fn next_item(&self, rng: &mut Rng) -> u32;
    /// P(the item of popularity rank `rank`), 0 being the most popular.
    fn share_of_rank(&self, rank: u32) -> f64;
}

/// A boxed popularity, as `parse` builds it.
pub type Choice = Box<dyn Popularity>;

/// One entry of the table.
pub struct PopularityKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Builds it from the text after the colon, for a number of items of 1 or more.
    pub build: fn(&str, u32) -> Result<Choice, Fault>,
}

impl AsRef<Kind> for PopularityKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every popularity, in reading order.
pub const KINDS: &[PopularityKind] = &[uniform::KIND, zipf::KIND, hot::KIND, order::KIND];

/// The kind that a text names, right or wrong: what is before its parameters.
pub fn name_of(text: &str) -> &str {
    text.split(':').next().unwrap_or("").trim()
}

/// Reads `name` or `name:parameters` over `items` items.
pub fn parse(text: &str, items: u64) -> Result<Choice, Fault> {
    let rest = text.split_once(':').map_or("", |(_, rest)| rest);
    let name = name_of(text);
    let entry = kind::find(KINDS, name, "popularity", "popularity")?;
    match u32::try_from(items) {
        Ok(items) if items > 0 => {
            (entry.build)(rest, items).map_err(|fault| fault.within("popularity"))
        }
        _ => {
            let what = format!("{items} items are asked for");
            Err(Fault::usage(what, "items", format!("give 1 to {} items", u32::MAX)))
        }
    }
}

/// The item that has popularity rank `rank`: a fixed permutation of the numbers below `items`.
///
/// Multiplication by a constant prime to `items`, modulo `items`: popular items lie apart, in
/// every run at the same places.
fn shuffle(rank: u32, items: u32) -> u32 {
    const PRIMES: [u64; 2] = [2_654_435_761, 2_246_822_519]; // the second where the first divides items
    let factor = PRIMES.into_iter().find(|prime| u64::from(items) % prime != 0).unwrap_or(1);
    ((u128::from(rank) * u128::from(factor)) % u128::from(items)) as u32
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::stream;

    use super::*;

    fn examples() -> impl Iterator<Item = &'static str> {
        let example = |usage: &'static str| usage.split_once('(').unwrap().1.trim_end_matches(')');
        KINDS.iter().map(move |entry| example(entry.kind.usage))
    }

    #[test]
    fn items_are_drawn_as_often_as_their_rank_says_for_every_kind() {
        let (items, draws) = (50_u32, 200_000_u32);
        for text in examples() {
            let choice = parse(text, u64::from(items)).unwrap();
            let mut rng = stream(9, text, 0);
            let mut counts = vec![0_u32; items as usize];
            (0..draws).for_each(|_| counts[choice.next_item(&mut rng) as usize] += 1);
            let chi2: f64 = (0..items)
                .map(|rank| {
                    let wanted = choice.share_of_rank(rank) * f64::from(draws);
                    let seen = f64::from(counts[shuffle(rank, items) as usize]);
                    (seen - wanted).powi(2) / wanted
                })
                .sum();
            let (mean, sigma) = (49.0, (2.0 * 49.0_f64).sqrt());
            assert!((chi2 - mean).abs() < 5.0 * sigma, "{text}: chi² {chi2}, 49 ± 9.9 (5 sigma)");
        }
    }

    #[test]
    fn shares_add_to_one_for_every_kind() {
        for text in examples() {
            let choice = parse(text, 1000).unwrap();
            let sum: f64 = (0..1000).map(|rank| choice.share_of_rank(rank)).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{text}: {sum}");
        }
    }

    #[test]
    fn one_item_is_always_that_one() {
        for text in examples() {
            let mut rng = stream(1, text, 0);
            assert_eq!(parse(text, 1).unwrap().next_item(&mut rng), 0, "{text}");
        }
    }

    #[test]
    fn every_item_has_one_rank() {
        for items in [1, 2, 49, 50, 1000, 65_537] {
            let mut seen = vec![false; items as usize];
            (0..items).for_each(|rank| seen[shuffle(rank, items) as usize] = true);
            assert!(seen.into_iter().all(|seen| seen), "{items}");
        }
        let prime = 2_654_435_761_u32;
        assert_ne!(shuffle(1, prime), shuffle(2, prime), "an item count that the constant divides");
    }

    #[test]
    fn the_table_and_the_folder_agree() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/popularity");
        let mut files: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .map(|f| f.unwrap().path().file_stem().unwrap().to_string_lossy().into())
            .filter(|name: &String| name != "mod")
            .collect();
        files.sort();
        let mut kinds: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
        kinds.sort_unstable();
        assert_eq!(files, kinds);
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        for (text, items) in
            [("zpf:1", 10), ("zipf:x", 10), ("zipf:-1", 10), ("hot:0.1", 10), ("hot:2,1", 10)]
        {
            let fault = parse(text, items).unwrap_err();
            assert!(fault.at.starts_with("popularity") && !fault.fix.is_empty(), "{text}: {fault}");
        }
        assert_eq!(parse("uniform", 0).unwrap_err().at, "items");
        assert_eq!(parse("uniform", 1 << 40).unwrap_err().at, "items");
    }
}
