//! How long the loop's own thread waited for a CPU: what distinguishes a stop from a long turn of its own.
//!
//! A gap between two polls of some 100 µs may be the loop's own work: dozens of replies at once, each
//! answered by a send. It says nothing then, and to leave such a moment out would favour the
//! service. If the kernel had the thread in its run queue for most of the gap, it was stopped.
//! Source: `/proc/thread-self/schedstat`, second number (proc(5)); read where a gap is long, and once
//! in a while so that older waits are not counted to it.

use std::fs::File;

use sojourn_base::schedstat::Schedstat;

pub(super) use crate::watch::server_watch::GAP_MIN_NS;

/// How old the last reading may be when a gap begins.
const STALE_NS: u64 = 1_000_000;
/// Gaps that are worth to be counted as waits that are older.
const WORTH_NS: u64 = 20_000;
/// Part of a gap that the thread must have waited for a CPU.
const PART: f64 = 0.5;

/// Where the run delay of this thread so far is read, ns; `None`: not to be had here.
pub(super) trait RunDelay {
    fn now_ns(&mut self) -> Option<u64>;
}

/// The kernel's own account.
pub(super) struct OwnThread(Option<File>);

impl OwnThread {
    /// That of the thread which calls, from now on.
    pub fn open() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }
}

impl RunDelay for OwnThread {
    fn now_ns(&mut self) -> Option<u64> {
        Schedstat::read(self.0.as_ref()?).map(|thread| thread.waited_ns)
    }
}

/// The wait for a CPU since the last reading.
pub(super) struct Queued<D> {
    delay: D,
    last_ns: Option<u64>,
    read_at_ns: u64,
    /// What the thread may have waited since in gaps that were not asked about.
    older_ns: u64,
}

impl<D: RunDelay> Queued<D> {
    pub fn new(mut delay: D) -> Self {
        let last_ns = delay.now_ns();
        Self { delay, last_ns, read_at_ns: 0, older_ns: 0 }
    }

    /// Whether the thread was kept from its CPU for most of a gap that has just ended.
    #[cold]
    pub fn was_stopped(&mut self, now_ns: u64, gap_ns: u64) -> bool {
        let (before, older_ns) = (self.last_ns, self.older_ns);
        self.read(now_ns);
        let waited = before.zip(self.last_ns).map_or(0, |(old, new)| new.saturating_sub(old));
        waited.saturating_sub(older_ns) as f64 >= PART * gap_ns as f64
    }

    /// The loop polls, `gap_ns` after it did before: old waits are forgotten.
    #[inline]
    pub fn polled(&mut self, now_ns: u64, gap_ns: u64) {
        if gap_ns > WORTH_NS {
            self.older_ns += gap_ns;
        }
        if now_ns.saturating_sub(self.read_at_ns) > STALE_NS {
            self.read(now_ns);
        }
    }

    #[cold]
    fn read(&mut self, now_ns: u64) {
        self.last_ns = self.delay.now_ns();
        self.read_at_ns = now_ns;
        self.older_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    struct Planted(Rc<Cell<u64>>);

    impl RunDelay for Planted {
        fn now_ns(&mut self) -> Option<u64> {
            Some(self.0.get())
        }
    }

    fn planted() -> (Rc<Cell<u64>>, Queued<Planted>) {
        let delay = Rc::new(Cell::new(7_000));
        (delay.clone(), Queued::new(Planted(delay)))
    }

    #[test]
    fn a_gap_that_the_thread_waited_through_is_a_stop_and_one_that_it_worked_through_is_none() {
        let (delay, mut queued) = planted();
        queued.polled(1_000, 1_000);
        assert!(!queued.was_stopped(401_000, 400_000), "it worked");
        delay.set(7_000 + 250_000);
        assert!(queued.was_stopped(801_000, 400_000));
        assert!(!queued.was_stopped(1_201_000, 400_000), "that wait was told already");
    }

    #[test]
    fn waits_of_long_ago_are_not_counted_to_a_gap() {
        let (delay, mut queued) = planted();
        delay.set(300_000);
        queued.polled(5_000_000, 1_000);
        assert!(!queued.was_stopped(5_300_000, 300_000));
        queued.polled(5_450_000, 150_000); // in which it waited for 120 µs
        delay.set(420_000);
        assert!(!queued.was_stopped(5_690_000, 240_000), "a long turn of its own");
    }

    #[test]
    fn this_threads_own_account_is_read_and_grows_never_back() {
        let mut own = OwnThread::open();
        let (first, second) = (own.now_ns(), own.now_ns());
        assert!(first.is_none() || second >= first);
        assert_eq!(OwnThread(None).now_ns(), None);
        assert!(!Queued::new(OwnThread(None)).was_stopped(1 << 40, 1 << 30));
    }
}
