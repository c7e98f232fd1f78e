//! What CPUs did between two moments: steal (the hypervisor gave them to somebody else) and idle
//! time. Source: proc(5), stat. Resolution: one tick, 10 ms on most kernels.

use std::path::{Path, PathBuf};

use crate::watch::server_watch;

/// The time of some CPUs, read at two moments.
#[derive(Debug)]
pub struct Meter {
    stat: PathBuf,
    cpus: Vec<usize>,
    start: Option<Ticks>,
    /// The server's first process, and the ticks that it and its descendants had used.
    own: Option<(u32, u64)>,
}

/// Shares of the CPUs' time, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The hypervisor ran somebody else.
    pub steal: f64,
    /// Nothing was to be done.
    pub idle: f64,
    /// Tasks ran that are not the server's, clients included; `None`: its process is not known.
    pub others: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    steal: u64,
    /// User and system time: what tasks used, interrupts left out.
    tasks: u64,
    all: u64,
}

impl Meter {
    /// Starts for `cpus`; none means all.
    pub fn start(cpus: &[usize]) -> Self {
        Self::start_at(Path::new("/proc/stat"), cpus)
    }

    fn start_at(stat: &Path, cpus: &[usize]) -> Self {
        let start = read(stat, cpus);
        Self { stat: stat.into(), cpus: cpus.to_vec(), start, own: None }
    }

    /// The same with the time of the process `pid` and its descendants apart; 0: it is not known.
    #[must_use]
    pub fn with_server(self, pid: u32) -> Self {
        let own = (pid > 0).then(|| server_watch::ticks(pid)).flatten();
        Self { own: own.map(|ticks| (pid, ticks)), ..self }
    }

    /// Shares of the time since the start; `None` where it cannot be read.
    pub fn shares(&self) -> Option<Shares> {
        let (start, end) = (self.start?, read(&self.stat, &self.cpus)?);
        let all = end.all.checked_sub(start.all).filter(|&all| all > 0)? as f64;
        let share = |start: u64, end: u64| end.saturating_sub(start) as f64 / all;
        let others = self.own.and_then(|(pid, before)| {
            let own = server_watch::ticks(pid)?.saturating_sub(before);
            Some(share(start.tasks + own, end.tasks))
        });
        Some(Shares {
            steal: share(start.steal, end.steal),
            idle: share(start.idle, end.idle),
            others,
        })
    }
}

fn read(stat: &Path, cpus: &[usize]) -> Option<Ticks> {
    parse(&std::fs::read_to_string(stat).ok()?, cpus)
}

/// Sums the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice` of `cpus`.
/// Guest time is part of user time already; waiting for a disk is idle too.
fn parse(stat: &str, cpus: &[usize]) -> Option<Ticks> {
    let mut sum: Option<Ticks> = None;
    for line in stat.lines() {
        let Some((name, numbers)) = line.split_once(' ') else { continue };
        let Some(Ok(cpu)) = name.strip_prefix("cpu").map(str::parse::<usize>) else { continue };
        if !cpus.is_empty() && !cpus.contains(&cpu) {
            continue;
        }
        let ticks: Vec<u64> = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let so_far = sum.unwrap_or_default();
        sum = Some(Ticks {
            idle: so_far.idle + ticks.get(3)? + ticks.get(4)?,
            steal: so_far.steal + ticks.get(7)?,
            tasks: so_far.tasks + ticks.iter().take(3).sum::<u64>(),
            all: so_far.all + ticks.iter().take(8).sum::<u64>(),
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  30 0 30 30 0 0 0 10 0 0\n\
                        cpu0 10 0 10 70 0 0 0 10 0 0\n\
                        cpu1 20 0 20 50 10 0 0 0 5 0\n\
                        intr 12345\n";

    #[test]
    fn only_the_cpus_in_use_count() {
        assert_eq!(parse(STAT, &[0]), Some(Ticks { idle: 70, steal: 10, tasks: 20, all: 100 }));
        assert_eq!(parse(STAT, &[]), Some(Ticks { idle: 130, steal: 10, tasks: 60, all: 200 }));
        assert_eq!(parse(STAT, &[7]), None);
    }

    #[test]
    fn shares_are_of_the_time_between_the_two_moments() {
        let stat = std::env::temp_dir().join(format!("sojourn-stat-{}", std::process::id()));
        std::fs::write(&stat, "cpu0 10 0 10 70 0 0 0 10\n").unwrap();
        let meter = Meter::start_at(&stat, &[0]);
        assert_eq!(meter.shares(), None, "no time has passed");
        std::fs::write(&stat, "cpu0 60 0 10 100 10 0 0 20\n").unwrap();
        let shares = meter.shares();
        std::fs::remove_file(&stat).unwrap();
        assert_eq!(shares, Some(Shares { steal: 0.1, idle: 0.4, others: None }));
    }

    /// This process is taken for the server: it used less than all that ran here.
    #[test]
    fn what_others_ran_is_apart_where_the_server_is_known() {
        let name = format!("sojourn-others-{}", std::process::id());
        let stat = std::env::temp_dir().join(name);
        std::fs::write(&stat, "cpu0 10 0 10 70 0 0 0 10\n").unwrap();
        let meter = Meter::start_at(&stat, &[0]).with_server(std::process::id());
        std::fs::write(&stat, "cpu0 1000010 0 10 1000070 0 0 0 10\n").unwrap();
        let shares = meter.shares();
        let unknown = Meter::start_at(&stat, &[0]).with_server(0);
        std::fs::remove_file(&stat).unwrap();
        assert_eq!(unknown.own, None);
        let others = shares.and_then(|shares| shares.others).unwrap();
        assert!((0.4..=0.5).contains(&others), "half of the time but for our own ticks: {others}");
    }

    #[test]
    fn a_kernel_without_steal_has_no_share() {
        assert_eq!(parse("cpu0 1 2 3 4 5 6 7\n", &[]), None);
        assert_eq!(Meter::start_at(Path::new("/no/such/file"), &[]).shares(), None);
    }
}
