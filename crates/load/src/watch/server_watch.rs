//! What kept the server's CPUs from the service: a log that knows nothing of latency (METHOD M29,
//! the undisturbed reading).
//!
//! On each CPU of the server one sentinel asks to be woken every 2 ms, with real-time
//! priority where rights allow. Each time it reads what the kernel counts of the service's threads
//! there: time on the CPU, and time in the run queue (`/proc/PID/task/TID/schedstat`). [`Ledger`]
//! makes stops of both. After the run, windows of the misses that overlap a stop or the recovery
//! from it, by the rule of [`crate::watch::outage`], are marked as disturbed.
//!
//! It sleeps, and holds no lock. What it costs the server is its CPU time, stored in the result: a
//! wake-up and one short read per busy thread, each time. So threads that do nothing are
//! read seldom, and of many busy ones only the first [`FOLLOWED_MAX`] on each CPU are followed.
//! Steal needs no reading of its own: where the hypervisor stops a CPU its sentinel wakes late; the
//! sum over the run is in the checks.
//!
//! The service's threads are those of a process and its descendants when the run starts.

mod ledger;
mod threads;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic, sleep_until, thread_cpu_ns};
use sojourn_base::schedstat::Schedstat;
use sojourn_base::threads::start;

pub use ledger::{By, Ledger, Stop};

use crate::watch::cpu;
use crate::watch::outage::{Outage, union};

pub use threads::Task;
pub(crate) use threads::{GAP_MIN_NS, of_process, ticks};

/// Between two wake-ups. Each takes 10 to 20 µs of the server's CPU on a virtual machine (1.8 % of it
/// with one a millisecond, measured), so they come no more often than windows need, which are 2 ms
/// long or longer. Run delay is counted by the kernel and misses nothing in between.
pub const TICK_NS: u64 = 2_000_000;
/// What the log lacks where only root may have that priority.
pub const NO_PRIORITY: &str = "late wake-ups: no right to real-time priority (CAP_SYS_NICE)";
/// Shorter stops are not kept: interrupts and this sentinel itself are among them.
pub const OVER_NS: u64 = 300_000;
/// Busy threads that one sentinel reads each time.
pub const FOLLOWED_MAX: usize = 16;
/// Ticks between two looks at all threads.
const LOOK_TICKS: u64 = 32;
/// Above the service, whatever class a shield gives it, and below what the kernel needs.
const PRIORITY: i32 = 60;
/// Stops listed; more are counted only.
const LISTED_MAX: usize = 65_536;

/// What the sentinels over a server's CPUs saw.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Stops on all CPUs, in no order; ns after the start of the warm-up.
    pub stops: Vec<Stop>,
    /// The same of each CPU alone, ascending; those that overlap are one.
    pub of_each: Vec<Vec<Outage>>,
    /// Stops beyond what the log holds.
    pub unlisted: u64,
    /// Threads of the service on these CPUs.
    pub threads: usize,
    /// CPU time of all sentinels over the time they watched, CPUs together: the share of one CPU.
    pub cpu_share: f64,
    /// What could not be watched, and why.
    pub lacks: Vec<String>,
}

/// Sentinels on duty over the CPUs of a server.
#[derive(Debug)]
pub struct ServerWatch {
    stop: Arc<AtomicBool>,
    handles: Vec<JoinHandle<Part>>,
    threads: usize,
    lacks: Vec<String>,
}

/// What one of them brings home; times of the monotonic clock.
#[derive(Debug, Default)]
struct Part {
    stops: Vec<Stop>,
    unlisted: u64,
    cpu_ns: u64,
    watched_ns: u64,
    lacks: Vec<String>,
}

impl ServerWatch {
    /// One sentinel for each of `cpus`, over the threads of process `pid` and its descendants.
    pub fn start(cpus: &[usize], pid: u32) -> Result<Self, Fault> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = threads::of_process(pid, cpus);
        let threads = tasks.len();
        let mut lacks = Vec::new();
        if threads == 0 {
            lacks.push(format!("run delay: no thread of process {pid} can be read"));
        }
        let mut started = Self { handles: Vec::new(), stop, threads, lacks };
        for &cpu in cpus {
            let own = tasks.extract_if(.., |task| task.cpu == cpu).collect();
            let stop = Arc::clone(&started.stop);
            started.handles.push(start(move || watch(cpu, own, &stop))?);
        }
        Ok(started)
    }

    /// Ends them. Stops are given in ns after `zero_ns` of the monotonic clock; earlier ones are
    /// left out.
    pub fn stop(mut self, zero_ns: u64) -> Seen {
        self.stop.store(true, Relaxed);
        let mut seen = Seen { threads: self.threads, ..Seen::default() };
        seen.lacks.append(&mut self.lacks);
        for part in std::mem::take(&mut self.handles).into_iter().filter_map(|h| h.join().ok()) {
            let stops: Vec<Stop> =
                part.stops.iter().filter_map(|stop| stop.rebased(zero_ns)).collect();
            seen.of_each.push(union(stops.iter().map(Stop::outage).collect()));
            seen.stops.extend(stops);
            seen.unlisted += part.unlisted;
            seen.cpu_share += part.cpu_ns as f64 / part.watched_ns.max(1) as f64;
            seen.lacks.extend(part.lacks);
        }
        seen.lacks.sort_unstable();
        seen.lacks.dedup();
        seen
    }
}

impl Drop for ServerWatch {
    /// No one asks any more: they end at their next tick.
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

impl Part {
    fn keep<'a>(&mut self, stops: impl Iterator<Item = &'a Stop>) {
        for stop in stops {
            if self.stops.len() < LISTED_MAX {
                self.stops.push(*stop);
            } else {
                self.unlisted += 1;
            }
        }
    }
}

fn watch(cpu: usize, mut tasks: Vec<Task>, stop: &AtomicBool) -> Part {
    let mut part = Part::default();
    if cpu::pin(cpu).is_err() {
        part.lacks.push("late wake-ups: a thread cannot be pinned to the server's CPUs".into());
    } else if !cpu::become_realtime(PRIORITY) {
        // Its own turn may come late then, because the service runs: that is no stop.
        part.lacks.push(NO_PRIORITY.into());
    }
    cpu::wake_exactly();
    let start_ns = Monotonic.now_ns();
    let is_prompt = part.lacks.is_empty();
    let mut ledger = Ledger::new(tasks.len(), is_prompt, OVER_NS, start_ns);
    let mut readings: Vec<Option<Schedstat>> = vec![None; tasks.len()];
    part.stops.reserve(LISTED_MAX);
    let mut due_ns = start_ns + TICK_NS;
    for turn in 0_u64.. {
        if stop.load(Relaxed) {
            break;
        }
        sleep_until(due_ns);
        let now_ns = Monotonic.now_ns();
        threads::read(&mut tasks, &mut readings, turn.is_multiple_of(LOOK_TICKS));
        let result = ledger.tick(due_ns, now_ns, &readings);
        if !result.is_empty() {
            let others_ns = threads::unfollowed_ran_ns(&tasks);
            part.keep(result.iter().filter(|stop| stop.is_beside(others_ns, OVER_NS)));
        }
        due_ns = now_ns + TICK_NS;
    }
    part.watched_ns = Monotonic.now_ns() - start_ns;
    part.cpu_ns = thread_cpu_ns();
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_watches_a_process_without_any_rights_and_says_what_it_lacks() {
        let cpu = (0..1024).find(|&cpu| cpu::may_run_on(cpu)).unwrap();
        let watch = ServerWatch::start(&[cpu], std::process::id()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let seen = watch.stop(0);
        assert!(seen.threads >= 1, "this thread and those of other tests");
        assert!(seen.cpu_share > 0.0);
        assert!(seen.lacks.iter().all(|lack| lack.starts_with("late wake-ups")));
    }

    #[test]
    fn a_process_that_is_gone_leaves_run_delay_unwatched() {
        let cpu = (0..1024).find(|&cpu| cpu::may_run_on(cpu)).unwrap();
        let seen = ServerWatch::start(&[cpu], u32::MAX).unwrap().stop(0);
        assert_eq!(seen.threads, 0);
        assert!(seen.lacks.iter().any(|lack| lack.starts_with("run delay")));
    }
}
