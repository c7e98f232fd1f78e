//! What a sample says of the `QoS` bound: a test, and no point (METHOD M10, M12, M34).
//!
//! The bound holds if at most a share 1 − q of all requests misses it. Of n requests k missed it. The
//! test is the exact binomial one, from both sides, at 5 %:
//!
//! - *holds* if k misses or fewer would come in at most 5 of 100 such samples, were the true share 1 − q;
//! - *violated* if k misses or more would;
//! - else the sample cannot decide, and the result names how many requests would.
//!
//! Misses come together: requests that wait behind one cause miss as one. So n and k are divided by the
//! design effect D, by which the count of misses scatters more than that of independent ones. It is
//! taken from this sample alone: the variance of the misses between blocks of the run over that of
//! independent ones (batch means), the largest of several lengths of block. Where few
//! groups were seen the next may be larger than all of them, so D counts 1 + (3D − 2)/k times.
//! What never happened in a run cannot be seen in it: [`unseen`] says how long a stall may go unnoticed.
//!
//! Fewer requests than M10 asks for a quantile decide nothing, except what happens in one of 1000
//! samples by chance: a server that answers none in time.
//!
//! Sources: Kish, Survey Sampling (1965), 8.2 (design effect); Law, Simulation Modeling and Analysis,
//! 9.5.3 (batch means); Clopper and Pearson (1934), in the form of the incomplete beta function, which
//! takes parts of a request too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

use crate::judge::quantiles;
use crate::tally::misses::MissWindows;

/// How often the test may be wrong where the true share is just the allowed one.
const LEVEL: f64 = 0.05;
/// The same below the number of requests that M10 asks for.
const LEVEL_OF_FEW: f64 = 0.001;
/// Blocks into which a run is cut, coarse and fine: a group of misses longer than a block is seen by the
/// coarser ones.
const BLOCKS: [usize; 4] = [10, 20, 40, 80];
/// Weight of the next group of misses, which may be larger than all that were seen: by simulation, so that
/// five groups are enough for [`LEVEL`].
const UNSEEN: f64 = 3.0;
/// A sample this many times as large that still decides nothing: no length of run will.
const LARGER_MAX: f64 = 10_000.0;

/// What a sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// The bound holds.
    Holds,
    /// It does not.
    Violated,
    /// The sample cannot decide.
    Open,
}

/// How the sample of a run decides on its `QoS` bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosSample {
    /// The `QoS` quantile: a share of 1 minus it may miss the bound.
    pub quantile: f64,
    /// Requests that count.
    pub requests: u64,
    /// Of these, how many took longer than the bound or failed.
    pub misses: u64,
    /// How many misses count as one, because they come together (the design effect).
    pub together: f64,
    /// Ends of the 90 % interval of the true share of misses: each is exceeded in 5 of 100 samples.
    pub share: [f64; 2],
    /// Requests that would decide, were it to go on like this; `null`: no number would.
    pub needed: Option<u64>,
}

/// A sample as the test sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    q: f64,
    requests: f64,
    misses: f64,
    /// The design effect as it was seen.
    effect: f64,
}

impl Sample {
    /// The requests of `windows`, and quantile `q`.
    pub(crate) fn of(windows: &MissWindows, q: f64) -> Self {
        let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        Self {
            q,
            requests: sum(&windows.n),
            misses: sum(&windows.k),
            effect: effect(&windows.n, &windows.k),
        }
    }

    /// The same with so many misses.
    pub(crate) fn with_misses(self, misses: u64) -> Self {
        Self { misses: (misses as f64).min(self.misses), ..self }
    }

    /// How many misses count as one.
    fn together(&self) -> f64 {
        let unseen = (UNSEEN * self.effect - (UNSEEN - 1.0)) / self.misses;
        let next = if self.misses > 0.0 { 1.0 + unseen } else { 1.0 };
        (self.effect * next).clamp(1.0, self.requests.max(1.0))
    }

    pub(crate) fn says(&self) -> Says {
        let level = if self.requests < self.least() as f64 { LEVEL_OF_FEW } else { LEVEL };
        let (size, allowed) = (self.together(), 1.0 - self.q);
        let (requests, misses) = (self.requests / size, self.misses / size);
        if at_most(misses, requests, allowed) <= level {
            Says::Holds
        } else if at_least(misses, requests, allowed) <= level {
            Says::Violated
        } else {
            Says::Open
        }
    }

    /// Fewest requests from which the quantile is given at all.
    fn least(&self) -> u64 {
        quantiles::smallest_sample(self.q)
    }

    /// Requests from which the sample decides, if it goes on like this; `None`: it hardly ever does.
    pub(crate) fn needed(&self) -> Option<u64> {
        let times = |factor: f64| Self {
            requests: self.requests * factor,
            misses: self.misses * factor,
            ..*self
        };
        let decides = |factor: f64| times(factor).says() != Says::Open;
        let (mut low, mut high) = (0.0, 1.0);
        while !decides(high) {
            (low, high) = (high, high * 2.0);
            if high > LARGER_MAX {
                return None;
            }
        }
        while (high - low) * self.requests > 1e-4 {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break; // as near as numbers are
            }
            if decides(middle) { high = middle } else { low = middle }
        }
        Some((self.requests * high - 1e-3).ceil() as u64)
    }

    /// The 90 % interval of the true share of misses.
    fn interval(&self) -> [f64; 2] {
        let size = self.together();
        let (requests, misses) = (self.requests / size, self.misses / size);
        let most = solve(|share| at_most(misses, requests, share) <= LEVEL);
        let least = solve(|share| at_least(misses, requests, share) > LEVEL);
        [if misses > 0.0 { least } else { 0.0 }, most]
    }

    /// As it goes into the result.
    pub(crate) fn report(&self) -> QosSample {
        QosSample {
            quantile: self.q,
            requests: self.requests as u64,
            misses: self.misses as u64,
            together: self.together(),
            share: self.interval(),
            needed: self.needed(),
        }
    }
}

/// How far apart stalls lie, ns, of which a run of `measured_ns` has none in 5 of 100 cases, if such stalls
/// alone violate the bound: each makes requests miss that are due within `bound_ns`.
pub(crate) fn unseen(q: f64, bound_ns: u64, measured_ns: u64) -> Option<f64> {
    let apart_ns = measured_ns as f64 / -LEVEL.ln();
    (bound_ns as f64 > (1.0 - q) * apart_ns).then_some(apart_ns)
}

/// By how much the number of misses scatters more than that of independent ones, 1 at least.
fn effect(n: &[u64], k: &[u64]) -> f64 {
    let lengths = BLOCKS.iter().map(|&blocks| blocks.min(n.len())).filter(|&blocks| blocks > 1);
    lengths.map(|blocks| effect_by(n, k, blocks)).fold(1.0, f64::max)
}

/// The same by blocks of one length. The variance of a share over blocks of unequal size is that of a
/// ratio: Cochran, Sampling Techniques (1977), 2.11.
fn effect_by(n: &[u64], k: &[u64], blocks: usize) -> f64 {
    let (requests, misses) = (n.iter().sum::<u64>() as f64, k.iter().sum::<u64>() as f64);
    let share = misses / requests.max(1.0);
    if misses == 0.0 || share >= 1.0 {
        return 1.0;
    }
    let border = |block: usize| block * n.len() / blocks;
    let squares: f64 = (0..blocks)
        .map(|block| {
            let within = border(block)..border(block + 1);
            let sum = |counts: &[u64]| counts[within.clone()].iter().sum::<u64>() as f64;
            (sum(k) - share * sum(n)).powi(2)
        })
        .sum();
    let blocks = blocks as f64;
    squares * blocks / (blocks - 1.0) / (misses * (1.0 - share))
}

/// Probability of `misses` or fewer of `requests`, each with probability `share`.
fn at_most(misses: f64, requests: f64, share: f64) -> f64 {
    if misses >= requests || share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return 0.0;
    }
    beta_reg(requests - misses, misses + 1.0, 1.0 - share)
}

/// Probability of `misses` or more of them.
fn at_least(misses: f64, requests: f64, share: f64) -> f64 {
    if misses <= 0.0 || share >= 1.0 {
        return 1.0;
    }
    if share <= 0.0 {
        return 0.0;
    }
    beta_reg(misses, requests - misses + 1.0, share)
}

/// The smallest share, 0 to 1, for which `is_reached`, which stays so beyond it.
fn solve(is_reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-12 + 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if is_reached(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests;
