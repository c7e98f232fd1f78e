//! Words that all results share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::quantiles::QUANTILES;
use sojourn_base::span::MAX_NS;

use crate::closed::Closed;
use crate::stats::{Interval, Intervals};

/// Whether a result's own checks passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// They did.
    Holds,
    /// One failed: the numbers decide nothing.
    Unknown,
}

impl Verdict {
    /// `Holds` if there is no reason against it.
    pub fn of(reasons: &[String]) -> Self {
        if reasons.is_empty() { Self::Holds } else { Self::Unknown }
    }
}

/// Whether the longest of some times is as long as a histogram holds: longer ones count as that.
pub fn is_cut(max_ns: u64) -> bool {
    max_ns >= MAX_NS
}

/// One number, simulated and known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// The formula.
    pub model: String,
    /// `mean`, `p50`, …
    pub quantity: String,
    /// What the run found, ns.
    pub interval: Interval,
    /// What the formula says, ns.
    pub closed: f64,
    /// Simulated over known, minus one.
    pub error: f64,
    /// Whether the formula lies in the run's 95 % interval; 1 in 20 does not by chance.
    pub is_within: bool,
}

/// Compares `intervals` with every exact formula, number by number.
pub fn agreement(intervals: &Intervals, closed: &[Closed]) -> Vec<Agreement> {
    let mut found: Vec<Agreement> = Vec::new();
    for formula in closed.iter().filter(|formula| formula.exact) {
        for (quantity, interval, known) in pairs(intervals, formula) {
            let (Some(interval), Some(known)) = (interval, known) else { continue };
            if found.iter().any(|a| a.quantity == quantity) {
                continue; // M/M/1, M/G/1 and M/M/n say the same thing
            }
            found.push(Agreement {
                model: formula.model.clone(),
                quantity: quantity.into(),
                interval,
                closed: known,
                error: interval.mid / known - 1.0,
                is_within: is_within(interval, known),
            });
        }
    }
    found
}

// Three digits of the histogram. Where a quantile is an atom (M/D/1 at low load: no one waits, all
// take exactly one service time) the interval has no width, and the bin decides.
const BIN: f64 = 1e-3;

fn is_within(interval: Interval, known: f64) -> bool {
    let slack = BIN * known;
    (interval.lo - slack..=interval.hi + slack).contains(&known)
}

/// Of the mean and of each quantile: its key, what was found, and what the formula says.
fn pairs(
    intervals: &Intervals,
    formula: &Closed,
) -> Vec<(&'static str, Option<Interval>, Option<f64>)> {
    let mut pairs = vec![("mean", intervals.mean, formula.mean)];
    let quantiles = QUANTILES.iter().zip(intervals.quantiles()).zip(formula.quantiles());
    pairs.extend(quantiles.map(|((quantile, interval), known)| (quantile.key, interval, known)));
    pairs
}
