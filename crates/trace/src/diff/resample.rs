//! Intervals and p-values of differences between two sides.
//!
//! Two traces: blocks of each side are drawn with replacement, mean and tail are taken anew from each draw. The
//! draws' standard deviation is the standard error of a side, widened by n/(n − 1) because draws of n blocks vary by
//! less than samples do. The difference has Student's t with Welch's degrees of freedom, so few blocks and rare
//! events make p-values large. An interval is at least as wide as 95 % of the draws stray: that counts where a tail
//! is filled by one stall.
//! Pairs of traces in turn: the differences of the pairs are the draws, with Student's t, because starts and hours
//! differ by more than blocks of one trace do.
//!
//! Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), ch. 6 and 12; Welch, Biometrika 34 (1947);
//! Schmeiser, Batch size effects, Operations Research 30 (1982).

use sojourn_base::rng::{self, Rng, RngExt as _};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

use crate::diff::parts::Side;

/// Draws of blocks.
pub const DRAWS: usize = 4000;
/// Of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// What adding up leaves of nothing, as a share of what was added.
const ROUNDING: f64 = 1e-9;

/// How a part differs between two sides: the difference and its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Second less first, ns.
    pub ns: f64,
    /// Half of its interval, ns; infinite: no end is known.
    pub half_ns: f64,
    /// Chance of a difference as large as this if it is at most the least that counts.
    pub p: f64,
}

/// The differences of two traces by their blocks; `least_ns`, by part: smaller ones do not count.
pub fn of_two(first: &Side, second: &Side, least_ns: &[f64], seed: u64) -> Vec<Change> {
    let mut rng = rng::stream(seed, "trace diff", 0);
    let sides = [first, second].map(|side| (side.means().parts_ns, strays(side, &mut rng)));
    let blocks = [first.blocks(), second.blocks()].map(|n| n as f64);
    let [(before, of_first), (after, of_second)] = &sides;
    (0..before.len())
        .map(|k| {
            let ns = after[k] - before[k];
            let variances = [(of_first, 0), (of_second, 1)].map(|(strays, side)| {
                let squares: f64 = strays[k].iter().map(|stray| stray * stray).sum();
                squares / DRAWS as f64 * blocks[side] / (blocks[side] - 1.0).max(1.0)
            });
            let error = variances.iter().sum::<f64>().sqrt();
            if error <= ROUNDING * (before[k].abs() + after[k].abs()) {
                let p = if ns.abs() > least_ns[k] { 0.0 } else { 1.0 };
                return Change { ns, half_ns: 0.0, p };
            }
            let mut apart: Vec<f64> =
                of_first[k].iter().zip(&of_second[k]).map(|(a, b)| (b - a).abs()).collect();
            apart.sort_unstable_by(f64::total_cmp);
            let at = (CONFIDENCE * DRAWS as f64).ceil() as usize - 1;
            let t =
                StudentsT::new(0.0, 1.0, freedom(variances, blocks)).expect("a positive number");
            let half_ns = (t.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)) * error).max(apart[at]);
            let beyond = t.cdf(-((ns.abs() - least_ns[k]) / error).max(0.0));
            Change { ns, half_ns, p: (2.0 * beyond).min(1.0) }
        })
        .collect()
}

/// By how much each part strays from that of all blocks, by part and draw.
fn strays(side: &Side, rng: &mut Rng) -> Vec<Vec<f64>> {
    let all = side.means();
    let mut drawn = all.clone();
    let mut strays = vec![Vec::with_capacity(DRAWS); all.parts_ns.len()];
    for _ in 0..DRAWS {
        side.weighted(&weights(side.blocks(), rng), &mut drawn);
        for (k, strays) in strays.iter_mut().enumerate() {
            strays.push(drawn.parts_ns[k] - all.parts_ns[k]);
        }
    }
    strays
}

/// Welch's degrees of freedom.
fn freedom(variances: [f64; 2], blocks: [f64; 2]) -> f64 {
    let each = |side: usize| variances[side].powi(2) / (blocks[side] - 1.0).max(1.0);
    ((variances[0] + variances[1]).powi(2) / (each(0) + each(1))).max(1.0)
}

/// How often each block is drawn.
fn weights(n: usize, rng: &mut Rng) -> Vec<f64> {
    let mut weights = vec![0.0; n];
    (0..n).for_each(|_| weights[rng.random_range(0..n)] += 1.0);
    weights
}

/// The differences of pairs, each by part, ns; two pairs or more.
pub fn of_pairs(differences: &[Vec<f64>], least_ns: &[f64]) -> Vec<Change> {
    let n = differences.len() as f64;
    let freedom = differences.len() - 1;
    let t = StudentsT::new(0.0, 1.0, freedom as f64).expect("two pairs or more");
    (0..differences[0].len())
        .map(|k| {
            let mean = differences.iter().map(|pair| pair[k]).sum::<f64>() / n;
            let squares: f64 = differences.iter().map(|pair| (pair[k] - mean).powi(2)).sum();
            let error = (squares / (n - 1.0) / n).sqrt();
            if error <= 0.0 {
                return Change { ns: mean, half_ns: 0.0, p: 1.0 };
            }
            let half_ns = t.inverse_cdf(f64::midpoint(1.0, CONFIDENCE)) * error;
            let beyond = t.cdf(-((mean.abs() - least_ns[k]) / error).max(0.0));
            Change { ns: mean, half_ns, p: (2.0 * beyond).min(1.0) }
        })
        .collect()
}

/// Holm's p-values of a family: one that is at most α is refused at the family's level α.
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|&a, &b| ps[a].total_cmp(&ps[b]));
    let (mut adjusted, mut highest) = (vec![1.0; ps.len()], 0.0_f64);
    for (number, &k) in order.iter().enumerate() {
        highest = highest.max((ps[k] * (ps.len() - number) as f64).min(1.0));
        adjusted[k] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::parts::Row;

    /// Blocks of a hundred requests, each with one of these means.
    fn side(means: &[f64]) -> Side {
        let row =
            |mean: &f64| vec![Row { from_ns: 0, requests: 100.0, parts_ns: vec![100.0 * mean] }];
        Side::new(&means.iter().map(row).collect::<Vec<_>>(), 0.0).unwrap()
    }

    /// The differences' standard error is the textbook's, so an interval is about two of them wide.
    #[test]
    fn an_interval_is_as_wide_as_the_blocks_scatter() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i * 7 % 20)).collect();
        let more: Vec<f64> = values.iter().map(|value| value + 20.0).collect();
        let change = of_two(&side(&values), &side(&more), &[0.0], 1)[0];
        let error = (2.0_f64 * 35.0 / 20.0).sqrt(); // the variance of 0 to 19 is 35
        assert!((change.ns - 20.0).abs() < 1e-9);
        let ratio = change.half_ns / error;
        assert!((1.9..2.2).contains(&ratio), "{ratio}");
        assert!(change.p < 1e-3, "{}", change.p);
        let within = of_two(&side(&values), &side(&more), &[19.0], 1)[0];
        assert!(within.p > 0.3, "{}", within.p);
    }

    #[test]
    fn one_event_is_no_difference_and_ten_are() {
        let mut values = [0.0; 20];
        values[3] = 100.0;
        let change = of_two(&side(&[0.0; 20]), &side(&values), &[0.0], 1)[0];
        assert!(change.half_ns > change.ns && change.p > 0.2, "{change:?}");
        (0..20).step_by(2).for_each(|k| values[k] = 90.0 + k as f64);
        let change = of_two(&side(&[0.0; 20]), &side(&values), &[0.0], 1)[0];
        assert!(change.half_ns < change.ns && change.p < 1e-3, "{change:?}");
    }

    /// A stall that fills the whole tail: its requests are all alike, and yet it is one event.
    #[test]
    fn a_tail_that_one_block_fills_is_one_event() {
        let row = |from_ns: u64, requests: f64| Row {
            from_ns,
            requests,
            parts_ns: vec![requests * from_ns as f64],
        };
        let usual = vec![row(10, 50.0), row(20, 50.0)];
        let mut blocks = vec![usual.clone(); 20];
        let before = Side::new(&blocks, 0.99).unwrap();
        blocks[3].push(row(5000, 60.0));
        let change = of_two(&before, &Side::new(&blocks, 0.99).unwrap(), &[0.0], 1)[0];
        assert!(change.ns > 4000.0 && change.p > 0.02, "{change:?}");
        assert!(change.half_ns > 0.99 * change.ns, "{change:?}");
        for block in &mut blocks {
            block.push(row(5000, 3.0));
        }
        let change = of_two(&before, &Side::new(&blocks, 0.99).unwrap(), &[0.0], 1)[0];
        assert!(change.ns > 4000.0 && change.p < 1e-3, "{change:?}");
    }

    #[test]
    fn pairs_are_draws() {
        let change = of_pairs(&[vec![1.0], vec![2.0], vec![3.0], vec![4.0], vec![5.0]], &[0.0])[0];
        assert!((change.ns - 3.0).abs() < 1e-9);
        assert!((change.half_ns - 2.776 * 0.5_f64.sqrt()).abs() < 1e-3, "{change:?}");
        assert!((change.p - 0.0132).abs() < 1e-3, "{change:?}");
    }

    #[test]
    fn a_family_is_refused_from_the_smallest_on() {
        assert_eq!(holm(&[0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }
}
