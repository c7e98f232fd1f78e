//! A row of a table: a version that is also its lock, and columns that are read whole.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::fence;

/// Columns that transactions look at; what a row has beyond them is as long as TPC-C's, and rests.
pub const COLUMNS: usize = 8;
/// Columns of a row, as one transaction sees them.
pub type Columns = [u64; COLUMNS];

/// The lock is the last bit of the version, which grows by two with every write.
const LOCK: u64 = 1;

/// One row. Whoever reads takes no lock, and finds out at the end whether it was written meanwhile.
#[derive(Debug)]
pub struct Row {
    version: AtomicU64,
    words: Box<[AtomicU64]>,
}

impl Row {
    /// A row of `bytes` with these first columns.
    pub fn new(columns: Columns, bytes: usize) -> Self {
        let words = (0..(bytes / 8).max(COLUMNS))
            .map(|nth| AtomicU64::new(columns.get(nth).copied().unwrap_or(0)))
            .collect();
        Self { version: AtomicU64::new(0), words }
    }

    /// Its columns as they all were at one moment, and the version of that; `None`: it is being
    /// written.
    pub fn read(&self) -> Option<(u64, Columns)> {
        let version = self.version.load(Acquire);
        if version & LOCK != 0 {
            return None;
        }
        let columns = std::array::from_fn(|nth| self.words[nth].load(Relaxed));
        // Who sees a word of a later write also sees, behind this fence, the lock that came first.
        fence(Acquire);
        self.is_at(version).then_some((version, columns))
    }

    /// Whether no one has written it since, or is about to.
    pub fn is_at(&self, version: u64) -> bool {
        self.version.load(Relaxed) == version
    }

    /// Takes the lock if it still is at `version`; never waits.
    pub fn lock(&self, version: u64) -> bool {
        self.version.compare_exchange(version, version | LOCK, AcqRel, Relaxed).is_ok()
    }

    /// Puts new columns in. Only for who holds the lock.
    pub fn store(&self, columns: &Columns) {
        fence(Release); // the lock is seen before any of these
        for (word, &column) in self.words.iter().zip(columns) {
            word.store(column, Relaxed);
        }
    }

    /// Gives the lock back; a row that was written gets the next version.
    pub fn unlock(&self, version: u64, is_written: bool) {
        self.version.store(version + if is_written { 2 } else { 0 }, Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    #[test]
    fn a_locked_row_is_not_read_and_not_locked_again() {
        let row = Row::new([7; COLUMNS], 89);
        let (version, columns) = row.read().unwrap();
        assert_eq!((columns, row.words.len()), ([7; COLUMNS], 11));
        assert!(row.lock(version));
        assert!(row.read().is_none() && !row.lock(version) && !row.is_at(version));
        row.store(&[8; COLUMNS]);
        row.unlock(version, true);
        assert_eq!(row.read(), Some((version + 2, [8; COLUMNS])));
        assert!(!row.lock(version), "that version is gone");
    }

    #[test]
    fn no_reader_sees_half_a_write() {
        let (row, is_over) = (Row::new([0; COLUMNS], 64), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for value in 1..200_000 {
                    let (version, _) = row.read().unwrap();
                    assert!(row.lock(version));
                    row.store(&[value; COLUMNS]);
                    row.unlock(version, true);
                }
                is_over.store(true, Relaxed);
            });
            while !is_over.load(Relaxed) {
                if let Some((version, columns)) = row.read() {
                    assert_eq!(columns, [version / 2; COLUMNS]);
                }
            }
        });
    }
}
