//! Where a ratio may lie, from few windows of which one may weigh as much as all others.
//!
//! A stall of 4 ms holds up hundreds of requests in one window and none in the next, so a mean, or a
//! stage's share, may come from three windows of thirty. Around such a number intervals of the form
//! value ± t · error are too short and symmetrical, though what is uncertain is how many more stalls
//! there might have been: of simulated queues with six stalls in all windows they held in 69 to 95 of
//! 100 cases. So a ratio is held to lie where what speaks for more of it may be balanced by what speaks
//! for less: parts − ratio · wholes, window by window, may sum to 0. Either side is a weighted sum of
//! rare events with gamma limits, the upper one as if one more window like the heaviest had come (Fay
//! and Feuer), and both together have the limits of a difference (Zou and Donner). How few windows the
//! spread is known from follows from their kurtosis: Satterthwaite's degrees of freedom.
//!
//! What no window saw is in no interval: see [`crate::reconstruct::window::Accuracy::blind_hz`].
//!
//! Sources: Fay and Feuer, Statistics in Medicine 16 (1997); Zou and Donner, Statistics in Medicine 27
//! (2008); O'Neill, The American Statistician 68 (2014), for the variance of a sample's variance.

use crate::reconstruct::jackknife;
use crate::reconstruct::window::Interval;

/// The search for a limit ends at this part of the value: bins are wider.
const STEPS: u32 = 40;

/// Where the sum of the first over that of the second may lie; `freedom_max`: from so many draws less
/// one at most. `None` for fewer than two windows, or where the ratio is no number; no upper end where a
/// few windows are all there is.
pub fn ratio(parts: &[[f64; 2]], freedom_max: usize) -> Option<Interval> {
    let [part, whole] = sums(parts);
    let value = part / whole;
    if parts.len() < 2 || !value.is_finite() {
        return None;
    }
    let z = spread(parts, value, freedom_max);
    let at = |ratio: f64| balance(parts, ratio, z);
    // Beyond the largest ratio of a window all speak for less, below the least all for more.
    let each = || parts.iter().filter(|part| part[1] > 0.0).map(|[part, whole]| part / whole);
    let (least, most) = (each().fold(value, f64::min), each().fold(value, f64::max));
    let beyond = most + (most - least).max(1e-9 * most);
    let low = if at(0.0).0 > 0.0 { bisect(0.0, value, |ratio| at(ratio).0 > 0.0) } else { 0.0 };
    let is_bounded = at(beyond).1 < 0.0;
    let high = is_bounded.then(|| bisect(value, beyond, |ratio| at(ratio).1 >= 0.0));
    Some(Interval { low, high })
}

/// May the share of the first in the second be more than `share`, and may it be less? (Of requests above
/// a value: a quantile's interval by Woodruff.) `None` for fewer than two windows, or where all are 0.
pub fn may_be(parts: &[[f64; 2]], share: f64) -> Option<(bool, bool)> {
    let [part, whole] = sums(parts);
    if parts.len() < 2 || part == 0.0 {
        return None;
    }
    let z = spread(parts, part / whole, parts.len() - 1);
    let (low, high) = balance(parts, share, z);
    Some((high > 0.0, low < 0.0))
}

fn sums(parts: &[[f64; 2]]) -> [f64; 2] {
    parts.iter().fold([0.0; 2], |[a, b], [part, whole]| [a + part, b + whole])
}

/// So many standard errors to either side, by how many windows they are estimated from.
fn spread(parts: &[[f64; 2]], value: f64, freedom_max: usize) -> f64 {
    let squares = || parts.iter().map(|[part, whole]| (part - value * whole).powi(2));
    let n = parts.len() as f64;
    let (second, fourth) =
        (squares().sum::<f64>(), squares().map(|square| square * square).sum::<f64>());
    let kurtosis = n * fourth / (second * second);
    // They do not differ: kurtosis is no number, and of the two limits the other is taken.
    let freedom = (2.0 * n / (kurtosis - 1.0)).min(freedom_max as f64).min(n - 1.0);
    jackknife::student(0.975, (freedom as usize).max(1))
}

/// Limits of the sum of parts − ratio · wholes.
fn balance(parts: &[[f64; 2]], ratio: f64, z: f64) -> (f64, f64) {
    let (mut more, mut less) = (Side::default(), Side::default());
    for [part, whole] in parts {
        let weight = part - ratio * whole;
        if weight > 0.0 { more.add(weight) } else { less.add(-weight) }
    }
    let (more_low, more_high) = more.limits(z);
    let (less_low, less_high) = less.limits(z);
    let value = more.sum - less.sum;
    (
        value - (more.sum - more_low).hypot(less_high - less.sum),
        value + (more_high - more.sum).hypot(less.sum - less_low),
    )
}

/// Weights of one sign.
#[derive(Clone, Copy, Default)]
struct Side {
    sum: f64,
    squares: f64,
    most: f64,
}

impl Side {
    fn add(&mut self, weight: f64) {
        self.sum += weight;
        self.squares += weight * weight;
        self.most = self.most.max(weight);
    }

    /// Of the sum's expectation, as of Poisson events with these weights.
    fn limits(self, z: f64) -> (f64, f64) {
        if self.sum == 0.0 {
            return (0.0, 0.0);
        }
        let mut one_more = self;
        one_more.add(self.most);
        (self.gamma(-z), one_more.gamma(z))
    }

    /// The gamma distribution's quantile by Wilson and Hilferty, as in Byar's limits.
    fn gamma(self, z: f64) -> f64 {
        let events = self.sum * self.sum / self.squares;
        self.sum * (1.0 - 1.0 / (9.0 * events) + z / (3.0 * events.sqrt())).max(0.0).powi(3)
    }
}

/// The end of where `is_inside` changes, between two ratios of which it holds for one only.
fn bisect(from: f64, to: f64, is_like_from: impl Fn(f64) -> bool) -> f64 {
    let (mut from, mut to) = (from, to);
    for _ in 0..STEPS {
        let middle = f64::midpoint(from, to);
        if is_like_from(middle) { from = middle } else { to = middle }
    }
    to
}

#[cfg(test)]
mod tests;
