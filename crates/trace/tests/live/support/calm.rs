//! Bounds from above hold only while the machine runs what it is given: what is said of them if not.
//!
//! A bound from below (a pause is at least as long as it was asked to be), a count or a sum is
//! asserted at once. That nothing *else* took time is asserted of a calm machine only: on one that
//! stops for longer than the pauses it is tried again, and is unknown if it never was calm.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{Sets, say};

const ATTEMPTS: usize = 5;
/// Of a CPU's time, lost in pieces longer than [`PIECE`]: from here on the machine may be to blame.
/// Lost in pieces of 40 ms, this share touches one pause of 20 ms in fifteen, and no median. In pieces of 3 ms it is
/// 17 stops a second, of which each makes a request of thousands as long as a pause of 3 ms does.
const LOST_MAX: f64 = 0.05;
const PIECE: Duration = Duration::from_millis(1);

/// How many tests of this program came to nothing for lack of calm.
static GAVE_UP: AtomicUsize = AtomicUsize::new(0);

/// What a bound from above found wrong.
pub type Judged = Result<(), String>;

pub fn judge(holds: bool, wrong: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(wrong()) }
}

/// Repeats `attempt` until it is right, or wrong on a calm machine; if it never was calm, it is said
/// that nothing is known, and how often that was so.
///
/// # Panics
/// If it was wrong while the machine was calm.
pub fn calmly(attempt: impl FnMut() -> Judged) {
    calmly_but(None, attempt);
}

/// The same, whatever happens on the CPU that the test itself fills.
pub fn calmly_but(full: Option<usize>, mut attempt: impl FnMut() -> Judged) {
    calmly_beside(full, || (attempt(), 0.0));
}

/// The same, where `attempt` also answers which share of the time of that CPU it lost, because no witness is there.
pub fn calmly_beside(full: Option<usize>, mut attempt: impl FnMut() -> (Judged, f64)) {
    let usable = sched_getaffinity(None).unwrap();
    let watched = (0..CpuSet::MAX_CPU).filter(|&cpu| usable.is_set(cpu) && Some(cpu) != full);
    let watched: Vec<usize> = watched.collect();
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let ((judged, lost_there), lost) = beside_witnesses(&watched, &mut attempt);
        let lost = lost.max(lost_there);
        match judged {
            Ok(()) => return,
            Err(wrong) if lost < LOST_MAX => panic!("{wrong} (the machine lost {lost:.3})"),
            Err(wrong) => last = format!("{wrong}, while {:.0} % of a CPU was lost", lost * 100.0),
        }
    }
    let so_far = GAVE_UP.fetch_add(1, Ordering::Relaxed) + 1;
    say("unknown", &format!("never calm in {ATTEMPTS} attempts, {so_far} given up so far: {last}"));
}

/// What `attempt` says, and the largest share of a CPU's time that was lost meanwhile.
fn beside_witnesses<T>(watched: &[usize], attempt: &mut impl FnMut() -> T) -> (T, f64) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let witness = |&cpu: &usize| {
            scope.spawn({
                let over = &over;
                move || lost(cpu, over)
            })
        };
        let witnesses: Vec<_> = watched.iter().map(witness).collect();
        let ends = Sets(&over);
        let judged = attempt();
        drop(ends);
        let lost = witnesses.into_iter().map(|it| it.join().unwrap());
        (judged, lost.fold(0.0, f64::max))
    })
}

/// Sleeps over and over on `cpu`; the share of the time by which it woke too late.
fn lost(cpu: usize, over: &AtomicBool) -> f64 {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).unwrap();
    let (start, mut lost) = (Instant::now(), Duration::ZERO);
    while !over.load(Ordering::Relaxed) {
        let before = Instant::now();
        thread::sleep(PIECE);
        let late = before.elapsed().saturating_sub(PIECE);
        lost += if late > PIECE { late } else { Duration::ZERO };
    }
    lost.as_secs_f64() / start.elapsed().as_secs_f64()
}
