//! How well a number is known from windows: by how much it differs from window to window.
//!
//! Requests of one window wait behind one another, so a hundred of them say less than a hundred from
//! a hundred windows; intervals that count requests are too short. Here a window is one draw. Ratios
//! (a mean, a stage's share) get the delete-one jackknife. A quantile gets those values whose share of
//! requests above may be the right one (Woodruff): that share's variability says how many independent
//! requests above it is worth, and their number has Poisson's limits (after Korn and Graubard). So where
//! one window makes up the tail, p99 is known as badly as from one request.
//!
//! Sources: Efron and Stein, Annals of Statistics 9 (1981); Woodruff, JASA 47 (1952); Korn and Graubard,
//! Survey Methodology 24 (1998); Lohr, Sampling: Design and Analysis, 3rd ed. (2021), 5.2 and 9.5.

use crate::jackknife;
use crate::window::Interval;

/// Of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// A function of sums over windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Over all windows.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// Windows that it comes from.
    pub n: usize,
}

impl Estimate {
    /// Value and interval at [`CONFIDENCE`].
    pub fn interval(self) -> Interval {
        let half = jackknife::student(0.975, self.n - 1) * self.se;
        Interval { low: self.value - half, high: Some(self.value + half) }
    }

    /// The same of what is not below 0 nor above `most`.
    pub fn interval_up_to(self, most: f64) -> Interval {
        let Interval { low, high } = self.interval();
        Interval { low: low.max(0.0), high: high.map(|high| high.min(most)) }
    }
}

/// `of` the sums of `parts`, one part per window; `None` for fewer than two, or where `of` is no number.
pub fn jackknife<const N: usize>(
    parts: &[[f64; N]],
    of: impl Fn(&[f64; N]) -> f64,
) -> Option<Estimate> {
    let n = parts.len();
    if n < 2 {
        return None;
    }
    let mut sums = [0.0; N];
    for part in parts {
        (0..N).for_each(|k| sums[k] += part[k]);
    }
    let without = |part: &[f64; N]| of(&std::array::from_fn(|k| sums[k] - part[k]));
    let left_out: Vec<f64> = parts.iter().map(without).collect();
    let se = jackknife::error(&left_out);
    let value = of(&sums);
    (value.is_finite() && se.is_finite()).then_some(Estimate { value, se, n })
}

/// Sum of the first over sum of the second.
pub fn ratio(parts: &[[f64; 2]]) -> Option<Estimate> {
    jackknife(parts, |[part, whole]| part / whole)
}

/// Where quantile `q` may lie: the indexes of two of `n` ascending values, the first one below which and
/// the second one above which it surely does not. `above` says of each window how many requests lie
/// above a value, and how many there are. `None`: too little lies on that side to say.
pub fn quantile(
    q: f64,
    n: usize,
    above: impl Fn(usize) -> Vec<[f64; 2]>,
) -> (Option<usize>, Option<usize>) {
    let share = |k: usize| limits(&above(k));
    // Both limits fall as the value rises.
    let first = |is_low_enough: &dyn Fn((f64, f64)) -> bool| {
        let (mut from, mut to) = (0, n);
        while from < to {
            let middle = usize::midpoint(from, to);
            match share(middle) {
                Some(found) if !is_low_enough(found) => from = middle + 1,
                _ => to = middle,
            }
        }
        from
    };
    let low = first(&|(low, _)| low < 1.0 - q).checked_sub(1);
    let high = first(&|(_, high)| high <= 1.0 - q);
    (low, (high < n && share(high).is_some()).then_some(high))
}

/// Limits of the share of requests above a value, each with a risk of 2.5 %; `None` if none lies above.
fn limits(parts: &[[f64; 2]]) -> Option<(f64, f64)> {
    const Z: f64 = 1.959_964;
    let above: f64 = parts.iter().map(|[above, _]| above).sum();
    if above == 0.0 {
        return None;
    }
    let Estimate { value, se, n } = ratio(parts)?;
    // As many independent ones vary by as much; no more than there are.
    let worth = (value / se).powi(2).min(above) * (Z / jackknife::student(0.975, n - 1)).powi(2);
    // Poisson's limits by Byar's approximation: Rothman and Boice, 1979.
    let byar = |k: f64, z: f64| k * (1.0 - 1.0 / (9.0 * k) + z / (3.0 * k.sqrt())).max(0.0).powi(3);
    Some((value * byar(worth, -Z) / worth, value * byar(worth + 1.0, Z) / worth))
}

#[cfg(test)]
mod tests;
