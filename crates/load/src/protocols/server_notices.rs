//! Notices of a server beside its replies: why requests failed, and how many rows it gave.
//!
//! Decoders add to it while the run goes on. Rows are one addition; of texts the first of each kind is
//! kept, a few in all, and a text that comes while another is being stored is not, because no thread waits.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use crate::protocols::complaints;

/// Most kinds of complaint of which a text is stored.
const KINDS_MAX: usize = 4;

/// Notices so far, of all connections.
#[derive(Debug, Default)]
pub struct ServerNotices {
    has_rows: bool,
    rows: AtomicU64,
    complaints: Mutex<Vec<(String, String)>>,
}

/// Notices of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// Rows of all replies, warm-up included; `None`: the protocol has none.
    pub rows: Option<u64>,
    /// The first complaint of each kind, in the order in which they came.
    pub complaints: Vec<String>,
}

impl ServerNotices {
    /// Of a protocol whose replies have rows.
    pub(crate) fn of_rows() -> Self {
        Self { has_rows: true, ..Self::default() }
    }

    /// A reply had so many rows.
    #[inline]
    pub(crate) fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Relaxed);
    }

    /// A request, or a connection, was refused: the kind of complaint, and its text.
    #[cold]
    pub(crate) fn complain(&self, kind: &str, text: &str) {
        let Ok(mut texts) = self.complaints.try_lock() else { return };
        if texts.len() < KINDS_MAX && texts.iter().all(|(known, _)| known != kind) {
            texts.push((kind.into(), text.into()));
        }
    }

    /// A request was refused with this line, which stays as it is.
    #[cold]
    pub(crate) fn refused(&self, line: &[u8]) {
        let kind = String::from_utf8_lossy(complaints::kind(line));
        let Ok(texts) = self.complaints.try_lock() else { return };
        let is_new = texts.len() < KINDS_MAX && texts.iter().all(|(known, _)| *known != kind);
        drop(texts);
        if is_new {
            self.complain(&kind, &complaints::shown(line));
        }
    }

    /// All of it, after the run.
    pub fn collected(&self) -> Notices {
        let texts = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        let complaints = texts.iter().map(|(_, text)| text.clone()).collect();
        Notices { rows: self.has_rows.then(|| self.rows.load(Relaxed)), complaints }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_of_each_of_a_few_kinds_is_kept() {
        let notices = ServerNotices::of_rows();
        for nth in 0..100 {
            notices.complain(&format!("kind {}", nth % 10), &format!("text {nth}"));
            notices.add_rows(2);
        }
        let collected = notices.collected();
        assert_eq!(collected.rows, Some(200));
        assert_eq!(collected.complaints, ["text 0", "text 1", "text 2", "text 3"]);
    }

    #[test]
    fn a_line_is_kept_as_it_came_once_for_each_kind() {
        let notices = ServerNotices::default();
        for slot in 0..100 {
            notices.refused(format!("-MOVED {slot} 127.0.0.1:1").as_bytes());
        }
        notices.refused(b"-LOADING \xff");
        let collected = notices.collected();
        assert_eq!(collected.complaints, ["\"-MOVED 0 127.0.0.1:1\"", "\"-LOADING \\u{fffd}\""]);
        assert_eq!(collected.rows, None);
    }
}
