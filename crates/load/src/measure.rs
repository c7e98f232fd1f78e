//! One measurement: preload, run, judge.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::Fault;

use crate::progress::Progress;
use crate::resolve::Resolved;
use crate::result::RunResult;
use crate::summary::{self, Run};
use crate::{preload, run};

/// What a measurement brought, of all threads.
#[derive(Debug)]
pub struct Measured {
    /// The result, as it is written.
    pub result: RunResult,
    /// What it was made from.
    pub run: Run,
    /// Start of the warm-up, ns of the monotonic clock: all marks count from there.
    pub start_ns: u64,
    /// A signal ended it early.
    pub was_interrupted: bool,
}

/// Runs the job and judges the run.
pub fn measure(
    resolved: &Resolved,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> Result<Measured, Fault> {
    run::check(resolved)?;
    if resolved.job.preload {
        preload::preload(resolved, stop)?;
    }
    let ready = run::prepare(resolved, stop)?;
    let ran = run::run(ready, progress)?;
    let was_interrupted = stop.load(Relaxed);
    let was_stopped =
        ran.threads.iter().any(|thread| thread.stopped_ns.is_some() && thread.used_up_ns.is_none());
    let overran =
        ran.threads.iter().any(|thread| thread.ending.is_some_and(|end| end.overrun.is_some()));
    let run = Run {
        job: resolved.job.clone(),
        started_unix_ns: ran.started_unix_ns + resolved.warmup_ns,
        start_ns: ran.start_ns,
        threads: ran.threads,
        sentinels: ran.sentinels,
        client_cpus: ran.client_cpus,
        server_cpus: ran.server_cpus,
        server_seen: ran.server_seen,
        are_syscalls_counted: true,
        was_lost: was_stopped && !was_interrupted && !overran,
        long: ran.long,
    };
    Ok(Measured { result: summary::summarise(&run)?, run, start_ns: ran.start_ns, was_interrupted })
}
