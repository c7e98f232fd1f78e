//! The instant at which a run begins: as soon as it is ready, or when the job says (`start_at`).
//!
//! Several generators that share one load begin at one instant of `CLOCK_MONOTONIC`, which all
//! processes of a machine read alike. Whoever starts them gives each the same `start_at`, far enough
//! ahead for all to draw their plans and to connect. One that is not ready by then does not run: a
//! share of the load that comes late is another load.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic};
use sojourn_base::units::{NS_PER_S, show_ns};

/// Between "all threads are ready" and the start of the warm-up.
const LEAD_NS: u64 = 5_000_000;
/// How far ahead `start_at` may lie: beyond it, it is of another clock, or in another unit.
pub const AHEAD_NS_MAX: u64 = 3600 * NS_PER_S;
/// A signal is noticed at least this often while the start is waited for.
const NAP_NS: u64 = 20_000_000;

/// Refuses a start that is past or too far ahead of `now_ns`; 0 is as soon as the run is ready.
pub fn check(start_at: u64, now_ns: u64) -> Result<(), Fault> {
    if start_at == 0 {
        return Ok(());
    }
    let fix = "give ns of CLOCK_MONOTONIC, from now to an hour ahead, or 0: as soon as it is ready";
    if start_at <= now_ns {
        let what = format!("the start is {} past", show_ns((now_ns - start_at) as f64));
        return Err(Fault::usage(what, "start_at", fix));
    }
    if start_at - now_ns > AHEAD_NS_MAX {
        let what = format!("the start is {} ahead", show_ns((start_at - now_ns) as f64));
        return Err(Fault::usage(what, "start_at", fix));
    }
    Ok(())
}

/// Waits until shortly before the start, for a run whose threads are ready.
///
/// Returns the start of the warm-up, ns of the monotonic clock. A `stop` ends the wait, not the
/// run: the threads see it too, and bring home what there is.
pub fn wait(start_at: u64, stop: &Arc<AtomicBool>) -> Result<u64, Fault> {
    let now_ns = Monotonic.now_ns();
    if start_at == 0 {
        return Ok(now_ns + LEAD_NS);
    }
    if start_at <= now_ns {
        let what =
            format!("the run was ready {} after its start", show_ns((now_ns - start_at) as f64));
        let fix = "let it start later: plans are drawn and connections opened before";
        return Err(Fault::failed(what, "start_at", fix));
    }
    loop {
        let left_ns = start_at.saturating_sub(Monotonic.now_ns() + LEAD_NS);
        if left_ns == 0 || stop.load(Relaxed) {
            return Ok(start_at);
        }
        thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_ahead_and_not_too_far() {
        let now_ns = 5 * AHEAD_NS_MAX;
        let at = |start_at| check(start_at, now_ns).map_err(|fault| (fault.at, fault.exit));
        let refused = Err(("start_at".to_string(), 2));
        assert_eq!(at(0), Ok(()));
        assert_eq!(at(now_ns + 1), Ok(()));
        assert_eq!(at(now_ns + AHEAD_NS_MAX), Ok(()));
        assert_eq!(at(now_ns), refused);
        assert_eq!(at(1), refused);
        assert_eq!(at(now_ns + AHEAD_NS_MAX + 1), refused);
    }

    #[test]
    fn the_start_that_is_asked_for_is_the_start() {
        let stop = Arc::new(AtomicBool::new(false));
        let start_at = Monotonic.now_ns() + NS_PER_S / 2;
        assert_eq!(wait(start_at, &stop), Ok(start_at));
        assert!(Monotonic.now_ns() + LEAD_NS >= start_at, "not before it");
        assert!(wait(0, &stop).unwrap() > start_at, "as soon as it is ready");
        let late = wait(Monotonic.now_ns(), &stop).unwrap_err();
        assert!(late.what.contains("was ready") && late.exit == 4, "{late}");
    }

    #[test]
    fn a_signal_ends_the_wait() {
        let stop = Arc::new(AtomicBool::new(true));
        let start_at = Monotonic.now_ns() + AHEAD_NS_MAX;
        assert_eq!(wait(start_at, &stop), Ok(start_at));
    }
}
