//! Statuses of replies that were no success, counted by name: a call's status, an error of a stream.
//!
//! Counted where replies are read, by all threads at once; a reply that is a hit costs nothing here.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How the name of what was refused begins: a reply that does not follow the protocol.
pub const REFUSED: &str = "refused: ";

/// Names, and how often each came.
#[derive(Debug, Default)]
pub struct StatusCounts {
    each: Vec<(String, AtomicU64)>,
}

impl StatusCounts {
    /// Counts these; each is known by its place from now on.
    pub fn of(words: Vec<String>) -> Self {
        Self { each: words.into_iter().map(|word| (word, AtomicU64::new(0))).collect() }
    }

    /// Counts one more of the status at `place`.
    #[cold]
    pub fn add(&self, place: usize) {
        if let Some((_, count)) = self.each.get(place) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// All that came, and how often.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let counts = self.each.iter().map(|(word, count)| (word, count.load(Relaxed)));
        counts.filter(|&(_, count)| count > 0).map(|(word, count)| (word.clone(), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_said_is_reported() {
        let counts = StatusCounts::of(vec!["a".into(), "b".into()]);
        for place in [1, 1, 7] {
            counts.add(place);
        }
        assert_eq!(counts.counts(), [("b".to_string(), 2)].into());
    }
}
