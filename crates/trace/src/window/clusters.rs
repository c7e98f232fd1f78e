//! What each window saw: small enough to keep hundreds of them, enough to tell how they differ.

use crate::bins;
use crate::stages::{COUNT, STAGES};
use crate::window::estimate::{self, CONFIDENCE, ratio};
use crate::window::{Accuracy, Interval, StageAccuracy};

/// More windows than this are put together, two by two: an hour has thousands.
const MOST: usize = 512;

/// The head of a row: everything but its histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Requests in it.
    pub requests: u64,
    /// Sum of their totals, ns.
    pub total_ns: u64,
    /// Sum per stage, ns.
    pub stage_ns: [u64; COUNT],
}

impl Head {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.total_ns += other.total_ns;
        (0..COUNT).for_each(|k| self.stage_ns[k] += other.stage_ns[k]);
    }

    fn less(&self, other: &Self) -> Self {
        Self {
            requests: self.requests - other.requests,
            total_ns: self.total_ns - other.total_ns,
            stage_ns: std::array::from_fn(|k| self.stage_ns[k] - other.stage_ns[k]),
        }
    }
}

/// The kernel's counts so far: rows by number, totals by bin.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// One for each of [`bins::ROWS`]; fewer mean that the others are empty.
    pub rows: Vec<Head>,
    /// One for each bin of [`bins::TOTAL`].
    pub totals: Vec<u64>,
}

/// Requests of one window, or of several that were put together.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    rows: Vec<(usize, Head)>,
    totals: Vec<(usize, u64)>,
}

impl Cluster {
    /// What came between two snapshots.
    fn between(before: &Snapshot, now: &Snapshot) -> Self {
        let none = Head::default();
        let was = |k: usize| before.rows.get(k).unwrap_or(&none);
        let more =
            |k: usize, head: &Head| (head.requests > was(k).requests).then(|| head.less(was(k)));
        let bin = |k: usize| before.totals.get(k).copied().unwrap_or(0);
        Self {
            rows: (0..).zip(&now.rows).filter_map(|(k, head)| Some((k, more(k, head)?))).collect(),
            totals: (0..)
                .zip(&now.totals)
                .map(|(k, n)| (k, n - bin(k)))
                .filter(|(_, more)| *more > 0)
                .collect(),
        }
    }

    fn merge(&mut self, other: &Self) {
        for (number, head) in &other.rows {
            match self.rows.binary_search_by_key(number, |(k, _)| *k) {
                Ok(at) => self.rows[at].1.add(head),
                Err(at) => self.rows.insert(at, (*number, *head)),
            }
        }
        for (bin, n) in &other.totals {
            match self.totals.binary_search_by_key(bin, |(k, _)| *k) {
                Ok(at) => self.totals[at].1 += n,
                Err(at) => self.totals.insert(at, (*bin, *n)),
            }
        }
    }

    /// All rows from `first` on, added.
    fn rows_from(&self, first: usize) -> Head {
        let mut sum = Head::default();
        self.rows.iter().filter(|(k, _)| *k >= first).for_each(|(_, head)| sum.add(head));
        sum
    }

    /// Requests above this bin, and all.
    fn above(&self, bin: usize) -> [f64; 2] {
        let all: u64 = self.totals.iter().map(|(_, n)| n).sum();
        let part: u64 = self.totals.iter().filter(|(k, _)| *k > bin).map(|(_, n)| n).sum();
        [part as f64, all as f64]
    }
}

/// The windows of a trace, at most [`MOST`].
#[derive(Debug)]
pub struct Clusters {
    list: Vec<Cluster>,
    last: Snapshot,
    /// Windows in one of `list`, and in the last of them.
    stride: usize,
    in_last: usize,
}

impl Default for Clusters {
    fn default() -> Self {
        Self { list: Vec::new(), last: Snapshot::default(), stride: 1, in_last: 1 }
    }
}

impl Clusters {
    /// A window is over, and this is what has been counted so far.
    pub fn add(&mut self, now: Snapshot) {
        let cluster = Cluster::between(&self.last, &now);
        self.last = now;
        if cluster.totals.is_empty() {
            return;
        }
        match self.list.last_mut() {
            Some(last) if self.in_last < self.stride => {
                last.merge(&cluster);
                self.in_last += 1;
            }
            _ => {
                self.list.push(cluster);
                self.in_last = 1;
            }
        }
        if self.list.len() == MOST && self.in_last == self.stride {
            self.pair_up();
        }
    }

    fn pair_up(&mut self) {
        let pair = |two: &[Cluster]| {
            let mut sum = two[0].clone();
            two[1..].iter().for_each(|other| sum.merge(other));
            sum
        };
        self.list = self.list.chunks(2).map(pair).collect();
        self.stride *= 2;
        self.in_last = self.stride;
    }

    /// Windows in which requests arrived.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// How well all numbers are known, where the tail begins at row `tail_row`.
    pub fn accuracy(&self, tail_row: usize) -> Accuracy {
        let heads = |first| self.list.iter().map(move |c| c.rows_from(first)).collect::<Vec<_>>();
        let (all, tail) = (heads(0), heads(tail_row));
        let means: Vec<[f64; 2]> =
            all.iter().map(|head| [head.total_ns as f64, head.requests as f64]).collect();
        let stages = STAGES.iter().enumerate().map(|(k, stage)| StageAccuracy {
            name: stage.name.into(),
            share: share(&all, k),
            tail_share: share(&tail, k),
        });
        Accuracy {
            confidence: CONFIDENCE,
            clusters: self.count(),
            mean_ns: ratio(&means).map(|mean| mean.interval_up_to(f64::INFINITY)),
            p50_ns: self.quantile(0.5),
            p95_ns: self.quantile(0.95),
            p99_ns: self.quantile(0.99),
            stages: stages.collect(),
        }
    }

    /// To the width of a bin.
    fn quantile(&self, q: f64) -> Option<Interval> {
        let highest = self.last.totals.iter().rposition(|n| *n > 0)?;
        let parts = |bin| self.list.iter().map(|cluster| cluster.above(bin)).collect();
        let (low, high) = estimate::quantile(q, highest + 1, parts);
        let edge = |bin: usize| bins::TOTAL.low(bin + 1) as f64;
        Some(Interval { low: low.map_or(0.0, edge), high: high.map(edge) })
    }
}

/// Share of stage `k` in the time of what these windows saw.
fn share(heads: &[Head], k: usize) -> Option<Interval> {
    let parts: Vec<[f64; 2]> = heads
        .iter()
        .filter(|head| head.requests > 0)
        .map(|head| [head.stage_ns[k] as f64, head.total_ns as f64])
        .collect();
    ratio(&parts).map(|share| share.interval_up_to(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::RESIDUAL;

    /// Counts after `n` windows, the k-th of which had k + 1 requests of 1 ms, 10 (k + 1) us of them
    /// in the first stage.
    fn after(n: u64) -> Snapshot {
        let mut now = Snapshot {
            rows: vec![Head::default(); bins::ROWS],
            totals: vec![0; bins::TOTAL.count()],
        };
        for k in 1..=n {
            let mut stage_ns = [0; COUNT];
            stage_ns[0] = k * k * 10_000;
            stage_ns[RESIDUAL] = k * 1_000_000 - stage_ns[0];
            let head = Head { requests: k, total_ns: k * 1_000_000, stage_ns };
            now.rows[bins::row_of(1_000_000)].add(&head);
            now.totals[bins::TOTAL.of(1_000_000)] += k;
        }
        now
    }

    #[test]
    fn a_window_holds_what_came_in_it() {
        let mut clusters = Clusters::default();
        for n in [0, 1, 2, 2, 3] {
            clusters.add(after(n));
        }
        assert_eq!(clusters.count(), 3, "those in which nothing came say nothing");
        let requests: Vec<u64> = clusters.list.iter().map(|c| c.rows_from(0).requests).collect();
        assert_eq!(requests, [1, 2, 3]);
    }

    #[test]
    fn intervals_hold_the_ratio_of_the_sums() {
        let mut clusters = Clusters::default();
        (1..=10).for_each(|n| clusters.add(after(n)));
        let accuracy = clusters.accuracy(0);
        // Σ k² · 10 us ÷ Σ k · 1 ms = 0.07: not the mean of the windows' shares, which is 0.055.
        let Interval { low, high } = accuracy.stages[0].share.unwrap();
        let middle = f64::midpoint(low, high.unwrap());
        assert!((middle - 0.07).abs() < 1e-9 && low > 0.04, "{low} {high:?}");
        assert_eq!(accuracy.stages[0].tail_share, accuracy.stages[0].share, "all are the tail");
        let mean = accuracy.mean_ns.unwrap();
        assert!((mean.low - 1e6).abs() < 1e-3, "they do not differ: {mean:?}");
        assert_eq!(accuracy.stages.len(), COUNT);
    }

    #[test]
    fn thousands_of_windows_are_kept_in_bounded_memory_and_lose_nothing() {
        let mut clusters = Clusters::default();
        let n = 5 * MOST as u64 + 3;
        (1..=n).for_each(|k| clusters.add(after(k)));
        assert!(clusters.count() < MOST, "{}", clusters.count());
        let requests: u64 = clusters.list.iter().map(|c| c.rows_from(0).requests).sum();
        assert_eq!(requests, n * (n + 1) / 2);
        assert_eq!(clusters.stride, 8);
    }
}
