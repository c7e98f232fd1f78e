//! Holds a rate by the antagonist's own progress: work in small bursts, each when it is due.
//!
//! What is due follows from the time since the start, so no error adds up: a burst that was late
//! makes the next ones come at once until the rate is made up for. What is more than a quarter of a
//! second behind is forgone and counted: a neighbour that was kept from its CPU for long must not
//! come back as one that takes all of it.

/// What the worker is to do at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Do so many units.
    Work(u64),
    /// Nothing until then, ns.
    Wait(u64),
}

/// Behind by more than this, work is forgone, s.
pub const DEBT_S: f64 = 0.25;
/// At least so many bursts a second, where a unit is small enough.
const BURSTS_PER_S: f64 = 50.0;
/// With nothing to do at all, look again so often, ns.
const IDLE_NS: u64 = 100_000_000;

/// Says when which work is due.
#[derive(Clone, Debug)]
pub struct Pacer {
    start_ns: u64,
    rate_per_s: Option<f64>,
    burst: u64,
    forgone: f64,
}

impl Pacer {
    /// Paces from `start_ns` on.
    ///
    /// * `rate_per_s`: units per second; None: as many as go.
    /// * `most_per_s`: what the antagonist can do flat out.
    /// * `grain_s`: how long a burst lasts at that rate, at most.
    pub fn new(start_ns: u64, rate_per_s: Option<f64>, most_per_s: f64, grain_s: f64) -> Self {
        let by_time = most_per_s * grain_s;
        let burst = rate_per_s.map_or(by_time, |rate| by_time.min(rate / BURSTS_PER_S));
        Self { start_ns, rate_per_s, burst: (burst as u64).max(1), forgone: 0.0 }
    }

    /// What to do at `now_ns` if `done` units are done.
    pub fn step(&mut self, now_ns: u64, done: u64) -> Step {
        let Some(rate) = self.rate_per_s else { return Step::Work(self.burst) };
        if rate <= 0.0 {
            return Step::Wait(now_ns + IDLE_NS);
        }
        let due = rate * now_ns.saturating_sub(self.start_ns) as f64 / 1e9 - self.forgone;
        let behind = due - done as f64;
        let most_behind = (rate * DEBT_S).max(self.burst as f64);
        if behind > most_behind {
            self.forgone += behind - most_behind;
        }
        if behind >= self.burst as f64 {
            return Step::Work(self.burst);
        }
        let at_s = (done as f64 + self.burst as f64 + self.forgone) / rate;
        let until_ns = self.start_ns + (at_s * 1e9).ceil() as u64;
        Step::Wait(until_ns.max(now_ns + 1).min(now_ns + IDLE_NS))
    }

    /// Units that were given up.
    pub fn forgone(&self) -> u64 {
        self.forgone as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that does `speed` units per second, and nothing in `stall` (from, to), ns.
    fn simulated(pacer: &mut Pacer, speed: f64, stall: (u64, u64), end_ns: u64) -> u64 {
        let (mut now, mut done) = (0_u64, 0_u64);
        while now < end_ns {
            if (stall.0..stall.1).contains(&now) {
                now = stall.1;
            }
            match pacer.step(now, done) {
                Step::Work(units) => {
                    done += units;
                    now += (units as f64 / speed * 1e9).ceil() as u64;
                }
                Step::Wait(until) => {
                    assert!(until > now, "it waits for what has not passed");
                    now = until;
                }
            }
        }
        done
    }

    #[test]
    fn a_rate_within_reach_is_held_whatever_the_machine_does() {
        for share in [0.01, 0.25, 0.5, 0.9] {
            for speed in [1e6, 1e6 / (share + 0.05), 3e6] {
                let mut pacer = Pacer::new(0, Some(share * 1e6), 1e6, 1e-3);
                let speed = speed.max(share * 1.05e6);
                let done = simulated(&mut pacer, speed, (0, 0), 10_000_000_000) as f64;
                let asked = share * 1e7;
                assert!((done / asked - 1.0).abs() < 0.003, "{share} at {speed}: {done}");
                assert_eq!(pacer.forgone(), 0);
            }
        }
    }

    #[test]
    fn a_rate_beyond_reach_gives_what_the_machine_can() {
        let mut pacer = Pacer::new(0, Some(1e6), 1e6, 1e-3);
        let done = simulated(&mut pacer, 4e5, (0, 0), 10_000_000_000) as f64;
        assert!((done / 4e6 - 1.0).abs() < 0.01, "{done}");
    }

    #[test]
    fn a_short_stall_is_made_up_for_and_a_long_one_is_forgone() {
        let run = |stall_ns: u64| {
            let mut pacer = Pacer::new(0, Some(5e5), 1e6, 1e-3);
            let stall = (2_000_000_000_u64, 2_000_000_000 + stall_ns);
            let done = simulated(&mut pacer, 1e6, stall, 10_000_000_000);
            (done as f64, pacer.forgone() as f64)
        };
        let (done, forgone) = run(200_000_000);
        assert!((done / 5e6 - 1.0).abs() < 0.003 && forgone == 0.0, "{done} {forgone}");
        let (done, forgone) = run(1_000_000_000);
        assert!((forgone / 3.75e5 - 1.0).abs() < 0.01, "{forgone}"); // 1 s but for a quarter, at half
        assert!(((done + forgone) / 5e6 - 1.0).abs() < 0.003, "{done}");
    }

    #[test]
    fn flat_out_never_waits_and_nothing_asked_never_works() {
        let mut flat = Pacer::new(0, None, 1e6, 1e-3);
        assert_eq!(flat.step(5, u64::MAX), Step::Work(1000));
        let mut idle = Pacer::new(0, Some(0.0), 1e6, 1e-3);
        assert!(matches!(idle.step(5, 0), Step::Wait(until) if until > 5));
    }

    #[test]
    fn a_low_rate_still_comes_in_fifty_bursts_a_second() {
        let mut pacer = Pacer::new(0, Some(1e4), 1e6, 1e-3);
        assert_eq!(pacer.step(20_000_000, 0), Step::Work(200));
    }
}
