//! Waiting for events of an epoll set, to the nanosecond where the kernel can.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::{EVENTS, Epoll};
use crate::transports::Patience;

impl Epoll {
    /// epoll cannot wait for several: when it is worth it, the time is slept through instead.
    pub(super) fn wait_with(&mut self, patience: Patience) -> usize {
        if patience.arrivals != Patience::ALL {
            return self.wait(patience.wait_ns, patience.most);
        }
        self.syscalls += 1;
        std::thread::sleep(Duration::from_nanos(patience.together_ns.min(patience.wait_ns)));
        self.wait(0, EVENTS)
    }

    /// Number of events that are ready after at most `wait_ns`.
    fn wait(&mut self, wait_ns: u64, most: usize) -> usize {
        self.syscalls += 1;
        if wait_ns == 0 {
            let (set, events) = (self.set.as_raw_fd(), self.events.as_mut_ptr());
            // SAFETY: `events` has room for EVENTS entries.
            let ready = unsafe { libc::epoll_wait(set, events, most.min(EVENTS) as i32, 0) };
            return ready.max(0) as usize; // interrupted by a signal: nothing is ready
        }
        let wait = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as i64,
            tv_nsec: (wait_ns % 1_000_000_000) as i64,
        };
        if self.has_pwait2 {
            match self.pwait2(&wait) {
                Ok(ready) => return ready,
                // A sandbox that does not know the call refuses it with one or the other.
                Err(libc::ENOSYS | libc::EPERM) => self.has_pwait2 = false,
                Err(_) => return 0,
            }
        }
        self.wait_by_ppoll(&wait)
    }

    /// Number of events, or the error's number.
    fn pwait2(&mut self, wait: &libc::timespec) -> Result<usize, i32> {
        let (epoll, events) = (self.set.as_raw_fd(), self.events.as_mut_ptr());
        // SAFETY: `events` has room for EVENTS entries; `wait` outlives the call; no signal mask.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                epoll,
                events,
                EVENTS as i32,
                std::ptr::from_ref(wait),
                std::ptr::null::<libc::sigset_t>(),
                8_usize,
            )
        };
        usize::try_from(ready).map_err(|_| io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// Before Linux 5.11 `epoll_wait` counts in ms. An epoll set can itself be waited for, and `ppoll`
    /// does that to the nanosecond, for one system call more.
    #[cold]
    fn wait_by_ppoll(&mut self, wait: &libc::timespec) -> usize {
        let mut set = libc::pollfd { fd: self.set.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        self.syscalls += 1;
        // SAFETY: one entry, which outlives the call, as `wait` does; no signal mask is given.
        unsafe { libc::ppoll(&raw mut set, 1, std::ptr::from_ref(wait), std::ptr::null()) };
        self.wait(0, EVENTS)
    }
}
