//! Wake-ups: sleeps for as short as it can, or until each of its wake-ups is due.

use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic, sleep_until};
use sojourn_base::kind::Kind;

use crate::antagonist::{Antagonist, Entry, Made, Most, Pace, Shared};
use crate::intensity::Intensity;
use crate::words::Words;

struct Wakeups;

impl Antagonist for Wakeups {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        for _ in 0..units {
            sleep_until(Monotonic.now_ns() + 1000);
        }
        Ok(units)
    }

    fn run(&mut self, pace: Pace, shared: &Shared, stop: &AtomicBool) -> Result<(), Fault> {
        let (mut slot, mut done) = (0_u64, 0_u64);
        while !stop.load(Ordering::Relaxed) {
            let now_ns = Monotonic.now_ns();
            match pace.rate_per_s {
                None => done += self.work(1)?,
                Some(rate) if rate <= 0.0 => sleep_until(now_ns + 100_000_000),
                Some(rate) => {
                    let next = next_slot(slot, now_ns.saturating_sub(pace.start_ns), rate);
                    shared.forgone.fetch_add(next - slot - 1, Ordering::Relaxed);
                    slot = next;
                    // Asleep for a tenth of a second at most, so that it can be stopped.
                    let until_ns = pace.start_ns + (slot as f64 * 1e9 / rate) as u64;
                    while Monotonic.now_ns() < until_ns && !stop.load(Ordering::Relaxed) {
                        sleep_until(until_ns.min(Monotonic.now_ns() + 100_000_000));
                    }
                    done += 1;
                }
            }
            shared.units.store(done, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The first wake-up after number `slot` that is still to come. Those that are past are gone: who
/// does not sleep is not woken.
fn next_slot(slot: u64, elapsed_ns: u64, rate: f64) -> u64 {
    let passed = (elapsed_ns as f64 * rate / 1e9) as u64;
    (slot + 1).max(passed + 1)
}

#[expect(clippy::unnecessary_wraps, reason = "the form of the table")]
fn build(_words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    Ok(Made::new(Wakeups, "clock_nanosleep on one thread".into()))
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "wakeups",
        about: "wakes up, looks at the clock and sleeps again",
        usage: "wakeups (--intensity 5k/s)",
        params: &[],
        needs: &[],
        source: "L20 (who is woken preempts)",
    },
    unit: "wake-ups",
    most: Most::PerSecond,
    build,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_no_faster_than_asked_also_right_at_the_start() {
        let (shared, stop) = (Shared::default(), AtomicBool::new(false));
        let start_ns = Monotonic.now_ns() + 1_000_000; // as it is started: a moment ahead
        let pace = Pace { start_ns, rate_per_s: Some(1e3), most_per_s: 1e4, grain_s: 1e-3 };
        std::thread::scope(|scope| {
            scope.spawn(|| Wakeups.run(pace, &shared, &stop));
            sleep_until(start_ns + 50_000_000);
            stop.store(true, Ordering::Relaxed);
        });
        let due = (Monotonic.now_ns() - start_ns) as f64 / 1e6; // one a millisecond
        let done = shared.units.load(Ordering::Relaxed) as f64;
        assert!(done <= due + 1.0, "{done} of {due}");
    }

    #[test]
    fn wake_ups_that_were_slept_through_are_gone() {
        assert_eq!(next_slot(4, 4_000_000, 1e3), 5);
        assert_eq!(next_slot(4, 4_999_999, 1e3), 5);
        assert_eq!(next_slot(4, 9_500_000, 1e3), 10);
    }
}
