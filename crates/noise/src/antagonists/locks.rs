//! Locks: threads of its own that all want one mutex.
//!
//! Whoever has it gives its CPU away now and then with the lock held, so that others come to wait
//! for it in the kernel on one CPU, too.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::words::Words;

const THREADS_MAX: u64 = 64;
const HELD_OVER: u64 = 8; // one in so many holds lasts over a yield

#[derive(Default)]
struct Together {
    lock: Mutex<u64>,
    left: AtomicI64,
    round: AtomicU32,
    at_work: AtomicI64,
    is_over: AtomicBool,
}

impl Together {
    /// Takes and gives back the lock until the budget is used up.
    fn contend(&self) {
        while self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            *held += 1;
            if held.is_multiple_of(HELD_OVER) {
                std::thread::yield_now();
            }
        }
    }

    fn follow(&self) {
        let mut seen = 0;
        while !self.is_over.load(Ordering::Acquire) {
            let round = self.round.load(Ordering::Acquire);
            if round == seen {
                wait(&self.round, seen);
                continue;
            }
            seen = round;
            self.contend();
            self.at_work.fetch_sub(1, Ordering::Release);
        }
    }
}

struct Locks {
    together: Arc<Together>,
    others: Vec<JoinHandle<()>>,
}

impl Antagonist for Locks {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let it = &self.together;
        it.left.store(units.min(i64::MAX as u64 / 2) as i64, Ordering::Relaxed);
        it.at_work.store(self.others.len() as i64, Ordering::Relaxed);
        it.round.fetch_add(1, Ordering::Release);
        wake_all(&it.round);
        it.contend();
        while it.at_work.load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
        Ok(units)
    }
}

impl Drop for Locks {
    fn drop(&mut self) {
        self.together.is_over.store(true, Ordering::Release);
        self.together.round.fetch_add(1, Ordering::Release);
        wake_all(&self.together.round);
        for other in self.others.drain(..) {
            let _ = other.join(); // it cannot have failed: it calls nothing that can
        }
    }
}

/// Sleeps while `word` is `value`.
fn wait(word: &AtomicU32, value: u32) {
    // SAFETY: the word lives through the call; no time out, no second word.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

fn wake_all(word: &AtomicU32) {
    // SAFETY: only the word's address is used.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        );
    }
}

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let threads = words.count("threads", 2)?;
    if threads > THREADS_MAX {
        let what = format!("{threads} threads are asked, {THREADS_MAX} are the most");
        return Err(Fault::usage(what, "params.threads", "give 2 to 64"));
    }
    let together = Arc::new(Together::default());
    let mut locks = Locks { together: Arc::clone(&together), others: Vec::new() };
    for _ in 1..threads {
        let own = Arc::clone(&together);
        let started = std::thread::Builder::new().spawn(move || own.follow());
        locks.others.push(started.map_err(|error| {
            let what = format!("no thread can be started: {error}");
            Fault::failed(what, "params.threads", "give fewer threads, or raise ulimit -u")
        })?);
    }
    Ok(Made::new(locks, format!("{threads} threads, one mutex")))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "locks",
        about: "threads of its own that contend for one mutex (futex)",
        usage: "locks (-p threads=4)",
        params: &[Param {
            name: "threads",
            unit: "",
            about: "how many want the lock",
            default: "2",
            range: "2..64",
        }],
        needs: &[],
        source: "futex(2)",
    },
    unit: "acquisitions",
    most: Most::PerSecond,
    build,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_taken_as_often_as_is_counted() {
        let words = Words::new(&ENTRY.kind, &std::collections::BTreeMap::new()).unwrap();
        let mut made = build(&words, Intensity::Share(1.0)).unwrap();
        assert_eq!(made.worker.work(500).unwrap() + made.worker.work(700).unwrap(), 1200);
        let together = Arc::new(Together::default());
        let mut locks = Locks { together: Arc::clone(&together), others: Vec::new() };
        locks.work(41).unwrap();
        assert_eq!(*together.lock.lock().unwrap(), 41);
    }
}
