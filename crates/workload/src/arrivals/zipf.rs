//! Zipf gaps: a gap is k units long, 1 ≤ k ≤ 100, with probability proportional to k^−s.
//!
//! PAPERS D4: one of the papers calls its arrivals Zipfian while its tools draw exponential gaps.
//! This is here to find out what difference it makes. `DeathStarBench`'s wrk2 has it with s = 3 and
//! the same 100 ranks (`gen_zipf` in wrk2/src/wrk.c at 70ddb2e).

use crate::dist::{Dist, Distribution};
use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::{Rng, RngExt};

use super::renewal::{Renewal, number};
use super::{ArrivalKind, Process};

const RANKS: usize = 100;
const USAGE: &str = "zipf:S (zipf:1.2)";

/// Ranks with their shares added up, and their first two moments.
#[derive(Debug)]
struct Ranks {
    up_to: Vec<f64>,
    mean: f64,
    square: f64,
}

impl Ranks {
    fn new(s: f64) -> Self {
        let weights: Vec<f64> = (1..=RANKS).map(|k| (k as f64).powf(-s)).collect();
        let all: f64 = weights.iter().sum();
        let moment = |power: i32| -> f64 {
            let of_rank = |(i, w): (usize, &f64)| ((i + 1) as f64).powi(power) * w / all;
            weights.iter().enumerate().map(of_rank).sum()
        };
        let add_up = |sum: &mut f64, w: &f64| {
            *sum += w / all;
            Some(*sum)
        };
        let up_to = weights.iter().scan(0.0, add_up).collect();
        Self { up_to, mean: moment(1), square: moment(2) }
    }
}

impl Distribution for Ranks {
    fn sample(&self, rng: &mut Rng) -> f64 {
        let u = rng.random::<f64>();
        let below = self.up_to.partition_point(|&up_to| up_to <= u);
        (below.min(RANKS - 1) + 1) as f64
    }
    fn mean(&self) -> f64 {
        self.mean
    }
    fn variance(&self) -> f64 {
        self.square - self.mean * self.mean
    }
}

pub(super) const KIND: ArrivalKind = ArrivalKind {
    kind: Kind {
        name: "zipf",
        about: "gaps of 1 to 100 units, a gap of k with probability proportional to k^-s",
        usage: USAGE,
        params: &[Param {
            name: "s",
            unit: "",
            about: "exponent; 0: all gaps alike",
            default: "",
            range: ">= 0",
        }],
        needs: &[],
        source: "PAPERS D4; DeathStarBench wrk2",
    },
    build,
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    let s = number(text, "s", USAGE)?;
    if s < 0.0 {
        return Err(Fault::usage(format!("s is {s}"), "s", "give an exponent of 0 or more"));
    }
    let ranks: Dist = Box::new(Ranks::new(s));
    Ok(Box::new(Renewal::new(ranks)))
}
