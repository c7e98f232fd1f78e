//! Optimistic transactions: read without locks, then lock what is written, look again, and write.
//!
//! Why what is committed is serialisable: all rows that a transaction writes are locked before the
//! fence in `commit`, and every row that it read is found at the version it was read at, and
//! unlocked, after it. So at the moment of the fence no one else had written, or was about to write
//! after having got past its own fence, anything of what this one has seen; and what it writes is
//! hidden by its locks until all of it is there. Transactions take place in the order of fences.
//!
//! Ranges (orders of a district, its payments) have a row that guards them: whoever adds to a range,
//! takes away, or changes what lies in it writes the guard, and does so while it holds the guard's
//! lock; whoever looks into a range reads the guard. So nothing comes in between (no phantoms), and
//! what lies in a range needs no version of its own.
//!
//! Source: Tu, Zheng, Kohler, Liskov, Madden, "Speedy Transactions in Multicore In-Memory Databases"
//! (Silo), SOSP 2013, section 4.4; without its epochs, which are there for logging, and with guards
//! for its versions of tree nodes.

use std::ptr;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;

use super::row::{Columns, Row};

/// Why a transaction comes to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Another one was quicker: begin again.
    Conflict,
    /// What must be there is not; with no one else at work, the data are broken.
    Missing(&'static str),
}

#[derive(Debug)]
struct Held<'a> {
    row: &'a Row,
    version: u64,
    columns: Columns,
    is_written: bool,
}

/// One transaction at a time, what it has read, and what it will write.
#[derive(Debug, Default)]
pub struct Transaction<'a> {
    held: Vec<Held<'a>>,
}

impl<'a> Transaction<'a> {
    /// Forgets what the one before has read and would have written.
    pub fn begin(&mut self) {
        self.held.clear();
    }

    /// Reads a row that may be written later; the second time it is as this transaction left it.
    pub fn read(&mut self, row: &'a Row) -> Result<usize, Trouble> {
        if let Some(nth) = self.held.iter().position(|held| ptr::eq(held.row, row)) {
            return Ok(nth);
        }
        self.look(row)?;
        Ok(self.held.len() - 1)
    }

    /// Reads a row that this transaction has not written and will not.
    pub fn look(&mut self, row: &'a Row) -> Result<Columns, Trouble> {
        let (version, columns) = row.read().ok_or(Trouble::Conflict)?;
        self.held.push(Held { row, version, columns, is_written: false });
        Ok(columns)
    }

    /// The columns of what was read.
    pub fn at(&self, nth: usize) -> Columns {
        self.held[nth].columns
    }

    /// The same, to be changed.
    pub fn write(&mut self, nth: usize) -> &mut Columns {
        self.held[nth].is_written = true;
        &mut self.held[nth].columns
    }

    /// Whether all that was read is still so.
    pub fn is_valid(&self) -> bool {
        fence(SeqCst);
        self.held.iter().all(|held| held.row.is_at(held.version))
    }

    /// Makes all of it happen at once, with `install` for what lies in ranges, or nothing.
    pub fn commit(&mut self, install: impl FnOnce()) -> Result<(), Trouble> {
        let written = || self.held.iter().filter(|held| held.is_written);
        let locked = written().take_while(|held| held.row.lock(held.version)).count();
        let is_locked = locked == written().count();
        // Locks are taken before anything is looked at again, by everybody.
        fence(SeqCst);
        let mut seen = self.held.iter().filter(|held| !held.is_written);
        if !is_locked || !seen.all(|held| held.row.is_at(held.version)) {
            written().take(locked).for_each(|held| held.row.unlock(held.version, false));
            return Err(Trouble::Conflict);
        }
        install();
        for held in written() {
            held.row.store(&held.columns);
        }
        written().for_each(|held| held.row.unlock(held.version, true));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::row::COLUMNS;
    use super::*;

    fn rows(values: &[u64]) -> Vec<Row> {
        values.iter().map(|&value| Row::new([value; COLUMNS], 64)).collect()
    }

    #[test]
    fn what_was_written_since_it_was_read_is_a_conflict_and_leaves_no_lock() {
        let rows = rows(&[1, 2]);
        let (mut first, mut second) = (Transaction::default(), Transaction::default());
        first.look(&rows[0]).unwrap();
        let other = first.read(&rows[1]).unwrap();
        first.write(other)[0] = 9;
        let one = second.read(&rows[0]).unwrap();
        second.write(one)[0] = 8;
        second.commit(|| ()).unwrap();
        assert!(!first.is_valid());
        assert_eq!(first.commit(|| panic!("nothing is installed")), Err(Trouble::Conflict));
        assert_eq!(rows[1].read().unwrap(), (0, [2; COLUMNS]));
        assert_eq!(rows[0].read().unwrap().1[0], 8);
    }

    #[test]
    fn a_transaction_sees_what_it_wrote() {
        let rows = rows(&[5]);
        let mut one = Transaction::default();
        let first = one.read(&rows[0]).unwrap();
        one.write(first)[0] += 1;
        let again = one.read(&rows[0]).unwrap();
        one.write(again)[0] += 1;
        one.commit(|| ()).unwrap();
        assert_eq!(rows[0].read().unwrap().1[0], 7);
    }

    #[test]
    fn neither_writes_are_lost_nor_do_two_act_on_what_the_other_changes() {
        const ROUNDS: u64 = 20_000;
        for _ in 0..20 {
            let rows = rows(&[0, 0, 0]);
            thread::scope(|scope| {
                for nth in 0..2 {
                    let rows = &rows;
                    scope.spawn(move || {
                        let mut one = Transaction::default();
                        let mut done = 0;
                        while done < ROUNDS / 20 {
                            one.begin();
                            let step = (|| {
                                let (own, count) = (one.read(&rows[nth])?, one.read(&rows[2])?);
                                let other = one.look(&rows[1 - nth])?[0];
                                // The two differ by less than two, whoever comes first.
                                if one.at(own)[0] <= other {
                                    one.write(own)[0] += 1;
                                }
                                one.write(count)[0] += 1;
                                one.commit(|| ())
                            })();
                            if step.is_ok() {
                                done += 1;
                            } else {
                                thread::yield_now();
                            }
                        }
                    });
                }
            });
            let [a, b, count] = [0, 1, 2].map(|nth| rows[nth].read().unwrap().1[0]);
            assert_eq!(count, 2 * (ROUNDS / 20), "no write is lost");
            assert!(a.abs_diff(b) <= 1, "{a} and {b}");
        }
    }

    /// One step of worker `nth`: it takes its own seat if both are free, else it leaves its own.
    /// Says whether it saw both taken.
    fn sit<'a>(one: &mut Transaction<'a>, rows: &'a [Row], nth: usize) -> Result<bool, Trouble> {
        one.begin();
        let own = one.read(&rows[nth])?;
        let other = one.look(&rows[1 - nth])?[0];
        thread::yield_now(); // so that the two overlap, also on one CPU
        let had = one.at(own)[0];
        one.write(own)[0] = u64::from(had + other == 0);
        one.commit(|| ())?;
        Ok(had + other == 2)
    }

    #[test]
    fn what_is_read_and_not_written_is_looked_at_again() {
        // Without that, both take their seats at once (write skew).
        let rows = rows(&[0, 0]);
        thread::scope(|scope| {
            for nth in 0..2 {
                let rows = &rows;
                scope.spawn(move || {
                    let mut one = Transaction::default();
                    let mut done = 0;
                    while done < 400 {
                        match sit(&mut one, rows, nth) {
                            Ok(are_both) => assert!(!are_both, "after {done}"),
                            Err(_) => thread::yield_now(),
                        }
                        done += 1;
                    }
                });
            }
        });
    }
}
