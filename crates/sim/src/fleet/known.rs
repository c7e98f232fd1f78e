//! How well an hour's numbers are known.

use sojourn_base::span::Times;

use crate::stats::Bins;

/// Half a 95 % interval over its value, at most; beyond it a number is `unknown`.
pub(super) const HALF_WIDTH_MAX: f64 = 0.03;
const Z_95: f64 = 1.959_964;
const TAIL: f64 = 0.99;

/// Relative half-width of the p99 and the mean, the larger one, of times in groups of `group` that
/// depend on each other, where groups do not. Infinite if it is not known at all.
pub(super) fn half_width(samples: &[f32], group: usize, times: &Times) -> f64 {
    let bins = Bins::of(times.histogram());
    let Some(p99) = bins.quantile(TAIL) else { return f64::INFINITY };
    let groups = (samples.len() / group) as f64;
    let standard_error = |of: &dyn Fn(f32) -> f64| {
        let per_group = samples
            .chunks_exact(group)
            .map(|part| part.iter().map(|ns| of(*ns)).sum::<f64>() / group as f64);
        let (sum, squares) = per_group.fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
        let mean = sum / groups;
        (mean, ((squares / groups - mean * mean).max(0.0) / (groups - 1.0)).sqrt())
    };
    let (mean, mean_error) = standard_error(&|ns| f64::from(ns));
    let (_, rank_error) = standard_error(&|ns| f64::from(u8::from(f64::from(ns) > p99)));
    tail(&bins, rank_error).max(Z_95 * mean_error / mean)
}

/// The same for the p99 of times that do not depend on each other.
pub(super) fn half_width_independent(times: &Times) -> f64 {
    let n = times.count() as f64;
    tail(&Bins::of(times.histogram()), (TAIL * (1.0 - TAIL) / n).sqrt())
}

/// Half the range of values at the ranks that the p99 may have, over the p99 (Woodruff).
fn tail(bins: &Bins, rank_error: f64) -> f64 {
    let at = |q| bins.quantile(q);
    match (at(TAIL - Z_95 * rank_error), at(TAIL), at(TAIL + Z_95 * rank_error)) {
        (Some(lo), Some(mid), Some(hi)) => (hi - lo) / 2.0 / mid,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_base::rng::{open_unit, stream};

    /// `count` exponential times, each `copies` times in a row.
    fn crowd(count: usize, copies: usize) -> (Vec<f32>, Times) {
        let mut rng = stream(1, "known", 0);
        let one = |_| std::iter::repeat_n((-open_unit(&mut rng).ln() * 1e6) as f32, copies);
        let samples: Vec<f32> = (0..count).flat_map(one).collect();
        let mut times = Times::new();
        for ns in &samples {
            times.add(ns.round() as u64);
        }
        (samples, times)
    }

    /// √(p/(n(1−p))) over ln(1/(1−p)), times 1.96: METHOD M11. The density at the p99 is the sample's own,
    /// from the 600 times within the interval: it scatters by some 5 %; four sigma.
    #[test]
    fn half_width_of_an_exponential_tail_is_the_known_one() {
        let (samples, times) = crowd(100_000, 1);
        let want = 1.96 * (99.0 / 100_000.0_f64).sqrt() / 100.0_f64.ln();
        for got in [half_width(&samples, 1, &times), half_width_independent(&times)] {
            assert!((got / want - 1.0).abs() < 0.2, "{got} {want}");
        }
    }

    /// Ten equal ones are one: √10 wider, and only if they are told to be a group.
    #[test]
    fn groups_that_depend_on_each_other_count_once() {
        let (samples, times) = crowd(10_000, 10);
        let (apart, together) = (half_width(&samples, 1, &times), half_width(&samples, 10, &times));
        assert!((together / apart / 10.0_f64.sqrt() - 1.0).abs() < 0.25, "{together} {apart}");
    }

    /// Most times are equal, one in 150 is 1,000 times as long: the mean is the worse known.
    #[test]
    fn the_mean_counts_too() {
        let mut times = Times::new();
        let samples: Vec<f32> = (0..3000).map(|i| if i % 150 == 0 { 1e6 } else { 1e3 }).collect();
        for ns in &samples {
            times.add(*ns as u64);
        }
        let (n, p) = (3000.0_f64, 1.0_f64 / 150.0);
        let sd = 999e3 * (p * (1.0 - p)).sqrt();
        let want = 1.96 * sd / n.sqrt() / (1e3 + p * 999e3);
        let got = half_width(&samples, 1, &times);
        assert!((got / want - 1.0).abs() < 0.01, "{got} {want}");
    }

    #[test]
    fn too_few_times_are_not_known_at_all() {
        let (samples, times) = crowd(100, 1);
        assert_eq!(half_width(&samples, 1, &times), f64::INFINITY);
        assert_eq!(half_width_independent(&Times::new()), f64::INFINITY);
    }
}
