//! From the options to the file.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};
use sojourn_base::process::lives;

use super::file;
use super::hooks::Hooks;
use super::result::{SCHEMA, TimesResult, verdict};
use crate::attach::last::Last;
use crate::blackbox::hooks::Every;
use crate::judge::result::TargetFacts;

/// How often the ring is emptied.
const LOOK: Duration = Duration::from_millis(20);
/// How often processes that have ended are forgotten, ns.
const FORGET_NS: u64 = 1_000_000_000;
/// Room for processes of the service at a time, with those that ended within the last second: as in `bpf/tgids.h`.
pub const PROCESSES: u32 = 16384;

/// What is asked for on the command line, checked, in ns and bytes.
pub struct Asked<'a> {
    /// Where the times go.
    pub path: &'a Path,
    /// Length, ns.
    pub duration_ns: u64,
    /// Size of the ring, bytes.
    pub ring_bytes: u32,
    /// Room for processes of the service: [`PROCESSES`].
    pub processes: u32,
    /// Largest share of unmatched requests.
    pub unmatched_max: f64,
}

/// Times all requests of `target` until the time is over, it has ended, or `stop` is set.
///
/// # Errors
/// The kernel refuses the hooks, or the file cannot be written.
pub fn act(
    target: TargetFacts,
    asked: &Asked<'_>,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(),
) -> Result<TimesResult, Fault> {
    let file = file::open(asked.path)?;
    let _last = Last::new();
    let room = Every { ring_bytes: asked.ring_bytes, processes: asked.processes };
    let hooks = Hooks::load(&target, room)?;
    let started_ns = Monotonic.now_ns();
    hooks.enable(true);
    begun();
    let has_ended = || !lives(Path::new("/proc"), target.pid);
    let is_on = || {
        !stop.load(Ordering::Relaxed)
            && Monotonic.now_ns() < started_ns + asked.duration_ns
            && !has_ended()
    };
    let mut next_forget_ns = started_ns + FORGET_NS;
    while is_on() {
        std::thread::sleep(LOOK);
        hooks.take()?;
        if Monotonic.now_ns() >= next_forget_ns {
            hooks.forget_ended()?;
            next_forget_ns = Monotonic.now_ns() + FORGET_NS;
        }
    }
    hooks.enable(false);
    let service_ended = has_ended();
    let duration_ns = Monotonic.now_ns() - started_ns;
    hooks.take()?;
    let counts = hooks.counts();
    file::write(file, hooks.rows().all())?;
    let verdict = verdict(&counts, asked.unmatched_max);
    Ok(TimesResult {
        schema: SCHEMA,
        target,
        started_ns,
        duration_ns,
        service_ended,
        counts,
        verdict,
    })
}

/// The result in lines for a terminal: how many requests, and each reason to doubt them.
pub fn page(result: &TimesResult, path: &Path) -> String {
    let (count, seconds) = (result.counts.requests, result.duration_ns as f64 / 1e9);
    let reasons = result.verdict.reasons.iter().map(|reason| format!("unknown: {reason}\n"));
    let ended = if result.service_ended { "the service ended before the trace\n" } else { "" };
    format!(
        "{count} requests in {seconds:.1} s: {}\n{ended}{}",
        path.display(),
        reasons.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_as_much_room_for_processes_as_in_a_trace_of_stages() {
        let entries = format!("__uint(max_entries, {PROCESSES})");
        assert!(include_str!("../bpf/tgids.h").contains(&entries), "{entries}");
    }
}
