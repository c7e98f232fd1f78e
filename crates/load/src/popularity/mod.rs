//! Which item a request asks for. One file per kind; `KINDS` is the table.

mod uniform;

use std::fmt::Debug;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, near};
use sojourn_base::rng::Rng;

/// Draws item numbers below the number of items.
pub trait Popularity: Debug {
    /// One item. Pure: same `rng` state, same item.
    fn next_item(&self, rng: &mut Rng) -> u32;
    /// P(item), for tests and for people.
    fn share(&self, item: u32) -> f64;
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

/// Every popularity, in reading order.
pub const KINDS: &[PopularityKind] = &[uniform::KIND];

/// Reads `name` or `name:parameters` over `items` items.
pub fn parse(text: &str, items: u64) -> Result<Choice, Fault> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let Some(entry) = KINDS.iter().find(|entry| entry.kind.name == name.trim()) else {
        return Err(unknown(name));
    };
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

fn unknown(name: &str) -> Fault {
    let names: Vec<&str> = KINDS.iter().map(|entry| entry.kind.name).collect();
    let hint = near(name, names.iter().copied())
        .first()
        .map_or(String::new(), |n| format!("did you mean {n}? "));
    let known = names.join(", ");
    let what = format!("no popularity is called '{name}'");
    Fault::usage(what, "popularity", format!("{hint}known: {known}"))
}
