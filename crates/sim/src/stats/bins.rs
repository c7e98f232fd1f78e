//! Quantiles out of a histogram, finer than its bins.

use hdrhistogram::Histogram;

/// The filled bins of a histogram, and nothing else: a fraction of its memory.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    /// Lower edge, upper edge, values below the upper edge; ascending.
    filled: Vec<(f64, f64, f64)>,
}

impl Bins {
    /// Values and counts of the bins that `histogram` has filled.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let mut below = 0.0;
        let filled = histogram.iter_recorded().map(|bin| {
            below += bin.count_since_last_iteration() as f64;
            // Times were rounded to whole ns: a bin reaches half a ns further down.
            let low = histogram.lowest_equivalent(bin.value_iterated_to()) as f64 - 0.5;
            let high = histogram.next_non_equivalent(bin.value_iterated_to()) as f64 - 0.5;
            (low, high, below)
        });
        Self { filled: filled.collect() }
    }

    /// How many values there are.
    pub fn count(&self) -> f64 {
        self.filled.last().map_or(0.0, |bin| bin.2)
    }

    /// Value at `q`, interpolated within its bin; `None` if nothing is in it or `q` is not in 0..=1.
    ///
    /// `Histogram::value_at_quantile` answers with the upper edge of a bin, 0.1 % too high at worst.
    /// That is more than the interval of ten million requests, so intervals are made from these.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = q * self.count();
        let at = self.filled.partition_point(|bin| bin.2 < rank);
        let (low, high, until) = *self.filled.get(at)?;
        let below = self.below(at);
        Some(low + (high - low) * (rank - below) / (until - below))
    }

    /// Share of values below `x`, interpolated within its bin; 0 if there are none.
    pub fn share_below(&self, x: f64) -> f64 {
        let at = self.filled.partition_point(|bin| bin.1 <= x);
        let below = self.below(at);
        let inside = self.filled.get(at).map_or(0.0, |(low, high, until)| {
            ((x - low) / (high - low)).max(0.0) * (until - below)
        });
        if below + inside > 0.0 { (below + inside) / self.count() } else { 0.0 }
    }

    /// Values in the bins before number `at`.
    fn below(&self, at: usize) -> f64 {
        at.checked_sub(1).map_or(0.0, |before| self.filled[before].2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Bins {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        (1..=1_000_000_u64).for_each(|ns| histogram.record(ns).unwrap());
        Bins::of(&histogram)
    }

    #[test]
    fn finer_than_the_bins_of_the_histogram() {
        let bins = ramp();
        assert_eq!(bins.count(), 1e6);
        for q in [0.5, 0.95, 0.999] {
            let value = bins.quantile(q).unwrap();
            assert!((value - q * 1e6).abs() <= 2.0, "{q}: {value}");
        }
    }

    #[test]
    fn the_share_below_a_quantile_is_the_quantile() {
        let bins = ramp();
        for q in [0.0001, 0.3, 0.5, 0.95, 0.999, 1.0] {
            assert!((bins.share_below(bins.quantile(q).unwrap()) - q).abs() < 1e-9, "{q}");
        }
        assert_eq!((bins.share_below(0.0), bins.share_below(1e12)), (0.0, 1.0));
    }

    #[test]
    fn between_two_bins_nothing_is_added() {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        histogram.record_n(100, 3).unwrap();
        histogram.record_n(900, 1).unwrap();
        let bins = Bins::of(&histogram);
        assert_eq!((bins.share_below(500.0), bins.share_below(99.0)), (0.75, 0.0));
        assert_eq!(bins.quantile(0.75), Some(100.5));
    }

    #[test]
    fn no_value_where_there_is_none() {
        let empty = Bins::default();
        assert_eq!((empty.quantile(0.5), empty.share_below(1.0), empty.count()), (None, 0.0, 0.0));
        assert_eq!((ramp().quantile(1.01), ramp().quantile(-0.01)), (None, None));
    }
}
