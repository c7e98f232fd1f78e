//! What a server told beside its replies: why requests failed, and how many rows it gave.
//!
//! Decoders add to it while the run goes on. Rows are one addition; of texts the first of each kind is
//! kept, a few in all, and a text that comes while another is being kept is not: nobody waits.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// Most kinds of complaint of which a text is kept.
const KINDS_MAX: usize = 4;

/// What has been told so far, by all connections.
#[derive(Debug, Default)]
pub struct Told {
    rows: AtomicU64,
    complaints: Mutex<Vec<(String, String)>>,
}

/// What was told in a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Rows of all replies, warm-up included.
    pub rows: u64,
    /// The first complaint of each kind, in the order in which they came.
    pub complaints: Vec<String>,
}

impl Told {
    /// A reply had so many rows.
    #[inline]
    pub(crate) fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Relaxed);
    }

    /// A request, or a connection, was refused: the kind of complaint, and its text.
    #[cold]
    pub(crate) fn complain(&self, kind: &str, text: &str) {
        let Ok(mut kept) = self.complaints.try_lock() else { return };
        if kept.len() < KINDS_MAX && kept.iter().all(|(known, _)| known != kind) {
            kept.push((kind.into(), text.into()));
        }
    }

    /// All of it, after the run.
    pub fn heard(&self) -> Heard {
        let kept = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let complaints = kept.iter().map(|(_, text)| text.clone()).collect();
        Heard { rows: self.rows.load(Relaxed), complaints }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_of_each_of_a_few_kinds_is_kept() {
        let told = Told::default();
        for nth in 0..100 {
            told.complain(&format!("kind {}", nth % 10), &format!("text {nth}"));
            told.add_rows(2);
        }
        let heard = told.heard();
        assert_eq!(heard.rows, 200);
        assert_eq!(heard.complaints, ["text 0", "text 1", "text 2", "text 3"]);
    }
}
