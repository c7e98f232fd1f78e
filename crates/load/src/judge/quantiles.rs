//! Which quantiles a sample can carry (METHOD M10).
//!
//! An upper confidence bound for quantile q of n independent times is an order statistic ([`ranks`]). Where its
//! rank is beyond n the sample has no such bound: its "p99" is its largest time, whatever the service does.

use sojourn_base::quantiles::{name_of, ranks};

/// Fewest independent times for which quantile `q` has a finite upper bound (METHOD M10).
pub fn smallest_sample(q: f64) -> u64 {
    let is_carried = |n: u64| ranks(n, q).1 <= n as f64;
    let mut high = 1;
    while !is_carried(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if is_carried(middle) { high = middle } else { low = middle }
    }
    high
}

/// Why quantile `q` of `requests` times is refused; `None`: they carry it.
pub fn refused(q: f64, requests: u64) -> Option<String> {
    let needed = smallest_sample(q);
    (requests < needed)
        .then(|| format!("{} needs {needed} requests, there are {requests}", name_of(q)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_m10() {
        let wanted = [(0.95, 110), (0.99, 563), (0.999, 5_661), (0.9999, 56_646)];
        for (q, n) in wanted {
            assert_eq!(smallest_sample(q), n, "{q}");
        }
    }

    /// The rank's exact coverage, summed term by term: at least 95 % of samples of that size have their
    /// largest time but one above the true quantile, and of one less the bound is beyond the sample.
    #[test]
    fn the_smallest_sample_covers_by_the_binomial_sum() {
        for q in [0.9_f64, 0.95, 0.99, 0.999] {
            let n = smallest_sample(q);
            let below = |most: u64| -> f64 {
                let mut term = q.powf(n as f64); // all below the quantile
                let mut sum = 0.0;
                for above in 0..=most {
                    sum += term;
                    term *= (n - above) as f64 / (above + 1) as f64 * (1.0 - q) / q;
                }
                sum
            };
            assert!(below(0) < 0.025, "{q}: {}", below(0));
        }
    }
}
