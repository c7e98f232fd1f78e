//! Hedged requests: a second copy is sent when the first is late; the faster one counts.
//!
//! Source: Dean and Barroso, The Tail at Scale, CACM 56(2), 2013. Independent copies are assumed,
//! and that the extra load does not slow the servers down: a bound from below.

use super::invert;

/// Quantile `q` of the time, and the share of requests that send a second copy.
///
/// `above(t)` is P(time > t) of one copy; the second one leaves after `delay_ns`.
pub fn hedged(q: f64, delay_ns: f64, above: impl Fn(f64) -> f64) -> (f64, f64) {
    let late = |t: f64| if t <= delay_ns { 1.0 } else { above(t - delay_ns) };
    let time = invert(q, delay_ns.max(1.0), |t| 1.0 - above(t) * late(t));
    (time, above(delay_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_copies_at_once_halve_an_exponential_and_double_the_load() {
        let (p99, extra) = hedged(0.99, 0.0, |t| (-t).exp());
        assert!((p99 - 100.0_f64.ln() / 2.0).abs() < 1e-9);
        assert!((extra - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_copy_after_p95_costs_five_percent_and_cuts_the_p99() {
        let delay = 20.0_f64.ln();
        let (p99, extra) = hedged(0.99, delay, |t| (-t).exp());
        assert!((extra - 0.05).abs() < 1e-12);
        assert!(p99 < 100.0_f64.ln() && p99 > delay);
    }
}
