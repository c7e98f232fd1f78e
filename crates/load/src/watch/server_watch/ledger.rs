//! Readings of the service's threads, tick by tick → stops that the service did not cause.
//!
//! Two kinds of evidence, neither of them latency or silence:
//!
//! - *Late wake-up*: a sentinel with real-time priority was woken late. The hypervisor, interrupts
//!   or a task in the kernel that cannot be preempted held the CPU. It counts only if the service's
//!   threads did not run after it was due. If they did, the CPU was not kept from them: the service
//!   itself was in a long system call, or the kernel held back the sentinel alone, because its
//!   control group had used up its budget of real-time.
//! - *Run delay*: a thread of the service waited in the run queue. The kernel adds a wait when it
//!   ends, so one of 3 ms is a step of 3 ms at the tick after it. What other threads of the service
//!   ran on this CPU since the wait began may have caused it: it is taken off, and at least half of
//!   the wait has to be left. (That looks back a tick further than the wait may have begun, on the
//!   safe side.)

use sojourn_base::schedstat::Schedstat;

use crate::watch::outage::Outage;

/// Ticks that are remembered; a longer wait is judged by these.
const HISTORY: usize = 64;
/// Threads that ran for this share of the time by which a wake-up was late refute a stop. What they ran
/// before it was due is taken off; how much of it that was is known to half a tick.
const REFUTED: f64 = 0.1;

/// Time on the CPU or in its queue between two looks (64 ms) that makes a thread busy: a worker that
/// answers a hundred requests a second.
const BUSY_NS: u64 = 100_000;

/// Whether a thread did enough between two looks to be worth reading at every tick.
pub fn is_busy(earlier: Schedstat, later: Schedstat) -> bool {
    let done = later.since(earlier);
    done.ran_ns >= BUSY_NS || done.waited_ns >= BUSY_NS
}

/// What shows that a CPU was kept from the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A late wake-up of the sentinel: no task ran that the kernel can preempt.
    Stopped,
    /// A wait of the service's threads in the run queue.
    RunDelay,
}

/// A time in which the service was kept from its CPU, ns of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Its start. Of a run delay it is known to half a tick.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// What shows it.
    pub by: By,
}

impl Stop {
    /// Whether it stands although threads of the service that the ledger does not follow ran for
    /// `ran_ns` about that time.
    pub fn is_beside(&self, ran_ns: u64, over_ns: u64) -> bool {
        let foreign_ns = self.length_ns.saturating_sub(ran_ns);
        foreign_ns > over_ns && foreign_ns >= self.length_ns / 2
    }

    /// Its time, whatever shows it.
    pub fn outage(&self) -> Outage {
        Outage { start_ns: self.start_ns, length_ns: self.length_ns }
    }

    /// The part of it after `zero_ns`, counted from there; `None` if it was over by then.
    pub fn rebased(&self, zero_ns: u64) -> Option<Self> {
        let end_ns = (self.start_ns + self.length_ns).checked_sub(zero_ns).filter(|&ns| ns > 0)?;
        let start_ns = self.start_ns.saturating_sub(zero_ns);
        Some(Self { start_ns, length_ns: end_ns - start_ns, ..*self })
    }
}

/// The last ticks on one CPU. Never allocates after `new`.
#[derive(Debug)]
pub struct Ledger {
    is_prompt: bool,
    over_ns: u64,
    /// Times of the last ticks; tick t is at t % HISTORY.
    at_ns: [u64; HISTORY],
    ticks: usize,
    threads: Vec<Thread>,
    found: Vec<Stop>,
}

#[derive(Clone, Debug)]
struct Thread {
    /// The reading of the tick before; `None` if it was not read then.
    before: Option<Schedstat>,
    /// Time on the CPU at the last ticks.
    ran_ns: [u64; HISTORY],
}

impl Ledger {
    /// Of `threads` threads from `now_ns` on. `is_prompt`: no task preempts the sentinel, so
    /// that late wake-ups mean something. Stops of up to `over_ns` are not kept.
    pub fn new(threads: usize, is_prompt: bool, over_ns: u64, now_ns: u64) -> Self {
        Self {
            is_prompt,
            over_ns,
            at_ns: [now_ns; HISTORY],
            ticks: 0,
            threads: vec![Thread { before: None, ran_ns: [0; HISTORY] }; threads],
            found: Vec::with_capacity(threads + 1),
        }
    }

    /// A wake-up that was due at `due_ns` and came at `now_ns`, with what was read of each thread
    /// (`None`: not read). Answers the stops that came to light.
    pub fn tick(&mut self, due_ns: u64, now_ns: u64, readings: &[Option<Schedstat>]) -> &[Stop] {
        self.found.clear();
        self.ticks += 1;
        let (now, before) = (self.ticks % HISTORY, (self.ticks - 1) % HISTORY);
        let last_ns = self.at_ns[before];
        self.at_ns[now] = now_ns;
        for (thread, reading) in self.threads.iter_mut().zip(readings) {
            let so_far = thread.ran_ns[before];
            let is_new = thread.before.is_none();
            match reading {
                // What it ran while it was not read is no evidence: it starts from here.
                Some(reading) if is_new => thread.ran_ns.fill(reading.ran_ns),
                Some(reading) => thread.ran_ns[now] = reading.ran_ns,
                None => thread.ran_ns[now] = so_far,
            }
        }
        if self.is_prompt {
            self.late(due_ns, now_ns, before, now);
        }
        for (index, reading) in readings.iter().enumerate() {
            if let (Some(old), Some(new)) = (self.threads[index].before, reading) {
                let waited_ns = new.waited_ns.saturating_sub(old.waited_ns);
                self.waited(index, waited_ns, (last_ns, now_ns), now);
            }
            self.threads[index].before = *reading;
        }
        &self.found
    }

    fn late(&mut self, due_ns: u64, now_ns: u64, before: usize, now: usize) {
        let late_ns = now_ns.saturating_sub(due_ns);
        let ran_ns: u64 = self.threads.iter().map(|t| t.ran_ns[now] - t.ran_ns[before]).sum();
        let early_ns = due_ns.saturating_sub(self.at_ns[before]);
        let ran_late_ns = ran_ns.saturating_sub(early_ns);
        if late_ns > self.over_ns && (ran_late_ns as f64) < REFUTED * late_ns as f64 {
            self.found.push(Stop { start_ns: due_ns, length_ns: late_ns, by: By::Stopped });
        }
    }

    fn waited(&mut self, index: usize, waited_ns: u64, (last_ns, now_ns): (u64, u64), now: usize) {
        if waited_ns <= self.over_ns {
            return;
        }
        let since = self.at_or_before(last_ns.saturating_sub(waited_ns));
        let others = self.threads.iter().enumerate().filter(|(other, _)| *other != index);
        let own_ns: u64 = others.map(|(_, t)| t.ran_ns[now] - t.ran_ns[since]).sum();
        let end_ns = now_ns - (now_ns - last_ns) / 2; // somewhere between two ticks
        let start_ns = end_ns.saturating_sub(waited_ns);
        let stop = Stop { start_ns, length_ns: waited_ns, by: By::RunDelay };
        if stop.is_beside(own_ns, self.over_ns) {
            self.found.push(stop);
        }
    }

    /// The slot of the last remembered tick that is not after `ns`, or of the first one.
    fn at_or_before(&self, ns: u64) -> usize {
        let oldest = self.ticks.saturating_sub(HISTORY - 1);
        let tick = (oldest..self.ticks).rev().find(|tick| self.at_ns[tick % HISTORY] <= ns);
        tick.unwrap_or(oldest) % HISTORY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const OVER: u64 = 300_000;

    /// A CPU on which ticks come each millisecond; `ran` and `waited` are what threads gained.
    struct Cpu(Ledger, u64, Vec<Schedstat>);

    impl Cpu {
        fn new(threads: usize, is_prompt: bool) -> Self {
            let mut cpu = Self(
                Ledger::new(threads, is_prompt, OVER, 0),
                0,
                vec![Schedstat::default(); threads],
            );
            cpu.tick(0, &[]);
            cpu
        }

        /// The next tick comes `late_ns` late; threads gained (ran, waited).
        fn tick(&mut self, late_ns: u64, gained: &[(u64, u64)]) -> Vec<Stop> {
            for (reading, (ran_ns, waited_ns)) in self.2.iter_mut().zip(gained) {
                reading.ran_ns += ran_ns;
                reading.waited_ns += waited_ns;
            }
            let due_ns = self.1 + MS;
            self.1 = due_ns + late_ns;
            let readings: Vec<_> = self.2.iter().copied().map(Some).collect();
            self.0.tick(due_ns, self.1, &readings).to_vec()
        }
    }

    #[test]
    fn a_late_wake_up_is_a_stop_unless_the_service_ran_meanwhile() {
        let mut cpu = Cpu::new(1, true);
        assert_eq!(cpu.tick(OVER, &[(0, 0)]), [], "not over the limit");
        let stops = cpu.tick(3 * MS, &[(MS, 0)]);
        assert_eq!(stops.len(), 1);
        assert_eq!((stops[0].length_ns, stops[0].by), (3 * MS, By::Stopped));
        assert_eq!(cpu.tick(3 * MS, &[(3 * MS, 0)]), [], "a system call of its own of 3 ms");
    }

    #[test]
    fn a_sentinel_that_alone_was_held_back_shows_no_stop() {
        let mut cpu = Cpu::new(2, true);
        assert_eq!(cpu.tick(130 * MS, &[(30 * MS, 0), (40 * MS, 0)]), [], "the service ran");
        assert_eq!(cpu.tick(3 * MS, &[(MS, 0), (3 * MS / 10, 0)]), [], "a tenth of it suffices");
        let stops = cpu.tick(3 * MS, &[(MS, 0), (3 * MS / 10 - 1, 0)]);
        assert_eq!(stops.len(), 1, "what it ran before the wake-up was due refutes nothing");
    }

    #[test]
    fn without_priority_a_late_wake_up_says_nothing() {
        assert_eq!(Cpu::new(1, false).tick(3 * MS, &[(0, 0)]), []);
    }

    #[test]
    fn a_wait_is_a_stop_as_long_as_it_was_and_before_the_tick_that_tells() {
        let mut cpu = Cpu::new(1, true);
        for _ in 0..5 {
            assert_eq!(cpu.tick(0, &[(0, 0)]), []);
        }
        let stops = cpu.tick(0, &[(0, 3 * MS)]);
        let wanted =
            Stop { start_ns: 7 * MS - MS / 2 - 3 * MS, length_ns: 3 * MS, by: By::RunDelay };
        assert_eq!(stops, [wanted], "seven ticks from 0, the wait ended in the last");
        assert_eq!(cpu.tick(0, &[(MS, OVER)]), [], "not over the limit");
    }

    #[test]
    fn a_wait_for_another_thread_of_the_service_is_its_own_affair() {
        let mut cpu = Cpu::new(2, true);
        for _ in 0..3 {
            assert_eq!(cpu.tick(0, &[(0, 0), (MS, 0)]), [], "thread 1 runs, thread 0 waits");
        }
        assert_eq!(cpu.tick(0, &[(0, 3 * MS), (0, 0)]), []);
        for _ in 0..5 {
            cpu.tick(0, &[(0, 0), (0, 0)]);
        }
        let stops = cpu.tick(0, &[(0, 3 * MS), (MS / 10, 0)]);
        assert_eq!(stops.len(), 1, "0.1 ms of the other does not explain 3 ms: {stops:?}");
    }

    #[test]
    fn threads_that_are_not_followed_explain_a_stop_too() {
        let stop = Stop { start_ns: 0, length_ns: MS, by: By::RunDelay };
        assert!(stop.is_beside(MS / 2, OVER));
        assert!(!stop.is_beside(MS / 2 + 1, OVER), "more than half of it");
        let short = Stop { length_ns: OVER + 10, ..stop };
        assert!(short.is_beside(9, OVER) && !short.is_beside(10, OVER));
    }

    #[test]
    fn what_is_first_read_again_after_a_while_has_no_wait() {
        let mut ledger = Ledger::new(1, true, OVER, 0);
        let busy = |waited_ns| [Some(Schedstat { ran_ns: 9 * MS, waited_ns, turns: 0 })];
        assert_eq!(ledger.tick(MS, MS, &busy(0)), []);
        assert_eq!(ledger.tick(2 * MS, 2 * MS, &[None]), []);
        assert_eq!(ledger.tick(3 * MS, 3 * MS, &busy(50 * MS)), [], "it waited at unknown times");
        assert_eq!(ledger.tick(4 * MS, 4 * MS, &busy(52 * MS)).len(), 1);
    }

    #[test]
    fn a_stop_across_the_start_is_cut_and_one_before_it_left_out() {
        let stop = |start_ns, length_ns| Stop { start_ns, length_ns, by: By::Stopped };
        assert_eq!(stop(90, 20).rebased(100), Some(stop(0, 10)));
        assert_eq!(stop(200, 7).rebased(100), Some(stop(100, 7)));
        assert_eq!(stop(10, 90).rebased(100), None);
    }
}
