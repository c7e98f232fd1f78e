//! The threads of a service and what `/proc` counts of them.

use std::collections::HashMap;
use std::fs::{self, File};

use sojourn_base::cpus::CpuSet;
use sojourn_base::schedstat::Schedstat;

use super::FOLLOWED_MAX;
use super::ledger::is_busy;

/// Gaps and waits for a CPU that are shorter are not asked about: they say nothing.
pub(crate) const GAP_MIN_NS: u64 = 200_000;

/// One thread that is watched.
#[derive(Debug)]
pub struct Task {
    /// The CPU of the server to whose sentinel it belongs: the first that it may run on.
    pub cpu: usize,
    schedstat: File,
    /// As of the last look at all threads.
    seen: Option<Schedstat>,
    is_followed: bool,
}

impl Task {
    /// What it has waited for a CPU so far, ns; `None`: it has ended.
    pub fn waited_ns(&self) -> Option<u64> {
        Schedstat::read(&self.schedstat).map(|reading| reading.waited_ns)
    }
}

/// The threads of `pid` and of its descendants that may run on one of `cpus`.
pub fn of_process(pid: u32, cpus: &[usize]) -> Vec<Task> {
    let pids = family(pid);
    pids.into_iter().flat_map(|pid| tasks(pid, cpus)).collect()
}

fn tasks(pid: u32, cpus: &[usize]) -> Vec<Task> {
    numbers(&format!("/proc/{pid}/task"))
        .filter_map(|tid| {
            let cpu = cpus.iter().copied().find(|&cpu| may_run(tid, cpu))?;
            let schedstat = File::open(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
            Some(Task { cpu, schedstat, seen: None, is_followed: false })
        })
        .collect()
}

/// `pid` and all processes that descend from it.
fn family(pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for child in numbers("/proc") {
        if let Some(parent) = parent(child) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(member) = family.get(at) {
        family.extend(children.remove(member).unwrap_or_default());
        at += 1;
    }
    family
}

/// CPU time of `pid` and its descendants so far, those included that ended and were waited for, in
/// ticks as `/proc/stat` has them; `None`: it has ended.
pub fn ticks(pid: u32) -> Option<u64> {
    own_ticks(pid)?; // else its descendants are those of another process
    Some(family(pid).into_iter().filter_map(own_ticks).sum())
}

/// Fields 14 to 17 of `stat`: utime, stime, cutime and cstime.
fn own_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&stat);
    let fields = text.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

/// Entries of a folder that are numbers; none if it is gone.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fourth field of `stat`; the second, a name in brackets, may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    String::from_utf8_lossy(&stat).rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn may_run(tid: u32, cpu: usize) -> bool {
    CpuSet::of(tid as i32).is_some_and(|allowed| allowed.has(cpu)) // else it has ended
}

/// Reads the threads that are followed; at a look all of them, and follows those that were busy
/// since the look before.
pub fn read(tasks: &mut [Task], readings: &mut [Option<Schedstat>], is_look: bool) {
    let mut followed = 0;
    for (task, reading) in tasks.iter_mut().zip(readings) {
        let was_followed = task.is_followed;
        let now = (was_followed || is_look).then(|| Schedstat::read(&task.schedstat)).flatten();
        if is_look {
            let is_busy = task.seen.zip(now).is_some_and(|(old, new)| is_busy(old, new));
            task.is_followed = is_busy && followed < FOLLOWED_MAX;
            followed += usize::from(task.is_followed);
            task.seen = now;
        }
        *reading = now.filter(|_| was_followed || task.is_followed);
    }
}

/// What threads that are not followed ran since the last look, ns.
pub fn unfollowed_ran_ns(tasks: &[Task]) -> u64 {
    let unfollowed = tasks.iter().filter(|task| !task.is_followed);
    let ran_ns = |task: &Task| {
        let (old, new) = task.seen.zip(Schedstat::read(&task.schedstat))?;
        Some(new.ran_ns.saturating_sub(old.ran_ns))
    };
    unfollowed.filter_map(ran_ns).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::cpu;

    #[test]
    fn the_time_of_a_process_is_counted_and_of_none_is_unknown() {
        let before = ticks(std::process::id()).unwrap();
        let mut sum = 0u64;
        while ticks(std::process::id()).unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_add(1)); // until a tick of it has passed
        }
        assert_eq!(ticks(u32::MAX), None);
    }

    #[test]
    fn a_process_has_its_threads_and_those_of_its_children() {
        let cpus: Vec<usize> = (0..1024).filter(|&cpu| cpu::may_run_on(cpu)).collect();
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let family = family(std::process::id());
        assert!(family.contains(&child.id()) && family.contains(&std::process::id()));
        assert_eq!(of_process(child.id(), &cpus).len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(of_process(child.id(), &cpus).is_empty());
    }

    #[test]
    fn only_threads_that_do_something_are_read_between_looks() {
        let cpus: Vec<usize> = (0..1024).filter(|&cpu| cpu::may_run_on(cpu)).collect();
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50)); // it is asleep by then
        let mut tasks = of_process(child.id(), &cpus);
        let mut readings = vec![None; tasks.len()];
        read(&mut tasks, &mut readings, true);
        read(&mut tasks, &mut readings, true);
        read(&mut tasks, &mut readings, false);
        assert_eq!(readings, [None], "asleep since the look before");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
