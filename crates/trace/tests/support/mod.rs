//! Who may trace, one test at a time.

use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ONE: Mutex<()> = Mutex::new(());

/// The right to trace, alone: tests would slow each other down. `None`: this machine cannot, and it
/// has been said why, past the test runner, which hides what passing tests print.
pub fn alone() -> Option<MutexGuard<'static, ()>> {
    match sojourn_trace::session::check_host() {
        Ok(()) => Some(ONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Err(fault) => {
            let name = std::thread::current().name().unwrap_or("a test").to_owned();
            let _ = writeln!(std::io::stderr(), "skipped: {name}: {}", fault.what);
            None
        }
    }
}
