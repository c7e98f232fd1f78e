//! Which requests are kept to be looked into: the slowest, and a sample of all.
//!
//! The kernel's side sends every request from `floor_ns` on, and one in sixteen whatever it took.
//! At first the floor lets all through; it rises when the sample shows where the quantile lies.

use sojourn_base::rng::{self, Rng, RngExt as _};

use crate::reconstruct::bins;
use crate::reconstruct::record::{Record, Worst};

/// Slowest requests kept: p99 of five million.
const SLOWEST: usize = 50_000;
/// Requests retained of the sample; more replace earlier ones, so that each has the same chance.
const SAMPLE: usize = 20_000;
/// Requests of the sample before the floor rises, and how far it then lies below the quantile.
const ENOUGH: u64 = 2_000;
const BELOW: f64 = 0.8;
/// Of all requests, before the floor rises.
const FIRST: usize = 16 * ENOUGH as usize * 2;

/// What is kept while a trace runs.
#[derive(Debug)]
pub struct Keep {
    q: f64,
    slowest: Worst,
    sample: Vec<Record>,
    sampled: u64,
    totals: Vec<u64>,
    first: Vec<Record>,
    has_risen: bool,
    rng: Rng,
}

/// What was stored, when the quantile is known.
#[derive(Debug, Default)]
pub struct Selection {
    /// Requests at or above the quantile.
    pub tail: Vec<Record>,
    /// A sample of the others.
    pub body: Vec<Record>,
}

impl Keep {
    /// Keeps what is needed for quantile `q`.
    pub fn new(q: f64) -> Self {
        Self {
            q,
            slowest: Worst::new(SLOWEST),
            sample: Vec::new(),
            sampled: 0,
            totals: vec![0; bins::TOTAL.count()],
            first: Vec::new(),
            has_risen: false,
            rng: rng::stream(0, "body", 0),
        }
    }

    /// The quantile that was given, 0 to 1.
    pub fn quantile(&self) -> f64 {
        self.q
    }

    /// Takes one request in, if it is of use.
    pub fn offer(&mut self, record: &Record) {
        self.slowest.offer(record);
        if !self.has_risen && self.first.len() < FIRST {
            self.first.push(record.clone());
        }
        if !record.is_sample {
            return;
        }
        self.sampled += 1;
        self.totals[bins::TOTAL.of(record.total_ns)] += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push(record.clone());
            return;
        }
        let at = self.rng.random_range(0..self.sampled) as usize;
        if let Some(place) = self.sample.get_mut(at) {
            *place = record.clone();
        }
    }

    /// Totals from here on are wanted, ns.
    pub fn floor_ns(&mut self) -> u64 {
        if self.sampled < ENOUGH {
            return 1;
        }
        self.has_risen = true;
        let quantile = bins::TOTAL.quantile(&self.totals, 0, self.q).unwrap_or(1);
        self.slowest.floor_ns().max((quantile as f64 * BELOW) as u64).max(1)
    }

    /// The requests at or above `from_ns`, and a sample of those below.
    pub fn split(self, from_ns: u64) -> Selection {
        let below = |record: &Record| record.total_ns < from_ns;
        let mut tail = self.slowest.into_sorted();
        tail.retain(|record| !below(record));
        let all_came = !self.has_risen && self.first.len() < FIRST;
        let mut body = if all_came { self.first } else { self.sample };
        body.retain(below);
        body.truncate(SAMPLE);
        Selection { tail, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::record::tests::record;

    fn offer(keep: &mut Keep, n: u64) {
        for i in 1..=n {
            keep.offer(&Record { is_sample: i % 16 == 0, ..record(1000 + i % 1000 * 1000) });
        }
    }

    #[test]
    fn a_short_trace_keeps_every_request() {
        let mut keep = Keep::new(0.99);
        offer(&mut keep, 1_000);
        assert_eq!(keep.floor_ns(), 1);
        let retained = keep.split(991_000);
        assert_eq!((retained.tail.len(), retained.body.len()), (10, 990));
    }

    #[test]
    fn a_long_trace_raises_the_floor_below_the_quantile_and_samples_the_body() {
        let mut keep = Keep::new(0.99);
        offer(&mut keep, 100_000);
        let floor_ns = keep.floor_ns();
        assert!((700_000..900_000).contains(&floor_ns), "{floor_ns}: 0.8 of 990 µs");
        let retained = keep.split(991_000);
        assert_eq!(retained.tail.len(), 1_000);
        let mean =
            retained.body.iter().map(|r| r.total_ns).sum::<u64>() / retained.body.len() as u64;
        assert!((450_000..550_000).contains(&mean), "{mean} of a sample of all");
    }
}
