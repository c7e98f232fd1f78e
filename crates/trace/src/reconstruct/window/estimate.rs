//! How well a number is known from windows: by how much it differs from window to window.
//!
//! Requests of one window wait behind one another, so a hundred of them say less than a hundred from
//! a hundred windows; intervals that count requests are too short. Here a window is one draw. Ratios
//! (a mean, a stage's share) lie where [`limits`] says, what tracing costs gets the delete-one jackknife.
//! A quantile gets those values whose share of requests above may be the right one (Woodruff), by the
//! same limits. So where one window makes up the tail, p99 is known as badly as from one request.
//!
//! Sources: Efron and Stein, Annals of Statistics 9 (1981); Woodruff, JASA 47 (1952); Lohr, Sampling:
//! Design and Analysis, 3rd ed. (2021), 5.2 and 9.5.

use crate::reconstruct::jackknife;
use crate::reconstruct::window::{Interval, limits};

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

/// Where quantile `q` may lie: the indexes of two of `n` ascending values, the first one below which and
/// the second one above which it surely does not. `above` says of each window how many requests lie
/// above a value, and how many there are. `None`: too little lies on that side to say.
pub fn quantile(
    q: f64,
    n: usize,
    above: impl Fn(usize) -> Vec<[f64; 2]>,
) -> (Option<usize>, Option<usize>) {
    let may_be = |k: usize| limits::may_be(&above(k), 1.0 - q);
    // Both limits of the share above fall as the value rises.
    let first = |is_low_enough: &dyn Fn((bool, bool)) -> bool| {
        let (mut from, mut to) = (0, n);
        while from < to {
            let middle = usize::midpoint(from, to);
            match may_be(middle) {
                Some(result) if !is_low_enough(result) => from = middle + 1,
                _ => to = middle,
            }
        }
        from
    };
    let low = first(&|(_, may_be_less)| may_be_less).checked_sub(1);
    let high = first(&|(may_be_more, _)| !may_be_more);
    (low, (high < n && may_be(high).is_some()).then_some(high))
}

#[cfg(test)]
mod tests;
