//! Steps of the tracer that hold up a CPU, one at a time and with a rest after each.
//!
//! To attach or detach a hook changes code that every CPU runs. It takes 0.1 to 0.3 ms in the kernel, in which
//! nobody else runs on this CPU. All hooks of a window in one go hold it for some milliseconds. Whoever needs it,
//! service or client, waits for as long, and so do the requests behind. So hooks come and go one by one: between
//! two of them this thread sleeps until whoever was held up has caught up. And it goes last, all the time: the
//! kernel then counts its CPU as free for a client that wakes, which else may move to the server's.

use std::time::Duration;

use libbpf_rs::Link;
use sojourn_base::clock::{Clock as _, Monotonic, thread_cpu_ns};

use crate::attach::last::Last;
use crate::reconstruct::window::stalls::Stalls;

/// Rest after a step: so many times what it took. At half load a queue needs as long as it was held up
/// to be empty again.
const REST_TIMES: u32 = 2;
const REST: (Duration, Duration) = (Duration::from_micros(300), Duration::from_millis(5));

/// Who goes last may wait for ever where the CPUs are full: one that has waited for so long goes last no more in
/// this window.
const LATE: Duration = Duration::from_millis(50);

/// The steps that were taken so far.
#[derive(Default)]
pub struct Steps {
    /// What they took.
    pub stalls: Stalls,
    last: Option<Last>,
    patience: Patience,
}

impl Steps {
    /// Of a thread that lets all others go first, unless it is late because of that.
    pub fn last() -> Self {
        Self { last: Last::new(), ..Self::default() }
    }

    /// The same from here on, without what was taken before.
    pub fn again(self) -> Self {
        Self { stalls: Stalls::default(), ..self }
    }

    /// A window begins: this thread goes last again, if it may by now.
    pub fn begin_window(&mut self) {
        if self.patience.goes_last() && self.last.is_none() {
            self.last = Last::new();
        }
    }

    /// Says when this thread was to run, which is now: it may be late.
    pub fn was_to_wake_at(&mut self, ns: u64) {
        let late = Duration::from_nanos(Monotonic.now_ns().saturating_sub(ns));
        if late > LATE && self.last.take().is_some() {
            self.patience.was_late();
        }
    }

    /// Takes a step, and rests after it.
    pub fn take<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let (before_ns, from_ns) = (thread_cpu_ns(), Monotonic.now_ns());
        let answer = step();
        let took_ns = thread_cpu_ns().saturating_sub(before_ns);
        self.stalls.add(took_ns);
        let took = Duration::from_nanos(took_ns);
        let rest = (REST_TIMES * took).clamp(REST.0, REST.1);
        std::thread::sleep(rest);
        self.was_to_wake_at(from_ns + (took + rest).as_nanos() as u64);
        answer
    }

    /// Detaches what hangs on these, the last one first.
    pub fn detach(&mut self, mut links: Vec<Link>) {
        while let Some(link) = links.pop() {
            self.take(|| drop(link));
        }
    }
}

/// Windows in which a thread goes last, and in which not: after it was late, not in 1, 2, 4 ... of them. One stop of
/// the machine makes every thread late, and full CPUs one that goes last, each time.
#[derive(Debug, Default)]
struct Patience {
    /// Windows from now on in which it does not go last.
    left: u32,
    /// So many the last time.
    pause: u32,
}

impl Patience {
    /// A window begins: does it go last?
    fn goes_last(&mut self) -> bool {
        let goes = self.left == 0;
        self.left = self.left.saturating_sub(1);
        goes
    }

    fn was_late(&mut self) {
        self.pause = self.pause.saturating_mul(2).max(1);
        self.left = self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_late_again_and_again_goes_last_ever_more_seldom() {
        let mut patience = Patience::default();
        assert!(patience.goes_last() && patience.goes_last());
        let mut waits = Vec::new();
        for _ in 0..4 {
            patience.was_late();
            waits.push((0..1_000).take_while(|_| !patience.goes_last()).count());
        }
        assert_eq!(waits, [1, 2, 4, 8], "one stop costs one window");
        assert!(patience.goes_last(), "and it stays so until the next one");
    }
}
