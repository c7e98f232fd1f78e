//! Are the gaps between arrivals exponential? Anderson–Darling with estimated scale (METHOD M7, fit
//! of arrivals).
//!
//! Tested are the planned gaps and the gaps as the instrument issued them (sent, less the wait for
//! a free connection), over all threads together, in operational time, so that a load that changes
//! is tested like a constant one. Two decisions:
//!
//! - *Scale.* A program cannot send two requests closer than one system call, and timers round: at
//!   high rates the smallest gaps must differ from the plan, and a large sample will always show
//!   it. So issued arrivals are thinned at random until their mean gap is 50 times the spread (p10
//!   to p99) of the instrument's own lag. A thinned Poisson process is Poisson, so the test stays
//!   exact; what it no longer sees lies below 2 % of the gap tested, and there the send lag itself is
//!   judged. The scale is in the result (`arrival_fit_gap_ns`).
//! - *Twice.* A test at 1 % fails one good run in a hundred, and a study has hundreds. A run is
//!   rejected if a second, disjoint sample of the same size fails too: a real misfit fails both.

use super::{Check, Evidence};

/// Limit of A*² at 1 %, exponential with unknown scale.
/// Source: Stephens, "EDF Statistics for Goodness of Fit", JASA 69 (1974), table 1; METHOD M7. (The
/// later table 4.14 of D'Agostino and Stephens (1986), which scipy uses now, has 1.959.)
pub(super) const LIMIT: f64 = 1.957;
/// Gaps in one sample.
pub(super) const GAPS: usize = 1000;
/// Fewer gaps say nothing.
pub(super) const GAPS_MIN: usize = 100;

pub(super) const PLAN: Check = Check {
    name: "plan fit",
    about: "the planned gaps between Poisson arrivals are exponential",
    source: "METHOD M7",
    in_closed_loop: false,
    is_lateness: false,
    failed: misplanned,
};

pub(super) const CHECK: Check = Check {
    name: "arrival fit",
    about: "the gaps between Poisson arrivals are exponential as issued",
    source: "METHOD M7",
    in_closed_loop: false,
    is_lateness: true,
    failed,
};

/// A*² = A² (1 + 0.6/n) of `gaps` against an exponential with their own mean; `None` if too few.
pub(super) fn anderson_darling(mut gaps: Vec<f64>) -> Option<f64> {
    if gaps.len() < GAPS_MIN {
        return None;
    }
    gaps.sort_unstable_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let below = |gap: f64| (-(-gap / mean).exp_m1()).max(1e-300).ln(); // ln F
    let above = |gap: f64| -gap / mean; // ln (1 − F)
    let sum: f64 = gaps
        .iter()
        .zip(gaps.iter().rev())
        .enumerate()
        .map(|(i, (&low, &high))| (2.0 * i as f64 + 1.0) * (below(low) + above(high)))
        .sum();
    Some((-n - sum / n) * (1.0 + 0.6 / n))
}

/// Both samples, if both are rejected.
fn rejected(first: Option<f64>, again: Option<f64>) -> Option<(f64, f64)> {
    let above = |a2: &f64| *a2 > LIMIT;
    Some((first.filter(above)?, again.filter(above)?))
}

fn misplanned(evidence: &Evidence) -> Option<String> {
    let (a2, again) = rejected(evidence.checks.planned_fit_a2, evidence.fit_again.0)?;
    Some(format!(
        "the planned gaps are not exponential (A*² {a2:.2} and {again:.2}, limit {LIMIT}); report \
         this seed: it is an error of the generator"
    ))
}

fn failed(evidence: &Evidence) -> Option<String> {
    let (a2, again) = rejected(evidence.checks.arrival_fit_a2, evidence.fit_again.1)?;
    Some(format!(
        "requests were not issued as a Poisson process (A*² {a2:.2} and {again:.2}, limit {LIMIT}); \
         {}, or lower the rate",
        evidence.next_step()
    ))
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::{open_unit, stream};

    use super::*;

    fn exponential(seed: u64, n: usize) -> Vec<f64> {
        let mut rng = stream(seed, "fit", 0);
        (0..n).map(|_| -open_unit(&mut rng).ln()).collect()
    }

    #[test]
    fn one_good_sample_in_a_hundred_is_rejected() {
        let runs = 2000;
        let rejected = (0..runs)
            .filter(|&seed| anderson_darling(exponential(seed, 500)).unwrap() > LIMIT)
            .count() as f64;
        let sigma = (f64::from(runs as u32) * 0.01 * 0.99).sqrt();
        assert!((rejected - 20.0).abs() < 4.0 * sigma, "four sigma around 20: {rejected}");
    }

    #[test]
    fn what_is_not_exponential_is_rejected() {
        let even = vec![1.0; 500];
        let clumped: Vec<f64> = exponential(1, 500).iter().map(|gap| gap * gap).collect();
        let floored: Vec<f64> = exponential(2, 1000).iter().map(|gap| gap.max(0.2)).collect();
        for gaps in [even, clumped, floored] {
            assert!(anderson_darling(gaps).unwrap() > LIMIT);
        }
    }

    #[test]
    fn the_scale_does_not_matter() {
        let gaps = exponential(3, 300);
        let scaled = gaps.iter().map(|gap| gap * 12_345.0).collect();
        let [a, b] = [gaps, scaled].map(|gaps| anderson_darling(gaps).unwrap());
        assert!((a - b).abs() < 1e-9);
    }

    /// A² = n ∫ (Fₙ − F)²/(F (1 − F)) dF, between two gaps in closed form: with Fₙ = c the integrand is
    /// c²/u + (1 − c)²/(1 − u) − 1.
    #[test]
    fn it_is_the_integral_that_defines_it() {
        for n in [100, 317] {
            let gaps: Vec<f64> = exponential(4, n).iter().map(|gap| gap.powf(1.2)).collect();
            let mean = gaps.iter().sum::<f64>() / n as f64;
            let mut below: Vec<f64> = gaps.iter().map(|gap| 1.0 - (-gap / mean).exp()).collect();
            below.sort_by(f64::total_cmp);
            let n = n as f64;
            let part = |c: f64, u: f64| {
                let left = if c > 0.0 { c * c * u.ln() } else { 0.0 };
                let right = if c < 1.0 { (1.0 - c).powi(2) * (1.0 - u).ln() } else { 0.0 };
                left - right - u
            };
            let edges: Vec<f64> = [&[0.0], &below[..], &[1.0]].concat();
            let pieces = edges.windows(2).zip(0..).map(|(edge, k)| {
                let c = f64::from(k) / n;
                part(c, edge[1]) - part(c, edge[0])
            });
            let wanted = n * pieces.sum::<f64>() * (1.0 + 0.6 / n);
            let got = anderson_darling(gaps).unwrap();
            assert!((got / wanted - 1.0).abs() < 1e-6, "{n}: {got} {wanted}");
        }
        assert!(anderson_darling(vec![1.0; 99]).is_none());
    }
}
