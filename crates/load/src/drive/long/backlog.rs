//! Requests outstanding over a long run, on a grid: what the reach of outages and stops is judged by.

use crate::protocols::Outcome;
use crate::tally::request::Request;
use crate::watch::outage::Outage;
use crate::watch::outage::{Backlog, Queue, RECOVERY_FACTOR_MAX, SAMPLES};
use sojourn_base::span::Times;

/// Finest grid, ns: half of the shortest window of misses.
const STEP_NS_MIN: u64 = 1_000_000;
/// Moments on a grid at the most: 4 MB.
const STEPS_MAX: u64 = 1_000_000;

/// Requests due and not done at evenly spaced moments; those never done are left out.
#[derive(Clone, Debug)]
pub struct Grid {
    step_ns: u64,
    /// By how much the number at moment i is above that at moment i − 1.
    change: Vec<i32>,
    sojourn: Times,
    /// First and last time at which a hit was due.
    due_ns: (u64, u64),
}

impl Grid {
    /// For a run that is over, replies included, at `end_ns`.
    pub fn new(end_ns: u64) -> Self {
        let step_ns = (end_ns / STEPS_MAX).max(STEP_NS_MIN);
        let change = vec![0; (end_ns / step_ns) as usize + 2];
        Self { step_ns, change, sojourn: Times::new(), due_ns: (u64::MAX, 0) }
    }

    /// Counts one request by when it was due and when it ended.
    pub fn add(&mut self, request: &Request) {
        if request.outcome != Outcome::Hit {
            return;
        }
        let (due_ns, done_ns) = (request.intended_ns, request.done_ns.max(request.intended_ns));
        self.sojourn.add(done_ns - due_ns);
        self.due_ns = (self.due_ns.0.min(due_ns), self.due_ns.1.max(due_ns));
        let last = self.change.len() - 1;
        let [from, to] = [due_ns, done_ns].map(|ns| ((ns / self.step_ns) as usize + 1).min(last));
        if from < to {
            self.change[from] += 1;
            self.change[to] -= 1;
        }
    }

    /// How many were outstanding, by time.
    pub fn outstanding(&self) -> Outstanding {
        let mut now = 0_i64;
        let running = self.change.iter().map(|&change| {
            now += i64::from(change);
            now.max(0) as u32
        });
        Outstanding {
            step_ns: self.step_ns,
            at: running.collect(),
            p99_ns: self.sojourn.quantile(0.99).unwrap_or(0),
            due_ns: self.due_ns,
        }
    }
}

/// A [`Grid`] to look things up in. Moments are exact to a step, the p99 to one part in a thousand.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    step_ns: u64,
    at: Vec<u32>,
    p99_ns: u64,
    due_ns: (u64, u64),
}

impl Outstanding {
    fn at(&self, ns: u64) -> usize {
        self.at.get((ns / self.step_ns) as usize).map_or(0, |&number| number as usize)
    }
}

impl Backlog for Outstanding {
    fn look_back_ns(&self) -> u64 {
        self.p99_ns
    }

    fn median_away_from(&self, log: &[Outage]) -> usize {
        let (first, last) = self.due_ns;
        if first > last {
            return 0;
        }
        let mut seen: Vec<usize> = (0..SAMPLES)
            .map(|i| first + (last - first) / SAMPLES * i)
            .filter(|&ns| {
                let next = log.partition_point(|outage| outage.end_ns() <= ns);
                log.get(next).is_none_or(|outage| outage.start_ns > ns)
            })
            .map(|ns| self.at(ns))
            .collect();
        seen.sort_unstable();
        seen.get(seen.len() / 2).copied().unwrap_or(0)
    }

    fn recovered_ns(&self, outage: &Outage, typical: usize) -> u64 {
        let enough = typical.max(self.at(outage.start_ns));
        let latest_ns = outage.end_ns() + RECOVERY_FACTOR_MAX * outage.length_ns;
        if self.at(outage.end_ns()) <= enough {
            return outage.end_ns();
        }
        let mut ns = outage.end_ns();
        while ns < latest_ns && self.at(ns) > enough {
            ns += self.step_ns;
        }
        ns.min(latest_ns)
    }
}

/// What is known near outages: the usual from the grid, the rest from the requests themselves.
#[derive(Debug)]
pub struct Near<'a> {
    usual: &'a Outstanding,
    queue: Queue,
}

impl<'a> Near<'a> {
    /// Starts without requests; `usual` is what is normal.
    pub fn new(usual: &'a Outstanding) -> Self {
        Self { usual, queue: Queue::of_pairs(Vec::new()) }
    }

    /// With the due and done times in `pairs`. Requests that were due and done on the same side of a
    /// moment do not change how many were outstanding at it, so those near an outage are enough.
    pub fn with(&self, pairs: &[(u64, u64)]) -> Self {
        Self { usual: self.usual, queue: Queue::of_pairs(pairs.to_vec()) }
    }
}

impl Backlog for Near<'_> {
    fn look_back_ns(&self) -> u64 {
        self.usual.look_back_ns()
    }

    fn median_away_from(&self, log: &[Outage]) -> usize {
        self.usual.median_away_from(log)
    }

    fn recovered_ns(&self, outage: &Outage, typical: usize) -> u64 {
        self.queue.recovered_ns(outage, typical)
    }
}
