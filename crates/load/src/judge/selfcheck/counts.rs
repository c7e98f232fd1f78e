//! Do arrivals clump? Counts per window: their variance over their mean is 1 for Poisson arrivals.
//!
//! A window is at least 50 times as long as the spread of the instrument's own lag, as in `fit`:
//! lateness of less than that moves counts between neighbours, and is judged itself.
//!
//! The index of W windows with mean count m scatters by √((2 + 1/m)/W) around 1 however well the
//! load is made (variance of the sample variance of Poisson counts), so with few windows M7's
//! [0.9, 1.1] alone would reject good runs: 3.3 sigma (one run in a thousand) if that is more.

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "dispersion",
    about: "counts per window vary like those of a Poisson process",
    source: "METHOD M7",
    in_closed_loop: false,
    is_lateness: true,
    failed,
};

const WITHIN: f64 = 0.1;
const SIGMAS: f64 = 3.3;
/// Fewer windows say nothing.
const WINDOWS_MIN: usize = 30;

/// Index of dispersion of `counts`, and by how much it may differ from 1; `None` if too few.
pub(super) fn dispersion(counts: &[u32]) -> Option<(f64, f64)> {
    if counts.len() < WINDOWS_MIN {
        return None;
    }
    let n = counts.len() as f64;
    let mean = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / n;
    if mean <= 0.0 {
        return None;
    }
    let variance = counts.iter().map(|&c| (f64::from(c) - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((variance / mean, WITHIN.max(SIGMAS * ((2.0 + 1.0 / mean) / n).sqrt())))
}

fn failed(evidence: &Evidence) -> Option<String> {
    let (index, within) = (evidence.checks.dispersion?, evidence.checks.dispersion_within?);
    ((index - 1.0).abs() > within).then(|| {
        format!(
            "the counts of requests per window have a variance of {index:.3} times their mean, 1 ± \
             {within:.3} may be; the client sends in clumps: {}, or lower the rate",
            evidence.next_step()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_counts_have_none_and_clumped_counts_have_much() {
        let (even, within) = dispersion(&vec![10; 10_000]).unwrap();
        assert!(even == 0.0 && (within - 0.1).abs() < 1e-12);
        let clumped: Vec<u32> = (0..1000).map(|i| if i % 2 == 0 { 0 } else { 20 }).collect();
        let index = dispersion(&clumped).unwrap().0;
        assert!((index - 10.0 * 1000.0 / 999.0).abs() < 1e-9, "100 · n/(n−1) / 10: {index}");
    }

    /// 36 windows of 2 and 6 in turn: 3.3 √((2 + ¼)/36) is 0.825.
    #[test]
    fn the_limit_is_the_scatter_of_good_runs() {
        let counts: Vec<u32> = (0..36).map(|i| if i % 2 == 0 { 2 } else { 6 }).collect();
        let (index, within) = dispersion(&counts).unwrap();
        assert!((index - 36.0 / 35.0).abs() < 1e-12 && (within - 0.825).abs() < 1e-12, "{within}");
        assert!(dispersion(&[1; 30]).is_some() && dispersion(&[0; 100]).is_none());
    }

    #[test]
    fn few_windows_widen_the_limit_and_very_few_say_nothing() {
        assert!(dispersion(&[1; 100]).unwrap().1 > 0.5);
        assert!(dispersion(&[1; 29]).is_none());
    }
}
