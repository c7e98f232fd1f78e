//! How a kind of thing (arrival process, protocol, transport, policy) describes itself.
//!
//! `--help`, `--describe`, `sojourn kinds`, `schema/` and `docs/reference/` are made from these.

use serde::Serialize;

/// One parameter of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Param {
    /// As people type it.
    pub name: &'static str,
    /// "requests/s", "ns", "ratio", or "" for a pure number.
    pub unit: &'static str,
    /// One line.
    pub about: &'static str,
    /// As people would type it; empty if it must be given.
    pub default: &'static str,
    /// Inclusive range in words, such as "> 0" or "0..1".
    pub range: &'static str,
}

/// What one kind says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// As people type it.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// How it is written, with an example: `gamma:CV  (gamma:2)`.
    pub usage: &'static str,
    /// Its parameters, in the order in which they are written.
    pub params: &'static [Param],
    /// What it needs of the host; empty if nothing.
    pub needs: &'static [&'static str],
    /// Where it comes from: paper and section, kernel version, RFC.
    pub source: &'static str,
}

/// A table of kinds by the name of the table, as `--describe` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// The program that speaks.
    pub program: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Tables in reading order.
    pub tables: Vec<Table>,
}

/// One written table of kinds, in reading order.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// "arrivals", "protocols", …
    pub name: &'static str,
    /// Its kinds.
    pub kinds: Vec<Kind>,
}

/// Names in `kinds` that look like `name`, nearest first: for "did you mean …?".
pub fn near<'a>(name: &str, kinds: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(usize, &str)> =
        kinds.into_iter().map(|kind| (edit_distance(name, kind), kind)).collect();
    scored.sort_unstable();
    scored.into_iter().filter(|(d, kind)| *d <= kind.len().div_ceil(2)).map(|(_, k)| k).collect()
}

/// Levenshtein distance, one row at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_offers_the_obvious_slip_first_and_nothing_far() {
        assert_eq!(near("posson", ["fixed", "poisson", "gamma"])[0], "poisson");
        assert!(near("qqqqqqqq", ["fixed", "poisson"]).is_empty());
    }
}
