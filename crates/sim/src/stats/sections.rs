//! Intervals from one run, by sectioning.
//!
//! The run is cut into [`SECTIONS`] equal parts. The estimate of a quantile is the quantile of
//! *all* requests; the sections' own quantiles serve only to tell how much it varies:
//! half-width = t · sd(sections) / √sections. Centring on the pooled quantile, not on the mean of
//! the sections', leaves out most of the bias that each short section has.
//!
//! Source: Asmussen and Glynn, Stochastic Simulation (2007), III.5a and IV.5; Nakayama, Confidence
//! intervals for quantiles using sectioning, ACM TOMACS 24(4), 2014.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::span::{Span, Times};

use super::bins::quantiles;

/// Parts of a run.
pub const SECTIONS: usize = 32;
/// Student's t at 97.5 %, 31 degrees of freedom.
const T_95: f64 = 2.039_513;
/// Quantiles that get an interval; those of `Span`.
const QS: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];
/// Correlation of neighbouring sections above which they are not independent: three sigma, one-sided.
const LAG_1_MAX: f64 = 0.53;
/// A quantile needs this many requests above it in every section.
const ABOVE_MIN: f64 = 10.0;

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
    /// Whether `value` lies inside.
    pub fn contains(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }
}

/// Intervals beside the fields of a `Span`; `null` where a section has too few requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// Mean.
    pub mean: Option<Interval>,
    /// Median.
    pub p50: Option<Interval>,
    /// 90th percentile.
    pub p90: Option<Interval>,
    /// 95th percentile.
    pub p95: Option<Interval>,
    /// 99th percentile.
    pub p99: Option<Interval>,
    /// 99.9th percentile.
    pub p999: Option<Interval>,
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
    current: Times,
    current_ns: f64,
    pooled: Times,
    means: Vec<f64>,
    by_quantile: Vec<[f64; QS.len()]>,
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
        let (current, pooled) = (Times::new(), Times::new());
        let (means, by_quantile) = (Vec::new(), Vec::new());
        Self { length, current, current_ns: 0.0, pooled, means, by_quantile }
    }

    /// Adds one time.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.current.add(ns);
        self.current_ns += ns as f64;
        if self.current.histogram().len() >= self.length {
            self.end_section();
        }
    }

    /// Adds one request that never completed.
    pub fn add_lost(&mut self) {
        self.current.add_lost();
    }

    /// Ends the section under way.
    pub fn end_section(&mut self) {
        let section = std::mem::take(&mut self.current);
        let sum_ns = std::mem::take(&mut self.current_ns);
        self.pooled.merge(&section);
        if let Ok(found) = quantiles(section.histogram(), &QS).try_into() {
            self.means.push(sum_ns / section.histogram().len() as f64);
            self.by_quantile.push(found);
        }
    }

    /// The summary. The last, shorter section counts as requests but not towards the spread.
    pub fn finish(mut self) -> Summary {
        self.pooled.merge(&self.current);
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
        let pooled = quantiles(self.pooled.histogram(), &QS);
        let per_section = span.count as f64 / SECTIONS as f64;
        let of = |i: usize| {
            let enough = per_section * (1.0 - QS[i]) >= ABOVE_MIN && span.lost == 0;
            let values: Vec<f64> = self.by_quantile.iter().map(|row| row[i]).collect();
            if enough { around(*pooled.get(i)?, &values) } else { None }
        };
        let mean = span.mean.filter(|_| span.lost == 0).and_then(|m| around(m, &self.means));
        Intervals { mean, p50: of(0), p90: of(1), p95: of(2), p99: of(3), p999: of(4) }
    }
}

/// `None` with fewer sections than planned for: then t would be another.
fn around(mid: f64, sections: &[f64]) -> Option<Interval> {
    if sections.len() + 1 < SECTIONS {
        return None;
    }
    let n = sections.len() as f64;
    let variance = sections.iter().map(|v| (v - mid).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T_95 * (variance / n).sqrt();
    Some(Interval { lo: mid - half, mid, hi: mid + half })
}

fn lag_1(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let spread: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let product: f64 = values.windows(2).map(|p| (p[0] - mean) * (p[1] - mean)).sum();
    if spread > 0.0 { product / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_base::rng::{open_unit, stream};

    /// 200 runs of independent exponentials: 95 % intervals cover the truth in 95 ± 5 % (3.2 sigma).
    #[test]
    fn intervals_cover_the_truth_as_often_as_they_say() {
        let mut covered = [0_u32; 3];
        for seed in 0..200 {
            let mut rng = stream(seed, "cover", 0);
            let mut sections = Sections::new(20_000);
            (0..20_000)
                .for_each(|_| sections.add((-open_unit(&mut rng).ln() * 1e6).round() as u64));
            let found = sections.finish().intervals;
            let truth = [1e6, 1e6 * 2.0_f64.ln(), 1e6 * 20.0_f64.ln()];
            for (hits, (interval, truth)) in
                covered.iter_mut().zip([found.mean, found.p50, found.p95].into_iter().zip(truth))
            {
                *hits += u32::from(interval.unwrap().contains(truth));
            }
        }
        assert!(covered.iter().all(|hits| (180..=200).contains(hits)), "{covered:?} of 200");
    }

    #[test]
    fn too_few_requests_above_a_quantile_leave_it_without_an_interval() {
        let mut sections = Sections::new(6400);
        (0..6400).for_each(|ns| sections.add(ns * 7919 % 6400));
        let found = sections.finish().intervals;
        assert!(found.p95.is_some() && found.p99.is_none() && found.p999.is_none());
    }

    #[test]
    fn a_drift_through_the_run_is_doubted() {
        let mut sections = Sections::new(32_000);
        (0..32_000).for_each(|ns| sections.add(ns));
        assert!(sections.finish().doubts[0].contains("not independent"));
    }
}
