//! One measurement: preload, run, judge.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::Fault;

use crate::drive::measurement::Measurement;
use crate::drive::preload;
use crate::drive::progress::Progress;
use crate::drive::{ready, run};
use crate::judge::result::RunResult;
use crate::judge::summary;
use crate::plan::resolve::Resolved;

/// A run and what it came to.
#[derive(Debug)]
pub struct Judged {
    /// The result, as it is written.
    pub result: RunResult,
    /// What it was made from.
    pub run: Measurement,
    /// A signal ended it early.
    pub was_interrupted: bool,
}

/// Runs the job and judges the run.
pub fn measure(
    resolved: &Resolved,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> Result<Judged, Fault> {
    let protocol = ready::check(resolved)?;
    if resolved.job.preload {
        preload::preload(resolved, stop)?;
    }
    let ready = ready::prepare(resolved, protocol, stop)?;
    let mut run = run::run(ready, progress)?;
    let was_interrupted = stop.load(Relaxed);
    let was_stopped =
        run.threads.iter().any(|thread| thread.stopped_ns.is_some() && thread.used_up_ns.is_none());
    run.was_lost = was_stopped && !was_interrupted && run.overrun().is_none();
    Ok(Judged { result: summary::summarise(&run)?, run, was_interrupted })
}
