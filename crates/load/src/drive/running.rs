//! Which threads of a run have yet to end, for the one that waits for them.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread::{self, Thread};
use std::time::Instant;

/// How many threads of a run have yet to end, and who waits for that.
#[derive(Debug)]
pub struct Running {
    left: AtomicUsize,
    waits: Thread,
}

/// One of them; dropped, it has ended.
#[derive(Debug)]
pub struct Ends<'a>(&'a Running);

impl Running {
    /// So many threads, for which the calling one waits.
    pub fn new(threads: usize) -> Self {
        Self { left: AtomicUsize::new(threads), waits: thread::current() }
    }

    /// What one of them holds while it runs.
    pub fn one(&self) -> Ends<'_> {
        Ends(self)
    }

    /// Sleeps until all have ended or `due` has come; true: they have ended.
    pub(super) fn await_end(&self, due: Instant) -> bool {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if self.left.load(Acquire) == 0 || left.is_zero() {
                return self.left.load(Acquire) == 0;
            }
            thread::park_timeout(left); // it may wake for no reason
        }
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if self.0.left.fetch_sub(1, Release) == 1 {
            self.0.waits.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_waits_sleeps_until_the_last_thread_has_ended_or_a_line_is_due() {
        let running = Running::new(2);
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(!running.await_end(soon) && Instant::now() >= soon, "a line is due");
        thread::scope(|scope| {
            let (first, last) = (running.one(), running.one());
            drop(first);
            assert!(!running.await_end(Instant::now()), "one still runs");
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(5));
                drop(last);
            });
            assert!(running.await_end(Instant::now() + Duration::from_secs(3600)));
        });
        assert!(running.await_end(Instant::now()));
    }
}
