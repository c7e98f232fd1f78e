//! Going last: every other task has its CPU first, as long as that does not take too long.
//!
//! A thread of the usual class keeps its CPU until the next tick of the clock, 4 ms at 250 Hz, though a service wakes
//! up there. Loading the hooks takes 0.1 s of a CPU and reading what they counted some ms: at half load that was
//! p99. The kernel takes the CPU from a thread that goes last (`SCHED_IDLE`) at once, and counts it as free.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use sojourn_base::cpus;

use crate::attach::kernel::held_rights;

/// As long as it lives, every other task goes before the thread that made it.
pub struct Last {
    thread: libc::pid_t,
    /// Its end ends the one that waits.
    wait: Option<Sender<()>>,
}

impl Last {
    /// From now on. `None`: somebody chose how this thread is scheduled, or it could not come back.
    pub fn new() -> Option<Self> {
        let param = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameter is valid; failure changes nothing.
        let is_done = may_come_back()
            && unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER
            && unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param) } == 0;
        is_done.then(|| Self { thread: own_thread(), wait: None })
    }

    /// The same, for so long at most: where all CPUs are full, whoever goes last may wait for ever.
    pub fn at_most(longest: Duration) -> Option<Self> {
        let thread = own_thread();
        let (sender, receiver) = channel();
        // Before this thread goes last, or the other one would go last, too.
        let waits = std::thread::Builder::new().spawn(move || {
            if receiver.recv_timeout(longest) == Err(RecvTimeoutError::Timeout) {
                cpus::take_short_turns(thread);
            }
        });
        let mut last = waits.ok().and_then(|_| Self::new())?;
        last.wait = Some(sender);
        Some(last)
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        drop(self.wait.take());
        cpus::take_short_turns(self.thread);
    }
}

/// Asked of the kernel, because `gettid` is in glibc since 2.30 only, and releases are linked for 2.28.
fn own_thread() -> libc::pid_t {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// From `SCHED_IDLE`: the kernel counts it as the lowest nice value.
fn may_come_back() -> bool {
    const SYS_NICE: u32 = 23;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for one limit.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NICE, &raw mut limit) } == 0;
    held_rights() >> SYS_NICE & 1 == 1 || is_known && limit.rlim_cur >= 20
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Of the calling thread.
    fn class() -> i32 {
        // SAFETY: no memory is touched.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_thread_goes_last_and_comes_back() {
        let Some(last) = Last::new() else { return };
        assert_eq!(class(), libc::SCHED_IDLE);
        assert!(Last::new().is_none(), "it goes last by now");
        drop(last);
        assert_eq!(class(), libc::SCHED_OTHER);
    }

    #[test]
    fn it_comes_back_by_itself_when_its_time_is_over() {
        let Some(last) = Last::at_most(Duration::from_millis(1)) else { return };
        let end = Instant::now() + Duration::from_secs(20);
        while class() == libc::SCHED_IDLE && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(class(), libc::SCHED_OTHER);
        drop(last);
        let lasting = Last::at_most(Duration::from_secs(3600));
        assert_eq!(class(), libc::SCHED_IDLE, "and not before");
        drop(lasting);
        assert_eq!(class(), libc::SCHED_OTHER);
    }
}
