//! How many busy cycles carry a tail.
//!
//! Requests above a high quantile come in crowds: once a queue is long, everyone behind waits. Of
//! 1,000 requests above the p99.9 of an M/M/1 at a load of .9, most belong to some 10 busy cycles,
//! and 10 independent events say little about a quantile. A busy cycle starts where a request finds
//! its server idle; cycles are independent, or nearly so, and are what must be counted.
//!
//! Source: Crane and Lemoine, An Introduction to the Regenerative Method for Simulation Analysis
//! (1977), 2; for quantiles Iglehart, Simulating stable stochastic systems VI, JACM 23(2), 1976.

use super::counts::Counts;

/// The largest time of every busy cycle. Memory grows with the servers, not with the cycles.
#[derive(Debug, Default)]
pub struct Carriers {
    /// By queue that is busy on its own: the largest time of the cycle under way, ns.
    open: Vec<u64>,
    /// Of cycles that ended.
    largest: Counts,
}

impl Carriers {
    /// A request finds `queue` idle: one cycle of it ends, the next begins.
    #[inline]
    pub fn begin(&mut self, queue: usize) {
        if let Some(largest_ns) = self.open.get_mut(queue) {
            let ns = std::mem::take(largest_ns);
            if ns > 0 {
                self.largest.add(ns);
            }
        }
    }

    /// A request of the cycle under way took `ns`.
    #[inline]
    pub fn add(&mut self, queue: usize, ns: u64) {
        if self.open.len() <= queue {
            self.open.resize(queue + 1, 0);
        }
        let largest_ns = &mut self.open[queue];
        *largest_ns = ns.max(*largest_ns);
    }

    /// Cycles with a request above `ns`, those under way included.
    pub fn above(&self, ns: f64) -> u64 {
        let open = self.open.iter().filter(|largest_ns| **largest_ns as f64 > ns).count() as u64;
        open + self.largest.from(ns.max(0.0) as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queues whose requests alternate: each keeps its own cycle.
    #[test]
    fn a_crowd_counts_once_and_queues_do_not_mix() {
        let mut carriers = Carriers::default();
        carriers.begin(0);
        carriers.begin(1);
        for ns in [10, 200, 300, 200] {
            carriers.add(0, ns);
            carriers.begin(1);
            carriers.add(1, ns / 2);
        }
        let at = |ns| carriers.above(ns);
        assert_eq!((at(250.0), at(120.0), at(90.0), at(1.0)), (1, 2, 4, 5));
        assert_eq!(at(300.0), 0, "above, not at");
    }

    #[test]
    fn an_idle_queue_without_requests_is_no_cycle() {
        let mut carriers = Carriers::default();
        carriers.begin(3);
        carriers.begin(3);
        assert_eq!(carriers.above(0.0), 0);
        carriers.add(3, 7);
        carriers.begin(3);
        carriers.add(3, 8);
        assert_eq!((carriers.above(7.0), carriers.above(6.0)), (1, 2));
    }
}
