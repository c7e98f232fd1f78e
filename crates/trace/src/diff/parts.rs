//! Mean and tail of one side by part, for any weights of its blocks.
//!
//! Requests cluster: a hundred that wait behind one stall are one event. So a block of requests is what is drawn.
//! The tail is the slowest 1 − q of all requests. Its row at the edge counts in part, so that the tail has exactly
//! that many.
//!
//! Source: Rockafellar and Uryasev, Conditional value-at-risk for general loss distributions, J. Banking &
//! Finance 26 (2002), for the tail's mean.

use std::collections::BTreeSet;

/// Requests of similar total in one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Least total of the row, ns.
    pub from_ns: u64,
    /// How many.
    pub requests: f64,
    /// Sum of each part, ns.
    pub parts_ns: Vec<f64>,
}

/// Requests that came at about the same time.
pub type Block = Vec<Row>;

/// The blocks with one part for each group: the sum of these parts.
pub fn grouped(blocks: &[Block], groups: &[Vec<usize>]) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    for row in blocks.iter_mut().flatten() {
        row.parts_ns =
            groups.iter().map(|group| group.iter().map(|&k| row.parts_ns[k]).sum()).collect();
    }
    blocks
}

/// The blocks with one more part: the sum of the others.
pub fn with_total(blocks: &[Block]) -> Vec<Block> {
    let mut blocks = blocks.to_vec();
    for row in blocks.iter_mut().flatten() {
        row.parts_ns.push(row.parts_ns.iter().sum());
    }
    blocks
}

/// A number for each part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Means {
    /// Per request, ns.
    pub parts_ns: Vec<f64>,
    /// Requests that it is the mean of.
    pub requests: f64,
}

/// One side: of each block the sums from each row on, requests first, then the parts.
#[derive(Clone, Debug)]
pub struct Side {
    sums: Vec<Vec<f64>>,
    rows: usize,
    columns: usize,
    share: f64,
}

impl Side {
    /// The slowest 1 − `q` of these requests, all if `q` is 0; `None` without any.
    pub fn new(blocks: &[Block], q: f64) -> Option<Self> {
        let edges: BTreeSet<u64> = blocks.iter().flatten().map(|row| row.from_ns).collect();
        let edges: Vec<u64> = edges.into_iter().collect();
        let columns = 1 + blocks.iter().flatten().next()?.parts_ns.len();
        let rows = edges.len();
        let from_each = |block: &Block| {
            let mut sums = vec![0.0; (rows + 1) * columns];
            for row in block {
                let at = edges.binary_search(&row.from_ns).expect("an edge of every row");
                sums[at * columns] += row.requests;
                (1..columns).for_each(|c| sums[at * columns + c] += row.parts_ns[c - 1]);
            }
            for at in (0..rows * columns).rev() {
                sums[at] += sums[at + columns];
            }
            sums
        };
        let sums = blocks.iter().map(from_each).collect();
        Some(Self { sums, rows, columns, share: 1.0 - q })
    }

    /// How many blocks it has.
    pub fn blocks(&self) -> usize {
        self.sums.len()
    }

    /// All blocks with the same weight.
    pub fn means(&self) -> Means {
        let mut means = Means::default();
        self.weighted(&vec![1.0; self.blocks()], &mut means);
        means
    }

    /// The means where each block counts so often; as they were if no block counts.
    pub fn weighted(&self, weights: &[f64], means: &mut Means) {
        let requests = self.share * self.sum(weights, 0, 0);
        if requests <= 0.0 {
            return;
        }
        let (mut edge, mut beyond) = (0, self.rows);
        while beyond - edge > 1 {
            let middle = usize::midpoint(edge, beyond);
            if self.sum(weights, middle, 0) >= requests { edge = middle } else { beyond = middle }
        }
        let above = self.sum(weights, edge + 1, 0);
        let at_edge = self.sum(weights, edge, 0) - above;
        let inside =
            if at_edge > 0.0 { ((requests - above) / at_edge).clamp(0.0, 1.0) } else { 0.0 };
        let taken = |sums: &[f64], c: usize| {
            let (at, next) = (edge * self.columns + c, (edge + 1) * self.columns + c);
            inside * (sums[at] - sums[next]) + sums[next]
        };
        means.requests = requests;
        means.parts_ns.clear();
        means.parts_ns.extend((1..self.columns).map(|c| {
            self.each(weights).map(|(weight, sums)| weight * taken(sums, c)).sum::<f64>() / requests
        }));
    }

    fn each<'a>(&'a self, weights: &'a [f64]) -> impl Iterator<Item = (f64, &'a [f64])> {
        weights.iter().copied().zip(self.sums.iter().map(Vec::as_slice)).filter(|(w, _)| *w > 0.0)
    }

    /// Column `c` of the rows from `row` on.
    fn sum(&self, weights: &[f64], row: usize, c: usize) -> f64 {
        self.each(weights).map(|(weight, sums)| weight * sums[row * self.columns + c]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of `total` ns, a quarter of it in the first of two parts.
    fn row(total: u64) -> Row {
        let ns = total as f64;
        Row { from_ns: total, requests: 1.0, parts_ns: vec![ns / 4.0, ns * 3.0 / 4.0] }
    }

    fn means(blocks: &[Block], q: f64) -> Means {
        Side::new(&with_total(blocks), q).unwrap().means()
    }

    #[test]
    fn a_mean_is_that_of_all_and_a_tail_that_of_the_slowest_share() {
        let blocks: Vec<Block> = [1..=50, 51..=100].map(|range| range.map(row).collect()).to_vec();
        let all = means(&blocks, 0.0).parts_ns;
        assert!((all[2] - 50.5).abs() < 1e-9 && (all[0] - 12.625).abs() < 1e-9, "{all:?}");
        let slow = means(&blocks, 0.9);
        assert!((slow.parts_ns[2] - 95.5).abs() < 1e-9, "{slow:?}");
        assert!((slow.requests - 10.0).abs() < 1e-9);
        assert!(Side::new(&[], 0.9).is_none() && Side::new(&[vec![]], 0.9).is_none());
    }

    /// A row that holds both the tail's first requests and others counts in part.
    #[test]
    fn the_row_at_the_edge_counts_in_part() {
        let wide = |from_ns, requests: f64, each| Row {
            from_ns,
            requests,
            parts_ns: vec![requests * each],
        };
        let blocks = vec![vec![wide(0, 80.0, 1.0), wide(10, 15.0, 12.0), wide(20, 5.0, 30.0)]];
        let slow = means(&blocks, 0.9).parts_ns;
        assert!((slow[0] - (5.0 * 30.0 + 5.0 * 12.0) / 10.0).abs() < 1e-9);
    }

    /// A block with the weight of two is the block twice.
    #[test]
    fn weights_are_how_often_a_block_counts() {
        let blocks: Vec<Block> =
            (0..4_u64).map(|b| (1..=30).map(|i| row(i * (b + 7) % 101 + 1)).collect()).collect();
        let twice = [&blocks[..1], &blocks[..1], &blocks[2..]].concat();
        let mut weighted = Means::default();
        Side::new(&blocks, 0.8).unwrap().weighted(&[2.0, 0.0, 1.0, 1.0], &mut weighted);
        let copied = Side::new(&twice, 0.8).unwrap().means();
        for k in 0..2 {
            assert!((weighted.parts_ns[k] - copied.parts_ns[k]).abs() < 1e-9);
        }
    }
}
