//! Quantiles out of a histogram, finer than its bins.

use hdrhistogram::Histogram;

/// Values at `qs` (ascending, in 0..1), each interpolated within its bin; empty if nothing is in it.
///
/// `Histogram::value_at_quantile` answers with the upper edge of a bin, 0.1 % too high at worst.
/// That is more than the interval of ten million requests, so intervals are made from these.
pub fn quantiles(histogram: &Histogram<u64>, qs: &[f64]) -> Vec<f64> {
    let count = histogram.len() as f64;
    let mut wanted = qs.iter().map(|q| q * count).peekable();
    let mut values = Vec::with_capacity(qs.len());
    let mut below = 0.0;
    for bin in histogram.iter_recorded() {
        let inside = bin.count_since_last_iteration() as f64;
        while let Some(rank) = wanted.next_if(|rank| *rank <= below + inside) {
            let low = histogram.lowest_equivalent(bin.value_iterated_to()) as f64;
            let high = histogram.next_non_equivalent(bin.value_iterated_to()) as f64;
            values.push(low + (high - low) * (rank - below) / inside - 0.5); // ns were rounded
        }
        below += inside;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_than_the_bins_of_the_histogram() {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        (1..=1_000_000_u64).for_each(|ns| histogram.record(ns).unwrap());
        for (value, q) in quantiles(&histogram, &[0.5, 0.95, 0.999]).iter().zip([0.5, 0.95, 0.999])
        {
            assert!((value - q * 1e6).abs() <= 2.0, "{q}: {value}");
        }
    }
}
