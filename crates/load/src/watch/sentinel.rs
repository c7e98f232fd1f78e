//! A thread that only sleeps and looks at the clock: it wakes late when the machine stops.
//!
//! A generator that spins sees its own outages, as gaps between its polls, and needs none of this:
//! a second thread on its CPU would only disturb it. A generator that sleeps cannot distinguish "nothing
//! happened" from "I did not run". For each CPU in use one sentinel asks to be woken every
//! millisecond; if it is woken later than the bound, its CPU did not run it, nor anybody who wanted
//! to. What the generator did meanwhile refutes it (see [`crate::watch::outage`]).
//! A synthetic service, which is part of the instrument, is watched in the same way. Being of another
//! session it is scheduled apart from its sentinel, and waits where that runs: so the kernel's own
//! account of its threads' waits for a CPU is read at every tick too, where it is known which they are.
//! Source: G. Tene, jHiccup; `/proc/PID/task/TID/schedstat` (proc(5)).
//!
//! Its cost is its own CPU time, stored in [`Watch::cpu_ns`]: 1000 wake-ups a second of some 10 µs
//! (measured beside other work: 44 ms in 4652 wake-ups), under 1 % of a CPU.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use sojourn_base::clock::{Clock, Monotonic, sleep_until, thread_cpu_ns};
use sojourn_base::{Fault, cpus, threads};

use crate::watch::cpu;
use crate::watch::outage::Outage;
use crate::watch::outage::Watch;
use crate::watch::server_watch::{GAP_MIN_NS, Task, of_process};

/// Between two wake-ups.
const TICK_NS: u64 = 1_000_000;
/// Outages listed; more are counted only.
const LISTED_MAX: usize = 65_536;

/// Sentinels on duty, a thread on each CPU; dropped, they end.
#[derive(Debug)]
pub struct Sentinels {
    stop: Arc<AtomicBool>,
    handles: Vec<JoinHandle<Watch>>,
    logs: Vec<SentinelLog>,
}

/// What one sentinel has reported until now, for those who cannot wait for its end.
#[derive(Clone, Debug)]
pub struct SentinelLog {
    /// The threads that it watches over, by index; none: a synthetic service.
    pub threads: Vec<usize>,
    log: OutageLog,
    read: usize,
}

/// Outages, times of the monotonic clock.
type OutageLog = Arc<Mutex<Vec<Outage>>>;

impl SentinelLog {
    /// Of a sentinel that is played.
    #[cfg(test)]
    pub(crate) fn fake(threads: &[usize]) -> Self {
        Self { threads: threads.to_vec(), log: OutageLog::default(), read: 0 }
    }

    /// Reports all of `outages` that it has not reported yet.
    #[cfg(test)]
    pub(crate) fn tell<'a>(&mut self, outages: impl Iterator<Item = &'a Outage>) {
        let mut log = self.log.lock().unwrap();
        let known = log.len();
        log.extend(outages.skip(known));
    }

    /// Outages since the last call that ended after `zero_ns`, in ns after it.
    pub fn news(&mut self, zero_ns: u64) -> Vec<Outage> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let news = log[self.read..].iter().filter_map(|outage| rebased_one(*outage, zero_ns));
        let news = news.collect();
        self.read = log.len();
        news
    }
}

impl Sentinels {
    /// One for each of `cpus`, thread t being on entry t % len; with no CPUs one that is not pinned
    /// and sees only stops of the whole process or machine.
    pub fn start(cpus: &[usize], threads: usize, over_ns: u64) -> Result<Self, Fault> {
        let mut seats: Vec<(Option<usize>, Vec<usize>)> = cpus
            .iter()
            .enumerate()
            .map(|(at, &cpu)| (Some(cpu), (at..threads).step_by(cpus.len()).collect()))
            .filter(|(_, watched): &(_, Vec<usize>)| !watched.is_empty())
            .collect();
        if seats.is_empty() {
            seats.push((None, (0..threads).collect()));
        }
        Self::post(seats, over_ns, 0)
    }

    /// One for each of the CPUs of a synthetic service, whose process is `pid` (0: not known).
    pub fn start_over_service(cpus: &[usize], over_ns: u64, pid: u32) -> Result<Self, Fault> {
        Self::post(cpus.iter().map(|&cpu| (Some(cpu), Vec::new())).collect(), over_ns, pid)
    }

    fn post(
        seats: Vec<(Option<usize>, Vec<usize>)>,
        over_ns: u64,
        pid: u32,
    ) -> Result<Self, Fault> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut posted = Self { stop, handles: Vec::new(), logs: Vec::with_capacity(seats.len()) };
        for (cpu, watched) in seats {
            let (stop, log) = (Arc::clone(&posted.stop), OutageLog::default());
            let threads = watched.clone();
            posted.logs.push(SentinelLog { threads, log: Arc::clone(&log), read: 0 });
            let run = move || watch(cpu, watched, over_ns, pid, &stop, &log);
            posted.handles.push(threads::start(run)?);
        }
        Ok(posted)
    }

    /// What each of them reports while the run goes on.
    pub fn logs(&self) -> &[SentinelLog] {
        &self.logs
    }

    /// Ends them. Outages are given in ns after `zero_ns` of the monotonic clock; earlier ones are
    /// left out.
    pub fn stop(mut self, zero_ns: u64) -> Vec<Watch> {
        self.stop.store(true, Relaxed);
        let watches =
            std::mem::take(&mut self.handles).into_iter().filter_map(|handle| handle.join().ok());
        watches.map(|watch| rebased(watch, zero_ns)).collect()
    }
}

impl Drop for Sentinels {
    /// No one asks any more: they end at their next tick.
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

fn rebased(mut watch: Watch, zero_ns: u64) -> Watch {
    let outages = std::mem::take(&mut watch.outages).into_iter();
    watch.outages = outages.filter_map(|outage| rebased_one(outage, zero_ns)).collect();
    watch
}

/// `outage` in ns after `zero_ns`, cut to what is after it; `None`: nothing is.
fn rebased_one(outage: Outage, zero_ns: u64) -> Option<Outage> {
    let end_ns = outage.end_ns().checked_sub(zero_ns).filter(|&ns| ns > 0)?;
    let start_ns = outage.start_ns.saturating_sub(zero_ns);
    Some(Outage { start_ns, length_ns: end_ns - start_ns })
}

fn watch(
    cpu: Option<usize>,
    threads: Vec<usize>,
    over_ns: u64,
    pid: u32,
    stop: &AtomicBool,
    log: &OutageLog,
) -> Watch {
    if let Some(cpu) = cpu {
        // A sentinel that cannot be pinned still sees the whole machine stop.
        let _ = cpu::pin(cpu);
    }
    cpu::wake_exactly();
    if !threads.is_empty() {
        cpus::take_short_turns(0); // as those that it watches over
    }
    let mut watch = Watch { cpu, threads, ..Watch::default() };
    watch.outages.reserve(LISTED_MAX);
    let mut waits = Waits::of(pid, cpu);
    let mut due_ns = Monotonic.now_ns() + TICK_NS;
    while !stop.load(Relaxed) {
        sleep_until(due_ns);
        let now_ns = Monotonic.now_ns();
        let listed = watch.outages.len();
        note(&mut watch, due_ns, now_ns, over_ns);
        waits.note(&mut watch, now_ns);
        if watch.outages.len() > listed {
            log.lock().unwrap_or_else(PoisonError::into_inner).extend(&watch.outages[listed..]);
        }
        due_ns = now_ns + TICK_NS;
    }
    watch.cpu_ns = thread_cpu_ns();
    watch
}

/// Notes an outage if `now_ns` is later than `due_ns` by more than the bound.
fn note(watch: &mut Watch, due_ns: u64, now_ns: u64, over_ns: u64) {
    let length_ns = now_ns.saturating_sub(due_ns);
    if length_ns <= over_ns {
        return;
    }
    list(watch, Outage { start_ns: due_ns, length_ns });
}

fn list(watch: &mut Watch, outage: Outage) {
    if watch.outages.len() == LISTED_MAX {
        watch.unlisted += 1;
    } else {
        watch.outages.push(outage);
    }
}

/// What the threads of a service have waited for a CPU, by the kernel's account.
struct Waits {
    tasks: Vec<Task>,
    waited_ns: Vec<Option<u64>>,
    read_at_ns: u64,
}

impl Waits {
    /// Of those of process `pid` that may run on `cpu`; of none where either is not known.
    fn of(pid: u32, cpu: Option<usize>) -> Self {
        let tasks = cpu.filter(|_| pid > 0).map(|cpu| of_process(pid, &[cpu])).unwrap_or_default();
        let waited_ns = tasks.iter().map(Task::waited_ns).collect();
        Self { tasks, waited_ns, read_at_ns: Monotonic.now_ns() }
    }

    /// Notes what they waited since the last tick.
    fn note(&mut self, watch: &mut Watch, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.read_at_ns);
        for (task, old_ns) in self.tasks.iter().zip(&mut self.waited_ns) {
            let new_ns = task.waited_ns();
            let waited_ns = old_ns.zip(new_ns).map_or(0, |(old, new)| new.saturating_sub(old));
            *old_ns = new_ns;
            if let Some(outage) = of_wait(waited_ns, since_ns, now_ns) {
                list(watch, outage);
            }
        }
        self.read_at_ns = now_ns;
    }
}

/// The outage that a wait counted at `now_ns` is; `None`: too short. A wait is counted when it ends, which
/// may be at any moment of the `since_ns` since the last look: half of that time is added to it.
fn of_wait(waited_ns: u64, since_ns: u64, now_ns: u64) -> Option<Outage> {
    let length_ns = waited_ns + since_ns / 2;
    let outage = Outage { start_ns: now_ns.saturating_sub(length_ns), length_ns };
    (waited_ns >= GAP_MIN_NS).then_some(outage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_wake_up_is_an_outage_from_when_it_was_due() {
        let mut watch = Watch::default();
        note(&mut watch, 10_000_000, 10_900_000, 1_000_000);
        note(&mut watch, 20_000_000, 23_000_000, 1_000_000);
        assert_eq!(watch.outages, [Outage { start_ns: 20_000_000, length_ns: 3_000_000 }]);
    }

    #[test]
    fn outages_before_the_start_are_left_out_and_one_across_it_is_cut() {
        let outages = [(10, 5), (90, 20), (200, 7)];
        let outages = outages.map(|(start_ns, length_ns)| Outage { start_ns, length_ns }).to_vec();
        let watch = rebased(Watch { outages, ..Watch::default() }, 100);
        let left = watch.outages.iter().map(|o| (o.start_ns, o.length_ns));
        assert_eq!(left.collect::<Vec<_>>(), [(0, 10), (100, 7)]);
    }

    #[test]
    fn what_the_threads_of_a_service_wait_is_an_outage_and_short_waits_are_none() {
        let mut waits = Waits::of(std::process::id(), None);
        assert!(waits.tasks.is_empty(), "on no known CPU");
        waits = Waits::of(std::process::id(), Some(0));
        let (mut watch, now_ns) = (Watch::default(), waits.read_at_ns + TICK_NS);
        assert!(!waits.tasks.is_empty(), "this test's threads may run on CPU 0");
        waits.waited_ns = waits.tasks.iter().map(Task::waited_ns).collect();
        waits.note(&mut watch, now_ns);
        assert!(watch.outages.iter().all(|o| o.length_ns >= GAP_MIN_NS), "{:?}", watch.outages);
        assert_eq!(waits.read_at_ns, now_ns);

        let (none, short, long) = (0, GAP_MIN_NS - 1, 3_000_000);
        assert_eq!(of_wait(none, TICK_NS, 10_000_000), None);
        assert_eq!(of_wait(short, TICK_NS, 10_000_000), None);
        let result = of_wait(long, TICK_NS, 10_000_000);
        assert_eq!(result, Some(Outage { start_ns: 6_500_000, length_ns: 3_500_000 }));
    }

    #[test]
    fn there_is_one_for_each_cpu_in_use_and_each_knows_its_threads() {
        let watches = Sentinels::start(&[], 3, 1_000_000).unwrap().stop(0);
        assert_eq!((watches.len(), watches[0].threads.len()), (1, 3));
        let watches = Sentinels::start(&[0, 0], 3, 1_000_000).unwrap().stop(0);
        assert_eq!(watches[0].threads, [0, 2]);
        assert_eq!(watches[1].threads, [1]);
    }
}
