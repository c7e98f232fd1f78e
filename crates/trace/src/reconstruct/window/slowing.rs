//! By how much the hooks slow the service that they look at, and so what the numbers say of it untraced.
//!
//! Windows show the service as it is *while traced*. The hooks' own price is seen on the spot: CPU time per
//! TCP segment in windows against that between them, `r`. Work takes `r` times as long. Waiting behind
//! others grows by more: with a busy share ρ a queue's mean wait is in proportion to ρ ÷ (1 − ρ) times
//! what one request takes (Pollaczek and Khinchine), so it takes r² · (1 − ρ/r) ÷ (1 − ρ) times as long,
//! where ρ is that of the busiest worker while traced. What other tasks and the client take stays. From
//! the causes of the time of all requests, and of those of the tail, follows how many times as long both
//! are; an estimate, and not taken out of any number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reconstruct::parts::CauseShare;
use crate::reconstruct::stages::Cause;
use crate::reconstruct::window::Interval;
use crate::reconstruct::window::estimate::Estimate;

/// Of a tail that is longer than this, more than a third is the tracer's own doing: where its time goes
/// says little of the untraced service. Up to here the estimate is given beside the numbers.
pub const TAIL_MAX: f64 = 1.5;
/// A worker that is busier while traced has a queue of no known length without hooks.
const BUSY_MAX: f64 = 0.97;

/// What hooks do to the service while arrivals are counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slowing {
    /// CPU time per TCP segment in windows ÷ the same between them; `null`: too little was done to know.
    pub cpu_ratio: Option<f64>,
    /// Of `cpu_ratio`: 95 % interval, from window to window.
    pub interval: Option<Interval>,
    /// Busy share of the busiest worker in windows.
    pub busy: f64,
    /// How many times as long requests wait behind others; `null`: not known, as where the busiest
    /// worker has no idle time.
    pub wait_ratio: Option<f64>,
    /// How many times as long requests are in the mean, by estimate.
    pub mean_ratio: Option<f64>,
    /// The same of those at and above p99.
    pub tail_ratio: Option<f64>,
    /// A larger `tail_ratio` makes the verdict `unknown`.
    pub tail_ratio_max: f64,
}

/// From what a segment costs, how busy the busiest worker was, and where the time went of all requests
/// and of those at and above p99.
pub fn slowing(
    cpu_ratio: Option<Estimate>,
    busy: f64,
    all: &[CauseShare],
    tail: &[CauseShare],
) -> Slowing {
    // Noise may say that hooks make a service faster.
    let ratio = cpu_ratio.map(|result| result.value.max(1.0));
    let wait_ratio = ratio.and_then(|ratio| {
        let longer = || ratio * ratio * (1.0 - busy / ratio) / (1.0 - busy);
        if ratio <= 1.0 { Some(1.0) } else { (busy <= BUSY_MAX).then(longer) }
    });
    let longer = |causes: &[CauseShare]| longer(causes, ratio?, wait_ratio);
    Slowing {
        cpu_ratio: cpu_ratio.map(|result| result.value),
        interval: cpu_ratio.map(Estimate::interval),
        busy,
        wait_ratio,
        mean_ratio: longer(all),
        tail_ratio: longer(tail),
        tail_ratio_max: TAIL_MAX,
    }
}

/// How many times as long as untraced these requests are; `None` if they wait behind others and it is
/// not known how much longer.
fn longer(causes: &[CauseShare], ratio: f64, wait_ratio: Option<f64>) -> Option<f64> {
    let (mut all, mut untraced) = (0.0, 0.0);
    for cause in causes.iter().filter(|cause| cause.share > 0.0) {
        all += cause.share;
        untraced += match cause.cause {
            Cause::Queuing | Cause::Imbalance => cause.share / wait_ratio?,
            Cause::Work => cause.share / ratio,
            Cause::Scheduling
            | Cause::Waiting
            | Cause::Stopped
            | Cause::Client
            | Cause::Residual => cause.share,
        };
    }
    Some(if all > 0.0 { all / untraced } else { 1.0 })
}

impl Slowing {
    /// Why p99 and its tail are not those of the untraced service.
    pub fn doubt(&self) -> Option<String> {
        const REMEDY: &str = "take p99 from the client, or trace where load is lower";
        let Some(ratio) = self.cpu_ratio else {
            return Some(format!(
                "too little work between windows to measure how much hooks slow the service: give a \
                 longer --duration; {REMEDY}"
            ));
        };
        let busy = self.busy * 100.0;
        let Some(tail_ratio) = self.tail_ratio else {
            return Some(format!(
                "the busiest worker has no idle time while traced ({busy:.0} % busy): how long requests would \
                 wait without hooks is not known; {REMEDY}"
            ));
        };
        (tail_ratio > TAIL_MAX).then(|| {
            format!(
                "hooks make the requests at and above p99 ×{tail_ratio:.2} as long, by estimate, more than \
                 ×{TAIL_MAX:.2} (work ×{ratio:.2}, {busy:.0} % busy): {REMEDY}"
            )
        })
    }
}

#[cfg(test)]
mod tests;
