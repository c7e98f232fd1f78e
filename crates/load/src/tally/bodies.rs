//! How long the bodies of replies were: an empty answer, or another than before, shows without reading it.
//!
//! Counted are hits of the protocol's usual operation, which reads one item; that of a SET carries
//! nothing. Every one of them is counted, after the run, from its marks.

use crate::job::Job;
use crate::protocols::Outcome;
use crate::protocols::{self, GET};
use crate::tally::request::Request;

/// Items whose first length is remembered; of more, changes are not looked for.
const ITEMS_MAX: u64 = 1 << 20;
const UNKNOWN: u32 = u32::MAX;

/// Lengths of a set of bodies, bytes.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// How many there were.
    pub count: u64,
    /// Together.
    pub bytes: u64,
    /// The shortest; meaningless without any.
    pub min: u32,
    /// The longest.
    pub max: u32,
    /// How many were empty.
    pub empty: u64,
    /// How many were not as long as the first one of the same item, where that is looked for.
    pub changed: u64,
    /// Length of the first one of each item; empty: changes are not looked for.
    first: Vec<u32>,
}

impl Bodies {
    /// For the replies to `job`; changes are looked for where only the server knows what it answers.
    pub(crate) fn of(job: &Job) -> Self {
        let items = match protocols::kind_of_job(job) {
            Ok(kind) if kind.is_opaque => (kind.items)(job),
            _ => 0,
        };
        let items = if items > ITEMS_MAX { 0 } else { items };
        Self { first: vec![UNKNOWN; items as usize], ..Self::default() }
    }

    /// Whether changes of the length are looked for.
    pub fn are_followed(&self) -> bool {
        !self.first.is_empty()
    }

    /// Counts the reply to `request`, if it is one that counts.
    pub(crate) fn add(&mut self, request: &Request) {
        if request.outcome != Outcome::Hit || request.op != GET {
            return;
        }
        let bytes = request.reply_bytes;
        self.min = if self.count == 0 { bytes } else { self.min.min(bytes) };
        self.max = self.max.max(bytes);
        self.count += 1;
        self.bytes += u64::from(bytes);
        self.empty += u64::from(bytes == 0);
        if let Some(first) = self.first.get_mut(request.item as usize) {
            self.changed += u64::from(*first != UNKNOWN && *first != bytes);
            if *first == UNKNOWN {
                *first = bytes;
            }
        }
    }

    /// Adds those of `other`; an item whose first lengths differ has changed once more.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.min = match (self.count, other.count) {
            (0, _) => other.min,
            (_, 0) => self.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.bytes += other.bytes;
        self.empty += other.empty;
        self.changed += other.changed;
        if self.first.is_empty() {
            self.first.clone_from(&other.first);
            return;
        }
        for (first, &theirs) in self.first.iter_mut().zip(&other.first) {
            self.changed += u64::from(*first != UNKNOWN && theirs != UNKNOWN && *first != theirs);
            if *first == UNKNOWN {
                *first = theirs;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::measurement::fake;

    /// Replies to items with lengths, in order, as one thread counts them.
    fn of(replies: &[(u32, u32)]) -> Bodies {
        let job = Job { target: "http://h/{}".into(), paths: vec!["/{}".into()], ..fake::job() };
        let mut bodies = Bodies::of(&Job { items: 10, ..job });
        let some = fake::run(fake::job(), 0, 1).requests(0).next().unwrap();
        for &(item, reply_bytes) in replies {
            bodies.add(&Request { item, reply_bytes, op: GET, ..some });
        }
        bodies
    }

    #[test]
    fn lengths_are_counted_and_those_that_changed_told() {
        let bodies = of(&[(1, 5), (2, 0), (1, 5), (1, 7), (2, 0), (9, 3)]);
        assert_eq!((bodies.count, bodies.bytes, bodies.min, bodies.max), (6, 20, 0, 7));
        assert_eq!((bodies.empty, bodies.changed), (2, 1), "item 1 had 7 once");
        let none = of(&[]);
        assert_eq!((none.count, none.changed, none.are_followed()), (0, 0, true));
    }

    #[test]
    fn threads_agree_on_a_length_or_have_changed_it() {
        let mut all = Bodies::default();
        for part in [of(&[]), of(&[(1, 5), (2, 4)]), of(&[(1, 6), (3, 2)]), of(&[(3, 2)])] {
            all.merge(&part);
        }
        assert_eq!((all.count, all.bytes, all.min, all.max, all.changed), (5, 19, 2, 6, 1));
    }

    #[test]
    fn where_values_are_known_no_length_is_followed() {
        assert!(!Bodies::of(&fake::job()).are_followed(), "memcache checks each value");
        let job = Job { target: "http://h/".into(), items: 1 << 40, ..fake::job() };
        assert!(Bodies::of(&job).are_followed(), "one path");
        let job = Job { paths: vec!["/{}".into()], ..job };
        assert!(!Bodies::of(&job).are_followed(), "too many");
    }
}
