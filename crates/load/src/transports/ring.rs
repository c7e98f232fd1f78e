//! One `io_uring` of one thread: what is handed over when, and how long an entry waits.
//!
//! It does its deferred work only when the thread enters the kernel (`SINGLE_ISSUER`,
//! `DEFER_TASKRUN`). The `TASKRUN` flag shows when there is such work, so a thread that spins looks at
//! memory and enters the kernel only when something happened.
//!
//! Source: `io_uring_setup(2)`, `io_uring_enter(2)`.

use std::io;
use std::time::Instant;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, squeue};

use super::Patience;

/// How often the kernel may take nothing before a submission is given up; one entry makes room else.
const REFUSED_MAX: u32 = 1000;

pub(super) struct Ring {
    /// The ring itself.
    pub uring: IoUring,
    /// System calls made so far.
    pub syscalls: u64,
    /// Submissions queued and not yet handed over.
    queued: u32,
    /// Whether the kernel can wait for many arrivals, but not for long (Linux 6.12).
    waits_for_many: bool,
}

impl Ring {
    pub(super) fn new(entries: u32) -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(entries * 4)
            .build(entries)?;
        // The kernel finds the ring by number instead of by descriptor: saves a look-up per call.
        let _ = uring.submitter().register_ring_fd();
        let waits_for_many = uring.params().is_feature_min_timeout();
        Ok(Self { uring, syscalls: 0, queued: 0, waits_for_many })
    }

    /// Whether something was queued and not handed over.
    #[inline]
    pub(super) fn has_queued(&self) -> bool {
        self.queued > 0
    }

    /// Queues a submission; hands over what is queued where there is no room. False: the kernel takes
    /// nothing any more, as where its completions have overflowed and are not read meanwhile.
    ///
    /// # Safety
    /// What the entry points to must stay where it is until its completion has come.
    #[inline]
    #[must_use]
    pub(super) unsafe fn queue(&mut self, entry: &squeue::Entry) -> bool {
        let mut refused = 0;
        // SAFETY: as above.
        while unsafe { self.uring.submission().push(entry) }.is_err() {
            if refused == REFUSED_MAX {
                return false;
            }
            refused += 1;
            self.enter();
        }
        self.queued += 1;
        true
    }

    /// Enters the kernel: hands over what is queued, does deferred work.
    #[inline]
    pub(super) fn enter(&mut self) {
        const GET_EVENTS: u32 = 1;
        let submitter = self.uring.submitter();
        // SAFETY: no argument is passed; `queued` entries were pushed.
        let result = unsafe { submitter.enter::<libc::sigset_t>(self.queued, 0, GET_EVENTS, None) };
        self.entered(&result);
    }

    /// The same, and waits for arrivals.
    pub(super) fn enter_and_wait(&mut self, patience: Patience) {
        let Patience { wait_ns, mut together_ns, arrivals, .. } = patience;
        let is_doze = arrivals == Patience::ALL;
        if is_doze && self.has_queued() {
            // Sending takes the kernel some µs a request, and the time to sleep counts from now on.
            let start = Instant::now();
            self.enter();
            together_ns = together_ns.saturating_sub(start.elapsed().as_nanos() as u64);
        }
        let wait = timespec(if is_doze { together_ns.min(wait_ns) } else { wait_ns });
        let mut arguments = SubmitArgs::new().timespec(&wait);
        let mut want = 1;
        if is_doze {
            want = i32::MAX as usize; // more than there can be: only the time ends the wait
        } else if together_ns > 0 && self.waits_for_many {
            want = arrivals as usize;
            if together_ns < wait_ns {
                arguments = arguments.min_wait_usec((together_ns / 1000) as u32);
            }
        }
        let result = self.uring.submitter().submit_with_args(want, &arguments);
        self.entered(&result);
    }

    /// Whether the kernel has completions that only an entry brings: deferred work, or more than
    /// the ring had room for.
    #[inline]
    pub(super) fn has_work(&mut self) -> bool {
        let submission = self.uring.submission();
        submission.taskrun() || submission.cq_overflow()
    }

    /// A time-out or a signal (ETIME, EINTR) comes after the submission; a full completion ring
    /// (EBUSY) is emptied by the next poll, which enters again.
    #[inline]
    fn entered(&mut self, result: &io::Result<usize>) {
        self.syscalls += 1;
        self.queued = match result {
            Ok(_) => 0,
            Err(_) => self.uring.submission().len() as u32,
        };
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32)
}
