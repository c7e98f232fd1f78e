//! How a long run was issued: what [`crate::judge::selfcheck`] judges of it, request by request.
//!
//! Its tests thin the arrivals at random, by a share that follows from the whole run's lag. So each
//! request draws its number u at once, and of each block are kept the requests that are among its
//! first for some share: those of which fewer than [`FIRST`] before them drew less. These are
//! FIRST · (1 + ln(n / FIRST)) of n. Counts are taken on the finest windows; where the lag asks for
//! wider ones, neighbours are added.

use std::collections::BinaryHeap;

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, RngExt, stream};
use sojourn_workload::arrivals;
use sojourn_workload::schedule::Timetable;

use crate::job::Job;
use crate::tally::pace::{BLOCKS, COUNT_MIN, Pace, WINDOWS_MAX};
use crate::tally::request::Request;

/// Arrivals of one block that may be looked at: 101, and some for those not issued in order.
const FIRST: usize = 128;

/// The first arrivals of a block, for every share that may be stored.
#[derive(Debug, Default)]
struct Block {
    planned: Vec<u64>,
    /// The least numbers drawn until now, as bits: the order of positive floats is that of their bits.
    least: BinaryHeap<u64>,
    issued: Vec<(u64, f64)>,
}

impl Block {
    fn add(&mut self, ns: u64, u: f64) {
        if self.least.len() == FIRST {
            if self.least.peek().is_some_and(|&most| u.to_bits() >= most) {
                return;
            }
            self.least.pop();
        }
        self.least.push(u.to_bits());
        self.issued.push((ns, u));
    }
}

/// See the module; of all threads.
#[derive(Debug)]
pub struct IssuedBefore {
    measured: (u64, u64),
    timetable: Timetable,
    /// Whether the requests are a Poisson process, and tested; those of sessions are none.
    is_tested: bool,
    /// First against last request, due and issued.
    pub pace: Pace,
    /// Most requests of one thread that waited for a connection at one moment.
    pub backlog_max: u64,
    threads: Vec<(Rng, Vec<Block>)>,
    /// Arrivals in windows of equal operational time, over the planned measured part.
    counts: Vec<u32>,
}

impl IssuedBefore {
    /// For the plan of `job`, which is resolved.
    pub fn new(job: &Job, timetable: &Timetable) -> Result<Self, Fault> {
        let measured = (timetable.warmup_ns, timetable.end_ns());
        let process = arrivals::parse(&job.arrivals, timetable.arrivals_rps())?;
        let blocks = || (0..BLOCKS).map(|_| Block::default()).collect();
        let of_thread = |thread| (stream(job.seed, "thin", u64::from(thread)), blocks());
        let expected = |ns: u64| timetable.expected_by(ns as f64);
        let windows = ((expected(measured.1) - expected(measured.0)) / COUNT_MIN).min(WINDOWS_MAX);
        Ok(Self {
            measured,
            timetable: timetable.clone(),
            is_tested: process.superposes() && timetable.sessions.is_none(),
            pace: Pace::default(),
            backlog_max: 0,
            threads: (0..job.threads).map(of_thread).collect(),
            counts: vec![0; windows as usize],
        })
    }

    /// Counts a request of `thread`, behind which `waiting` in all waited for a connection.
    pub fn add(&mut self, thread: usize, request: &Request, waiting: u64, is_measured: bool) {
        self.backlog_max = self.backlog_max.max(waiting);
        if is_measured {
            self.pace.add(request);
        }
        if !self.is_tested {
            return;
        }
        let (rng, blocks) = &mut self.threads[thread];
        if let Some(block) = block_of(request.intended_ns, self.measured) {
            let planned = &mut blocks[block].planned;
            if planned.len() < FIRST {
                planned.push(request.intended_ns);
            }
        }
        let Some(ns) = request.issued_ns() else { return };
        let Some(block) = block_of(ns, self.measured) else { return };
        blocks[block].add(ns, rng.random::<f64>());
        let at = self.window_of(ns) as usize;
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
    }

    /// Of each block the first planned arrivals.
    pub fn planned(&self) -> Vec<Vec<u64>> {
        self.blocks(|block| block.planned.clone())
    }

    /// Of each block the first issued arrivals, if of all a share `keep` is kept at random.
    pub fn issued(&self, keep: f64) -> Vec<Vec<u64>> {
        let retained = |&(ns, u): &(u64, f64)| (u < keep).then_some(ns);
        self.blocks(|block| block.issued.iter().filter_map(retained).collect())
    }

    fn blocks(&self, of: impl Fn(&Block) -> Vec<u64>) -> Vec<Vec<u64>> {
        let of_all =
            |i: usize| self.threads.iter().flat_map(|(_, blocks)| of(&blocks[i])).collect();
        (0..BLOCKS).map(of_all).collect()
    }

    /// Counts in windows with a mean of `mean` or a little more, none of which touches the times in
    /// `out` or reaches beyond `to_ns`.
    pub fn counts(&self, mean: f64, out: &[(u64, u64)], to_ns: u64) -> Vec<u32> {
        if self.counts.is_empty() {
            return Vec::new();
        }
        let finest = self.counts.len() as f64;
        let expected = |ns: u64| self.timetable.expected_by(ns as f64);
        let wanted = ((expected(self.measured.1) - expected(self.measured.0)) / mean).floor();
        if wanted < 1.0 {
            return Vec::new();
        }
        let together = (finest / wanted).ceil().max(1.0) as usize;
        let mut is_out = vec![false; self.counts.len()];
        for &(from, to) in out {
            let last = (self.window_of(to) as usize).min(is_out.len() - 1);
            let first = (self.window_of(from) as usize).min(last);
            is_out[first..=last].fill(true);
        }
        let whole =
            if to_ns < self.measured.1 { self.window_of(to_ns) as usize } else { is_out.len() };
        let windows = self.counts[..whole].chunks_exact(together).zip(is_out.chunks(together));
        windows
            .filter(|(_, out)| !out.contains(&true))
            .map(|(counts, _)| counts.iter().sum())
            .collect()
    }

    fn window_of(&self, ns: u64) -> f64 {
        let expected = |ns: u64| self.timetable.expected_by(ns as f64);
        let start = expected(self.measured.0);
        (expected(ns) - start) / (expected(self.measured.1) - start) * self.counts.len() as f64
    }
}

fn block_of(ns: u64, (from_ns, to_ns): (u64, u64)) -> Option<usize> {
    let length_ns = ((to_ns - from_ns) / BLOCKS as u64).max(1);
    (from_ns..to_ns).contains(&ns).then(|| (((ns - from_ns) / length_ns) as usize).min(BLOCKS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_block_are_there_for_every_share() {
        let mut rng = stream(3, "block", 0);
        let all: Vec<(u64, f64)> = (0..200_000).map(|ns| (ns, rng.random::<f64>())).collect();
        let mut block = Block::default();
        for &(ns, u) in &all {
            block.add(ns, u);
        }
        let n = (all.len() / FIRST) as f64;
        let expected = FIRST as f64 * (1.0 + n.ln());
        assert!((block.issued.len() as f64) < 1.5 * expected, "{}", block.issued.len());
        for keep in [1.0, 0.5, 0.01, 1e-4] {
            let first = |from: &[(u64, f64)]| -> Vec<u64> {
                from.iter().filter(|it| it.1 < keep).map(|it| it.0).take(FIRST).collect()
            };
            assert_eq!(first(&block.issued), first(&all), "share {keep}");
        }
    }
}
