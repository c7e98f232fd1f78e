//! How the threads of a job pass the time until something is due.

use sojourn_base::Fault;

use super::longest::parsed;
use crate::job::Job;

/// How a thread passes the time until the next request is due or a reply arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It never gives its CPU away: what it measures is not its own wake-up.
    Spin,
    /// It spins, and lets others on its CPU go first after each look at its connections.
    Yield,
    /// It sleeps in the kernel until the next request is due or a reply arrives.
    Sleep,
}

impl Wait {
    /// The word that people type for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Yield => "yield",
            Self::Sleep => "sleep",
        }
    }

    /// Whether it looks at its connections all the time, or the kernel wakes it when to.
    pub fn is_busy(self) -> bool {
        self != Self::Sleep
    }
}

/// The way to wait, and how long, ns, a wake-up may be put off.
pub(super) fn wait_of(job: &Job, cpus: &[usize]) -> Result<(Wait, u64), Fault> {
    match job.wait.as_str() {
        "spin" => Ok((Wait::Spin, 0)),
        "yield" => Ok((Wait::Yield, 0)),
        // A closed loop has nothing that is due: batches go further than haste.
        "auto" if !job.find_max && has_cpu_each(job.threads as usize, cpus) => Ok((Wait::Spin, 0)),
        "sleep" | "auto" => Ok((Wait::Sleep, 0)),
        other => match other.strip_prefix("sleep:") {
            Some(time) => {
                let doze_ns = parsed("wait", time)?;
                Ok((Wait::Sleep, doze_ns))
            }
            None => Err(Fault::usage(
                format!("no way to wait is called '{other}'"),
                "wait",
                "use spin, yield, sleep, sleep:TIME (such as sleep:40us) or auto",
            )),
        },
    }
}

/// Whether every thread has a CPU to itself: pinned to as many CPUs as threads, or, not pinned,
/// at least one CPU more than threads remains for the server.
fn has_cpu_each(threads: usize, cpus: &[usize]) -> bool {
    if cpus.is_empty() {
        let allowed = std::thread::available_parallelism().map_or(1, usize::from);
        return threads < allowed;
    }
    threads <= cpus.len()
}
