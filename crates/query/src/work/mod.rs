//! What a query costs: one file a kind of work; `KINDS` is the table.

mod map;
mod net;
mod planted;
mod silo;

use serde_json::Value;
use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind};

use crate::args::Settings;

/// Work that answers queries. It is shared by all workers.
pub trait Work: Send + Sync {
    /// A worker's own place: what it needs and no one else uses.
    fn desk(&self) -> Box<dyn Desk + '_>;

    /// Whether its data still hold together: `state` is "holds", "broken" or "busy" (no one can
    /// tell while others are at work), `wrong` says what. `None`: they never change.
    fn check(&self) -> Option<Value> {
        None
    }
}

/// A place at which one worker answers one query after the other.
pub trait Desk {
    /// Appends the answer to `query`, which is below the number of queries: the same every time, or
    /// after the same queries where the data change. Nothing appended: there is no answer.
    fn answer(&mut self, query: u64, reply: &mut String);
}

/// One entry of the table.
#[derive(Clone, Copy)]
pub struct WorkKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// Makes its data.
    pub build: fn(&Settings) -> Result<Box<dyn Work>, Fault>,
}

impl AsRef<Kind> for WorkKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every kind of work, in reading order.
pub const KINDS: &[WorkKind] = &[net::KIND, map::KIND, silo::KIND, planted::KIND];

/// The work called `name`, or a fault with the names there are.
pub fn find(name: &str) -> Result<&'static WorkKind, Fault> {
    kind::find(KINDS, name, "work", "work")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_answers_alike_at_any_desk_and_unlike_for_another_query_or_seed() {
        for entry in KINDS {
            let settings =
                Settings { items: Some(5_000), hidden: 32, batch: Some(20), ..Settings::default() };
            let other = Settings { seed: settings.seed + 1, ..settings.clone() };
            let (work, changed) =
                ((entry.build)(&settings).unwrap(), (entry.build)(&other).unwrap());
            // What follows from the queries before it differs, where there is such.
            let fixed = |reply: String| reply.split(" seen ").next().unwrap().to_owned();
            let say = |work: &dyn Work, query| {
                let mut reply = String::new();
                work.desk().answer(query, &mut reply);
                fixed(reply)
            };
            let first = say(&*work, 7);
            let mut desk = work.desk();
            for query in [1, 2, 3, 7] {
                let mut reply = String::new();
                desk.answer(query, &mut reply);
                let reply = fixed(reply);
                assert_eq!(reply == first, query == 7, "{}: {query}", entry.kind.name);
                assert_eq!(reply.len(), first.len(), "every answer has one length");
            }
            assert_ne!(say(&*changed, 7), first, "{}", entry.kind.name);
        }
    }
}
