//! What an antagonist is: it works in units when it is told to, and how its most is found.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic, sleep_until};
use sojourn_base::kind::Kind;

use crate::intensity::Intensity;
use crate::pace::{Pacer, Step};
use crate::words::Words;

/// What the worker shares with whoever reports: its progress, and whether to stop.
#[derive(Debug, Default)]
pub struct Shared {
    /// Units done.
    pub units: AtomicU64,
    /// Units that were given up because they were too late.
    pub forgone: AtomicU64,
    /// Set when the worker has ended by itself.
    pub is_over: AtomicBool,
}

/// What makes progress by taking one resource.
pub trait Antagonist: Send {
    /// Does about `units` units of work, one at least, and answers how many it did.
    fn work(&mut self, units: u64) -> Result<u64, Fault>;

    /// Works as `pace` says until `stop`; those with a time table of their own have another loop.
    fn run(&mut self, pace: Pace, shared: &Shared, stop: &AtomicBool) -> Result<(), Fault> {
        let mut pacer = Pacer::new(pace.start_ns, pace.rate_per_s, pace.most_per_s, pace.grain_s);
        let mut done = 0;
        while !stop.load(Ordering::Relaxed) {
            match pacer.step(Monotonic.now_ns(), done) {
                Step::Work(units) => {
                    done += self.work(units)?;
                    shared.units.store(done, Ordering::Relaxed);
                    shared.forgone.store(pacer.forgone(), Ordering::Relaxed);
                }
                Step::Wait(until_ns) => sleep_until(until_ns),
            }
        }
        Ok(())
    }
}

/// How fast it is to work.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// When it begins, ns of the monotonic clock.
    pub start_ns: u64,
    /// Units per second; None: as many as go.
    pub rate_per_s: Option<f64>,
    /// Units per second flat out.
    pub most_per_s: f64,
    /// How long a burst lasts flat out, s.
    pub grain_s: f64,
}

/// How the most that an antagonist can do is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Most {
    /// Measured per second of CPU time: it needs a CPU and nothing it would sleep for.
    PerCpuSecond,
    /// Measured per second: it waits for others.
    PerSecond,
    /// It follows from its parameters.
    Told,
}

/// An antagonist that was made.
pub struct Made {
    /// The worker.
    pub worker: Box<dyn Antagonist>,
    /// The most it can do, units per second, where that follows from its parameters.
    pub most_per_s: Option<f64>,
    /// The time table of a square wave.
    pub wave: Option<Wave>,
    /// What it took, in words: "footprint 32 MiB".
    pub told: String,
}

impl Made {
    /// One whose most has to be measured.
    pub fn new(worker: impl Antagonist + 'static, reported: String) -> Self {
        Self { worker: Box::new(worker), most_per_s: None, wave: None, told: reported }
    }
}

/// One line of the table of kinds.
pub struct Entry {
    /// What it says of itself.
    pub kind: Kind,
    /// What its progress is counted in.
    pub unit: &'static str,
    /// How the most is found.
    pub most: Most,
    /// From its parameters, and what is asked of it.
    pub build: fn(&Words, Intensity) -> Result<Made, Fault>,
}

impl AsRef<Kind> for Entry {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// A square wave: busy for `busy_ns` of every `period_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Busy part of a period, ns.
    pub busy_ns: u64,
    /// Length of a period, ns.
    pub period_ns: u64,
}

impl Wave {
    /// Busy time due `elapsed_ns` after the start, ns: closed form, so nothing drifts.
    pub fn due_ns(self, elapsed_ns: u64) -> u64 {
        let whole = elapsed_ns / self.period_ns;
        whole * self.busy_ns + (elapsed_ns % self.period_ns).min(self.busy_ns)
    }

    /// Busy share of the time.
    pub fn duty(self) -> f64 {
        self.busy_ns as f64 / self.period_ns as f64
    }
}

/// Lets timers of the calling thread fire when they are due, not 50 µs later.
pub fn sharpen_timers() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_due_by_its_closed_form() {
        let wave = Wave { busy_ns: 6, period_ns: 48 };
        assert_eq!(wave.duty(), 0.125);
        let due: Vec<u64> = [0, 3, 6, 47, 48, 50, 96].map(|ns| wave.due_ns(ns)).into();
        assert_eq!(due, [0, 3, 6, 6, 6, 8, 12]);
        for ns in 0..500 {
            let step = wave.due_ns(ns + 1) - wave.due_ns(ns);
            assert_eq!(step, u64::from(ns % 48 < 6), "{ns}");
        }
    }
}
