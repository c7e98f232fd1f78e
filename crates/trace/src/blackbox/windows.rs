//! Windows beside the black box: stages of all requests in random windows, in traces of a minute, one after another.
//!
//! The newest one that is finished goes with each dump.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sojourn_base::units::NS_PER_S;

use crate::attach::how::{How, Options};
use crate::attach::target::{self, Target};
use crate::judge::made;
use crate::judge::result::TraceResult;
use crate::judge::verdict::Bounds;
use crate::session;

/// Length of a trace.
const PIECE_NS: u64 = 60 * NS_PER_S;
/// Between two traces, and after one that failed.
const PAUSE: Duration = Duration::from_millis(200);
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
        let run = move || trace(&of_thread, how, &ports);
        let thread = thread::Builder::new().name("windows".into()).spawn(run).ok();
        Self { shared, thread }
    }

    /// Traces this process from now on.
    pub fn follow(&self, pid: Option<u32>) {
        *self.shared.pid.lock().unwrap_or_else(PoisonError::into_inner) = pid;
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

fn trace(shared: &Shared, how: How, ports: &[u16]) {
    while !shared.stop.load(Ordering::Relaxed) {
        let pid = *shared.pid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = pid.and_then(|pid| one(pid, how, ports, &shared.stop)) {
            *shared.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
        thread::sleep(PAUSE);
    }
}

/// One trace; `None`: the service has ended, or the kernel refused.
fn one(pid: u32, how: How, ports: &[u16], stop: &AtomicBool) -> Option<TraceResult> {
    let target: Target = target::find(Path::new("/proc"), pid, ports).ok()?;
    let options = Options {
        duration_ns: PIECE_NS,
        how,
        ring_bytes: BUFFER,
        worst: WORST,
        blame: Some(Q),
        ..Options::default()
    };
    let mut outcome = session::run(&target, options, stop, &mut || {}, &mut |_| {}).ok()?;
    Some(made::result(&target, options, BOUNDS, &mut outcome))
}
