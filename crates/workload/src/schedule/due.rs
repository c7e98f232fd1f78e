//! When requests are due, one after another: the same times however many are asked for at once.

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, stream};

use super::Timetable;
use crate::arrivals::Process;

/// The intended times of one thread, ascending.
#[derive(Debug)]
pub struct DueTimes {
    process: Process,
    rng: Rng,
    timetable: Timetable,
    /// Share of the rate that `process` makes.
    share: f64,
    /// Of its arrivals this thread takes the `.0`-th of every `.1`.
    dealt: (usize, usize),
    /// Arrivals of `process` until now, and the operational time of the last, in mean gaps.
    drawn: usize,
    at: f64,
    last_ns: f64,
}

impl DueTimes {
    /// Arrivals of `process` at `share` of the rate, drawn with stream `use_name` of `seed`.
    pub(super) fn new(
        process: Process,
        (seed, use_name): (u64, &str),
        timetable: &Timetable,
        dealt: (usize, usize),
        share: f64,
    ) -> Self {
        Self {
            process,
            rng: stream(seed, use_name, 0),
            timetable: timetable.clone(),
            share,
            dealt,
            drawn: 0,
            at: 0.0,
            last_ns: f64::NEG_INFINITY,
        }
    }

    /// Arrivals drawn until now, those of other threads included.
    pub(super) fn drawn(&self) -> usize {
        self.drawn
    }

    /// Share of the rate that these arrivals make.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// Threads that they are dealt out to.
    pub(super) fn threads(&self) -> usize {
        self.dealt.1
    }

    /// Arrivals expected in the whole run, those of other threads included.
    pub(super) fn expected(&self) -> f64 {
        self.timetable.expected_by(self.timetable.end_ns() as f64) * self.share
    }

    /// The next time, ns after the start of the warm-up; `None` at the end of the load. It is 1 ns at least: before
    /// the start a clock that counts from there shows 0, and what was due at 0 would be sent then.
    pub(super) fn next_ns(&mut self) -> Result<Option<u64>, Fault> {
        loop {
            self.at += self.process.next_gap(&mut self.rng);
            let ns = self.timetable.ns_at(self.at / self.share);
            if ns >= self.timetable.end_ns() as f64 {
                return Ok(None);
            }
            let index = self.drawn;
            if ns + 1.0 < self.last_ns {
                let what = format!("request {index} is due before the one that precedes it");
                let fix = "a defect of this program: please report it";
                return Err(Fault::failed(what, "rate", fix));
            }
            self.last_ns = ns.max(self.last_ns); // an inverse is found to a tenth of a ns
            self.drawn += 1;
            if index % self.dealt.1 == self.dealt.0 {
                return Ok(Some((self.last_ns as u64).max(1)));
            }
        }
    }
}
