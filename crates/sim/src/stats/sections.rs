//! Intervals from one run, by sectioning.
//!
//! The run is cut into [`SECTIONS`] equal parts, long enough to be independent. The mean's interval
//! is t · sd(sections' means) / √sections around the mean of all. A quantile's is Woodruff's: how much
//! the sections differ in their share below the quantile of all says how well its *rank* is known,
//! and the values at both ends of that range of ranks are the interval. Unlike the sections' own
//! quantiles, such a share has no bias however few of a section's requests are so slow, and the
//! interval reaches further up than down, as the doubt does.
//!
//! It needs many independent events above the quantile: [`Carriers`] counts busy cycles.
//!
//! Source: Asmussen and Glynn, Stochastic Simulation (2007), III.5a and IV.5; Woodruff, Confidence
//! intervals for medians and other position measures, JASA 47, 1952.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::{Span, Times};
use sojourn_base::with_quantiles;

use super::counts::Counts;
use super::{Bins, Carriers};

/// Parts into which a run is cut for its intervals.
pub const SECTIONS: usize = 32;
/// Student's t at 97.5 %, 31 degrees of freedom.
const T_95: f64 = 2.039_513;
/// Correlation of neighbouring sections above which they are not independent: three sigma, one-sided.
const LAG_1_MAX: f64 = 0.53;
/// A number needs this many busy cycles that carry it. Tried without this limit on M/M/1 at .9, 120 to
/// 300 seeds: 95 % intervals of p99 and p99.9 cover 96 % with 92 cycles, 90 and 92 % with 35 and 31, 89 %
/// with 13 and 32 % with 5, where most runs have none at all.
const CARRIERS_MIN: u64 = 100;
/// The mean is carried by the cycles that reach p90: in a queue, most of all waiting is theirs.
const MEAN_CARRIED_AT: f64 = 0.9;

/// Where a value lies at 95 % confidence, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Lower end, ns.
    pub lo: f64,
    /// The estimate, finer than the histogram's bins, ns.
    pub mid: f64,
    /// Upper end, ns.
    pub hi: f64,
}

impl Interval {
    /// Whether `value` lies between both ends, these included.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

with_quantiles! {
    /// Intervals beside the fields of a `Span`; `null` where too few busy cycles carry a number.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Intervals of Interval {
        /// Mean.
        pub mean: Option<Interval>,
    } and then {
        /// Why a number has no interval; how to get one.
        pub unknown: Vec<String>,
    }
}

/// Everything that a run's times came to.
#[derive(Clone, Debug)]
pub struct Summary {
    /// All requests.
    pub span: Span,
    /// How well each number is known.
    pub intervals: Intervals,
    /// Correlation of the means of neighbouring sections.
    pub lag_1: f64,
    /// Why the intervals cannot be believed; empty if they can.
    pub doubts: Vec<String>,
}

/// Times on their way to a [`Summary`].
#[derive(Debug)]
pub struct Sections {
    length: u64,
    current: Counts,
    pooled: Times,
    means: Vec<f64>,
    bins: Vec<Bins>,
    carriers: Carriers,
}

impl Sections {
    /// For a run that will bring `requests` times.
    pub fn new(requests: u64) -> Self {
        Self::by_hand(requests.div_ceil(SECTIONS as u64).max(1))
    }

    /// Sections that end by [`Self::end_section`] alone.
    pub fn timed() -> Self {
        Self::by_hand(u64::MAX)
    }

    fn by_hand(length: u64) -> Self {
        let (current, pooled) = (Counts::default(), Times::new());
        let (means, bins, carriers) = (Vec::new(), Vec::new(), Carriers::default());
        Self { length, current, pooled, means, bins, carriers }
    }

    /// A request finds `queue` idle: a busy cycle of it begins.
    #[inline]
    pub fn begin_cycle(&mut self, queue: usize) {
        self.carriers.begin(queue);
    }

    /// Adds one time, of a request of `queue`.
    #[inline]
    pub fn add(&mut self, queue: usize, ns: u64) {
        self.current.add(ns);
        self.carriers.add(queue, ns);
        if self.current.len() >= self.length {
            self.end_section();
        }
    }

    /// Adds one request that never completed.
    pub fn add_lost(&mut self) {
        self.pooled.add_lost();
    }

    /// Ends the section under way.
    pub fn end_section(&mut self) {
        let section = self.current.take();
        self.pooled.merge(&section);
        if let Some(mean_ns) = section.mean_ns() {
            self.means.push(mean_ns);
            self.bins.push(Bins::of(section.histogram()));
        }
    }

    /// The summary. The last, shorter section counts as requests but not towards the spread.
    pub fn finish(mut self) -> Summary {
        self.pooled.merge(&self.current.take());
        let span = self.pooled.span();
        let lag_1 = lag_1(&self.means);
        let mut doubts = Vec::new();
        if lag_1 > LAG_1_MAX {
            doubts.push(format!(
                "sections are not independent: correlation {lag_1:.2} of neighbours, at most \
                 {LAG_1_MAX} allowed; raise --requests tenfold"
            ));
        }
        let intervals = self.intervals(&span);
        Summary { span, intervals, lag_1, doubts }
    }

    fn intervals(&self, span: &Span) -> Intervals {
        let mut found = Intervals::default();
        // With fewer sections than planned for, t would be another; lost requests have no time.
        if self.means.len() + 1 < SECTIONS || span.lost > 0 {
            found.unknown.push("all: requests were lost, or there were fewer than sections".into());
            return found;
        }
        let pooled = Bins::of(self.pooled.histogram());
        let mut refused = |name: &str, q: f64| {
            let carriers = pooled.quantile(q).map_or(0, |ns| self.carriers.above(ns));
            let is_refused = carriers < CARRIERS_MIN;
            if is_refused {
                found.unknown.push(too_few(name, carriers));
            }
            is_refused
        };
        let mean = (!refused("mean", MEAN_CARRIED_AT)).then_some(span.mean).flatten();
        let mean = mean.map(|mid| around(mid, half_width(mid, &self.means)));
        let intervals = Intervals { mean, ..Intervals::default() }.with_quantiles(|quantile| {
            let is_refused = refused(quantile.key, quantile.q);
            if is_refused { None } else { self.around_quantile(&pooled, quantile.q) }
        });
        Intervals { unknown: found.unknown, ..intervals }
    }

    /// Woodruff's interval; `None` if its range of ranks leaves 0..1.
    fn around_quantile(&self, pooled: &Bins, q: f64) -> Option<Interval> {
        let mid = pooled.quantile(q)?;
        let below: Vec<f64> = self.bins.iter().map(|bins| bins.share_below(mid)).collect();
        let half = half_width(q, &below);
        Some(Interval { lo: pooled.quantile(q - half)?, mid, hi: pooled.quantile(q + half)? })
    }
}

fn too_few(name: &str, carriers: u64) -> String {
    let times = (1.5 * CARRIERS_MIN as f64 / carriers.max(1) as f64).ceil();
    format!(
        "{name}: carried by {carriers} busy cycles, {CARRIERS_MIN} needed; {times} × the requests"
    )
}

fn around(mid: f64, half: f64) -> Interval {
    Interval { lo: mid - half, mid, hi: mid + half }
}

/// t · sd / √n of values that scatter around `mid`.
fn half_width(mid: f64, sections: &[f64]) -> f64 {
    let n = sections.len() as f64;
    let variance = sections.iter().map(|v| (v - mid).powi(2)).sum::<f64>() / (n - 1.0);
    T_95 * (variance / n).sqrt()
}

fn lag_1(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let product: f64 = values.windows(2).map(|p| (p[0] - mean) * (p[1] - mean)).sum();
    if spread > 0.0 { product / spread } else { 0.0 }
}

#[cfg(test)]
mod tests;
