//! Steal: time in which the hypervisor gave a CPU of ours to somebody else. Source: proc(5), stat.

use std::path::{Path, PathBuf};

/// Steal and all time of the CPUs in use, read at two moments.
#[derive(Debug)]
pub struct Meter {
    stat: PathBuf,
    cpus: Vec<usize>,
    start: Option<Ticks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    steal: u64,
    all: u64,
}

impl Meter {
    /// Starts for `cpus`; none means all.
    pub fn start(cpus: &[usize]) -> Self {
        Self::start_at(Path::new("/proc/stat"), cpus)
    }

    fn start_at(stat: &Path, cpus: &[usize]) -> Self {
        let start = read(stat, cpus);
        Self { stat: stat.into(), cpus: cpus.to_vec(), start }
    }

    /// Share of the time since the start; `None` where it cannot be read.
    pub fn share(&self) -> Option<f64> {
        let (start, end) = (self.start?, read(&self.stat, &self.cpus)?);
        let all = end.all.checked_sub(start.all).filter(|&all| all > 0)?;
        Some(end.steal.saturating_sub(start.steal) as f64 / all as f64)
    }
}

fn read(stat: &Path, cpus: &[usize]) -> Option<Ticks> {
    parse(&std::fs::read_to_string(stat).ok()?, cpus)
}

/// Sums the lines `cpuN user nice system idle iowait irq softirq steal guest guest_nice` of `cpus`.
/// Guest time is part of user time already.
fn parse(stat: &str, cpus: &[usize]) -> Option<Ticks> {
    let mut sum: Option<Ticks> = None;
    for line in stat.lines() {
        let Some((name, numbers)) = line.split_once(' ') else { continue };
        let Some(Ok(cpu)) = name.strip_prefix("cpu").map(str::parse::<usize>) else { continue };
        if !cpus.is_empty() && !cpus.contains(&cpu) {
            continue;
        }
        let ticks: Vec<u64> = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let so_far = sum.unwrap_or(Ticks { steal: 0, all: 0 });
        let all: u64 = ticks.iter().take(8).sum();
        sum = Some(Ticks { steal: so_far.steal + ticks.get(7)?, all: so_far.all + all });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  30 0 30 30 0 0 0 10 0 0\n\
                        cpu0 10 0 10 70 0 0 0 10 0 0\n\
                        cpu1 20 0 20 60 0 0 0 0 5 0\n\
                        intr 12345\n";

    #[test]
    fn only_the_cpus_in_use_count() {
        assert_eq!(parse(STAT, &[0]), Some(Ticks { steal: 10, all: 100 }));
        assert_eq!(parse(STAT, &[]), Some(Ticks { steal: 10, all: 200 }));
        assert_eq!(parse(STAT, &[7]), None);
    }

    #[test]
    fn a_kernel_without_steal_has_no_share() {
        assert_eq!(parse("cpu0 1 2 3 4 5 6 7\n", &[]), None);
        assert_eq!(Meter::start_at(Path::new("/no/such/file"), &[]).share(), None);
    }
}
