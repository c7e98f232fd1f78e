//! Time as everybody here counts it: nanoseconds of `CLOCK_MONOTONIC`.

/// A source of time. The hot loops take one, so that tests can hand them a fake.
pub trait Clock {
    /// Nanoseconds since an arbitrary start; never goes backwards.
    fn now_ns(&self) -> u64;
}

/// The kernel's monotonic clock, read through the vDSO: no system call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> u64 {
        read_ns(libc::CLOCK_MONOTONIC)
    }
}

/// CPU time this thread has used, ns.
pub fn thread_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time this process has used, all threads, user and system, ns.
pub fn process_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Nanoseconds since the Unix epoch, for time stamps that people read.
pub fn unix_ns() -> u64 {
    read_ns(libc::CLOCK_REALTIME)
}

/// Sleeps until the monotonic clock reaches `due_ns`; a signal wakes it earlier.
pub fn sleep_until(due_ns: u64) {
    let at = libc::timespec {
        tv_sec: (due_ns / 1_000_000_000) as _,
        tv_nsec: (due_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `at` lives through the call, and nothing is written: the time is absolute.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const at,
            std::ptr::null_mut(),
        )
    };
}

#[inline]
fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a valid place for one timespec; the clocks used exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// Time that moves only when told to. For tests.
#[derive(Debug, Default)]
pub struct FakeClock(std::cell::Cell<u64>);

impl FakeClock {
    /// Moves the time that `now_ns` answers on by `ns`.
    pub fn advance_ns(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
}

impl Clock for FakeClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_never_goes_backwards() {
        let mut last = 0;
        for _ in 0..10_000 {
            let now = Monotonic.now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn fake_moves_only_when_told() {
        let clock = FakeClock::default();
        assert_eq!(clock.now_ns(), 0);
        clock.advance_ns(7);
        assert_eq!(clock.now_ns(), 7);
    }
}
