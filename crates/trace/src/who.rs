//! Who runs on given CPUs, and how long at a time: what a server on them has to wait for.
//!
//! Every moment of a CPU belongs to a task, to none (idle), to one that was left out, or is counted as
//! not distinguished; the shares add to one. [`result`] is pure; `watch` talks to the kernel, whose side
//! is `src/bpf/who.bpf.c`.

use schemars::JsonSchema;
use serde::Serialize;
use sojourn_base::Fault;

use crate::attach::limits::MAX_CPUS;
use crate::reconstruct::bytes::u64_at;
use crate::reconstruct::layout::who_cpu;

pub mod text;
#[cfg(feature = "bpf")]
pub mod watch;

/// Version of the form below.
pub const SCHEMA: &str = "sojourn.who/1";
/// A run longer than this is a long one, ns: three times the p99 of a fast server.
pub const LONG_NS: u64 = 300_000;
/// A larger share of the time without a known task is in the warnings.
const UNSEEN_MAX: f64 = 0.01;

/// Who ran on some CPUs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhoResult {
    /// Name and version of this form.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// `uname -r`.
    pub kernel: String,
    /// The CPUs that were looked at.
    pub cpus: Vec<u32>,
    /// Start, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// A run longer than this is a long one, ns.
    pub long_run_ns: u64,
    /// One line.
    pub answer: String,
    /// Who ran there, the one with the most time in long runs first.
    pub tasks: Vec<WhoTask>,
    /// Share of the CPUs' time in which no task ran, 0 to 1.
    pub idle_share: f64,
    /// Share of the processes that were left out, this program among them.
    pub left_out_share: f64,
    /// Share that cannot be distinguished: dropped events, switches not sent, CPUs without any.
    pub unknown_share: f64,
    /// Of it, the time of switches that the kernel did not report: another task ran than the last one said.
    pub unseen_share: f64,
    /// Of it, the time of runs for which the kernel's table had no room.
    pub dropped_share: f64,
    /// Runs of tasks for which the kernel's table had no room.
    pub dropped_runs: u64,
    /// Things the reader should know.
    pub warnings: Vec<String>,
}

/// One task (thread) that ran there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WhoTask {
    /// Its name, as the kernel cuts it: 15 letters.
    pub name: String,
    /// Thread id; 0: none here, for it is outside the PID namespace (the container) that was asked from.
    pub tid: u32,
    /// Process id; 0: the same.
    pub pid: u32,
    /// A thread of the kernel.
    pub is_kernel: bool,
    /// Times it was put on one of the CPUs.
    pub runs: u64,
    /// Time on them, ns.
    pub run_ns: u64,
    /// That, as a share of the CPUs' time, 0 to 1.
    pub share: f64,
    /// Runs longer than `long_run_ns`.
    pub long_runs: u64,
    /// The same per second.
    pub long_runs_per_s: f64,
    /// Time in long runs, ns.
    pub long_ns: u64,
    /// Its longest run, ns.
    pub longest_ns: u64,
}

/// What the kernel counted on the CPUs.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// Start, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// Tasks; shares and rates still 0.
    pub tasks: Vec<WhoTask>,
    /// Sums over the CPUs, ns.
    pub idle_ns: u64,
    /// Time of those left out, ns.
    pub left_out_ns: u64,
    /// Runs without a place in the table.
    pub dropped_runs: u64,
    /// Their time, ns.
    pub dropped_ns: u64,
    /// Time of switches that were not reported, so that its task is not known, ns.
    pub unseen_ns: u64,
    /// Things the reader should know.
    pub warnings: Vec<String>,
}

impl Seen {
    /// Adds what one CPU has, a `struct who_cpu` of `bpf/who.h`, but for the run that still goes on there.
    pub fn add_cpu(&mut self, line: &[u8]) {
        self.idle_ns += u64_at(line, who_cpu::IDLE_NS);
        self.left_out_ns += u64_at(line, who_cpu::LEFT_OUT_NS);
        self.dropped_ns += u64_at(line, who_cpu::DROPPED_NS);
        self.dropped_runs += u64_at(line, who_cpu::DROPPED_RUNS);
        self.unseen_ns += u64_at(line, who_cpu::UNSEEN_NS);
    }
}

/// What was lost, in sentences.
fn losses(seen: &Seen, all_ns: f64) -> Vec<String> {
    let mut lost = Vec::new();
    if seen.dropped_runs > 0 {
        lost.push(format!(
            "{} runs ({:.1} ms) of tasks for which there was no room: a shorter --duration has fewer",
            seen.dropped_runs,
            seen.dropped_ns as f64 / 1e6
        ));
    }
    let share = seen.unseen_ns as f64 / all_ns;
    if share > UNSEEN_MAX {
        lost.push(format!(
            "the kernel did not report all switches of tasks: {:.1} % of the time ({:.1} ms) is of no known task",
            share * 100.0,
            seen.unseen_ns as f64 / 1e6
        ));
    }
    lost
}

/// The result as it is written.
pub fn result(kernel: String, mut seen: Seen) -> WhoResult {
    let seconds = seen.duration_ns as f64 / 1e9;
    let all_ns = (seen.duration_ns * seen.cpus.len() as u64).max(1) as f64;
    for task in &mut seen.tasks {
        task.share = task.run_ns as f64 / all_ns;
        task.long_runs_per_s = task.long_runs as f64 / seconds;
    }
    seen.tasks.sort_by_key(|task| std::cmp::Reverse((task.long_ns, task.run_ns, task.tid)));
    let known_ns = seen.tasks.iter().map(|task| task.run_ns).sum::<u64>();
    let known_ns = known_ns + seen.idle_ns + seen.left_out_ns;
    let lost = losses(&seen, all_ns);
    seen.warnings.extend(lost);
    WhoResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        kernel,
        answer: text::answer(&seen),
        started_unix_ns: seen.started_unix_ns,
        duration_ns: seen.duration_ns,
        long_run_ns: LONG_NS,
        idle_share: seen.idle_ns as f64 / all_ns,
        left_out_share: seen.left_out_ns as f64 / all_ns,
        unknown_share: (1.0 - known_ns as f64 / all_ns).max(0.0),
        unseen_share: seen.unseen_ns as f64 / all_ns,
        dropped_share: seen.dropped_ns as f64 / all_ns,
        dropped_runs: seen.dropped_runs,
        cpus: seen.cpus,
        tasks: seen.tasks,
        warnings: seen.warnings,
    }
}

/// CPUs from a list such as `0,2-3`, ascending.
pub fn parse_cpus(text: &str) -> Result<Vec<u32>, Fault> {
    let wrong = |what: String| Fault::usage(what, "--who", "give CPUs of this machine: 1 or 0,2-3");
    let mut cpus = std::collections::BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(wrong(format!("'{text}' is not a list of CPUs")));
        };
        if first > last || last as usize >= MAX_CPUS {
            return Err(wrong(format!("'{part}' names no CPUs from 0 to {}", MAX_CPUS - 1)));
        }
        cpus.extend(first..=last);
    }
    Ok(cpus.into_iter().collect())
}

#[cfg(test)]
mod tests;
