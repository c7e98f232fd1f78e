//! How a kind of thing (arrival process, protocol, transport, policy) describes itself.
//!
//! `--help`, `--describe`, `sojourn kinds`, `schema/` and `docs/reference/` are made from these.

use serde::Serialize;
use serde_json::json;

use crate::Fault;

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

impl Catalogue {
    /// As `--describe` of a program prints it that has nothing else to say.
    pub fn json(&self) -> String {
        format!("{:#}\n", json!({ "catalogue": self }))
    }
}

impl Table {
    /// The kinds of all `entries`.
    pub fn of(name: &'static str, entries: &[impl AsRef<Kind>]) -> Self {
        Self { name, kinds: entries.iter().map(|entry| *entry.as_ref()).collect() }
    }
}

impl AsRef<Kind> for Kind {
    fn as_ref(&self) -> &Kind {
        self
    }
}

/// The entry of `table` that is called `name`, or a fault that lists the names there are.
///
/// `what` says what the table holds, such as "scheduling policy"; `at` is the key or flag.
pub fn find<'a, T: AsRef<Kind>>(
    table: &'a [T],
    name: &str,
    what: &str,
    at: &str,
) -> Result<&'a T, Fault> {
    let name = name.trim();
    table
        .iter()
        .find(|entry| entry.as_ref().name == name)
        .ok_or_else(|| unknown(name, table.iter().map(|entry| entry.as_ref().name), what, at))
}

/// The fault of a `name` that is not among `names`, with the one that looks most like it.
pub fn unknown<'a>(
    name: &str,
    names: impl IntoIterator<Item = &'a str>,
    what: &str,
    at: &str,
) -> Fault {
    let names: Vec<&str> = names.into_iter().collect();
    let fix = format!("{}known: {}", hint(name, names.iter().copied()), names.join(", "));
    Fault::usage(format!("no {what} is called '{name}'"), at, fix)
}

/// "did you mean NEAREST? " for the start of a sentence; empty where no name looks like `name`.
pub fn hint<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, names).map_or(String::new(), |nearest| format!("did you mean {nearest}? "))
}

/// The one of `names` that looks most like `name`; `None` where more than half of its letters differ.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.into_iter().map(|known| (strsim::levenshtein(name, known), known));
    scored.filter(|(distance, known)| *distance <= known.len().div_ceil(2)).min().map(|(_, it)| it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_obvious_slip_is_offered_and_nothing_far() {
        assert_eq!(nearest("posson", ["fixed", "poisson", "gamma"]), Some("poisson"));
        assert_eq!(nearest("qqqqqqqq", ["fixed", "poisson"]), None);
        assert_eq!(nearest("ab", ["bb", "aa"]), Some("aa"), "of two as near, the first by name");
    }

    #[test]
    fn a_name_is_found_or_the_fault_lists_those_that_are() {
        let kind = |name| Kind { name, about: "", usage: "", params: &[], needs: &[], source: "" };
        let table = [kind("fixed"), kind("poisson")];
        assert_eq!(find(&table, " fixed ", "arrival process", "arrivals").unwrap().name, "fixed");
        let fault = find(&table, "posson", "arrival process", "arrivals").unwrap_err();
        assert_eq!(fault.what, "no arrival process is called 'posson'");
        assert_eq!(fault.at, "arrivals");
        assert_eq!(fault.fix, "did you mean poisson? known: fixed, poisson");
        let far = find(&table, "qqqqqqqq", "arrival process", "arrivals").unwrap_err();
        assert_eq!(far.fix, "known: fixed, poisson");
    }
}
