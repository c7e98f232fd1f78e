//! Threads, where the kernel may refuse one: a limit on processes (`ulimit -u`, `pids.max`) counts them too.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use crate::Fault;

/// Starts a thread that does `run`; the fault says what to do where the kernel gives none.
pub fn start<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Fault> {
    Builder::new().spawn(run).map_err(|error| refused(&error))
}

/// The same for a thread that ends before `scope` does, and may borrow what outlives it.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    run: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Fault> {
    Builder::new().spawn_scoped(scope, run).map_err(|error| refused(&error))
}

fn refused(error: &io::Error) -> Fault {
    let fix = "use fewer threads, or let this user (ulimit -u) and this container (pids.max, its limit on \
               memory) have more";
    Fault::failed(format!("a thread cannot be started: {error}"), "threads", fix)
}
