//! Windows beside the black box: stages of all requests in random windows, in traces of a minute, one after another.
//!
//! The newest one that is finished goes with each dump.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::units::NS_PER_S;

use crate::attach::how::{How, Options};
use crate::attach::target;
use crate::judge::made;
use crate::judge::result::TraceResult;
use crate::judge::verdict::Bounds;
use crate::session;

/// Length of a trace.
const PIECE_NS: u64 = 60 * NS_PER_S;
/// Between two traces.
const PAUSE: Duration = Duration::from_millis(200);
/// After one that failed, because to load hooks takes a CPU.
const PAUSES_AFTER_FAULT: u32 = 50;
/// As `sojourn-trace` has them.
const BOUNDS: Bounds = Bounds { unmatched_max: 0.01, residual_max: 0.05 };
const BUFFER: u32 = 16 << 20;
const WORST: usize = 20;
const Q: f64 = 0.99;

/// What both threads have.
#[derive(Default)]
struct Shared {
    /// The process to trace; `None`: there is none.
    pid: Mutex<Option<u32>>,
    newest: Mutex<Option<TraceResult>>,
    /// Why there is none, until somebody has asked.
    fault: Mutex<Option<Fault>>,
    stop: AtomicBool,
}

/// Traces on a thread of its own, until it is dropped.
pub struct Windows {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Windows {
    /// Begins; nothing is traced until `follow`.
    pub fn start(how: How, ports: &[u16]) -> Self {
        let shared = Arc::new(Shared::default());
        let (of_thread, ports) = (Arc::clone(&shared), ports.to_vec());
        let run = move || {
            trace(&of_thread, PAUSE, |pid| one(pid, how, &ports, &of_thread.stop));
        };
        let thread = thread::Builder::new().name("windows".into()).spawn(run).ok();
        Self { shared, thread }
    }

    /// Traces this process from now on.
    pub fn follow(&self, pid: Option<u32>) {
        *self.shared.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }

    /// Why the last trace failed, once for each reason.
    pub fn fault(&self) -> Option<Fault> {
        self.shared.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The newest trace that is finished.
    pub fn newest(&self) -> Option<TraceResult> {
        self.shared.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// `one` traces a process for a while; `None`: the service has ended.
fn trace(
    shared: &Shared,
    pause: Duration,
    one: impl Fn(u32) -> Result<Option<TraceResult>, Fault>,
) {
    let mut last = None;
    while !shared.stop.load(Ordering::Relaxed) {
        let pid = *shared.pid.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pauses = 1;
        match pid.map_or(Ok(None), &one) {
            Ok(None) => {}
            Ok(newest @ Some(_)) => {
                *shared.newest.lock().unwrap_or_else(PoisonError::into_inner) = newest;
                last = None;
            }
            Err(fault) => {
                let fault = Some(fault);
                if last != fault {
                    shared.fault.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&fault);
                }
                (last, pauses) = (fault, PAUSES_AFTER_FAULT);
            }
        }
        for _ in 0..pauses {
            if !shared.stop.load(Ordering::Relaxed) {
                thread::sleep(pause);
            }
        }
    }
}

/// One trace; `None`: the service has ended.
///
/// # Errors
/// The kernel refused.
fn one(pid: u32, how: How, ports: &[u16], stop: &AtomicBool) -> Result<Option<TraceResult>, Fault> {
    let Ok(target) = target::find(Path::new("/proc"), pid, ports) else { return Ok(None) };
    let options = Options {
        duration_ns: PIECE_NS,
        how,
        ring_bytes: BUFFER,
        worst: WORST,
        blame: Some(Q),
        ..Options::default()
    };
    let mut outcome = session::run(&target, options, stop, &mut || {}, &mut |_| {})?;
    Ok(Some(made::result(&target, options, BOUNDS, &mut outcome)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn why_there_are_no_stages_is_reported_once_for_each_reason() {
        let shared = Shared::default();
        *shared.pid.lock().unwrap() = Some(7);
        let (turns, reasons) = (Cell::new(0), Cell::new(Vec::new()));
        trace(&shared, Duration::ZERO, |pid| {
            assert_eq!(pid, 7);
            let mut all = reasons.take();
            all.extend(shared.fault.lock().unwrap().take().map(|fault| fault.what));
            reasons.set(all);
            turns.set(turns.get() + 1);
            shared.stop.store(turns.get() == 6, Ordering::Relaxed);
            let what = if turns.get() < 4 { "no right" } else { "no memory" };
            Err(Fault::failed(what, "bpf()", "see dmesg"))
        });
        assert_eq!(reasons.take(), ["no right", "no memory"]);
    }
}
