//! The virtual clock: when each request is finished, by arithmetic instead of by doing the work.
//!
//! First come, first served over n servers: start = max(arrival, first server free), finish = start
//! plus service time. Source: Lindley, "The theory of queues with a single server", 1952; Kiefer and
//! Wolfowitz, 1955, for n servers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_base::rng::{self, Rng};
use sojourn_workload::dist::Dist;

use crate::stall::{FOREVER_NS, Stalls};

/// n servers behind one line. Times in ns since the start of the service.
#[derive(Debug)]
pub struct Queue {
    service: Dist,
    rng: Rng,
    stalls: Stalls,
    /// When each server is free next.
    free_ns: BinaryHeap<Reverse<u64>>,
}

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The service time drawn, ns.
    pub service_ns: u64,
    /// When its reply leaves, ns.
    pub finish_ns: u64,
}

impl Queue {
    /// `servers` servers with service times, ns, from `service`.
    pub fn new(service: Dist, servers: u32, stalls: Stalls, seed: u64) -> Self {
        let free_ns = (0..servers).map(|_| Reverse(0)).collect();
        Self { service, rng: rng::stream(seed, "service", 0), stalls, free_ns }
    }

    /// A request arrives at `ready_ns`, not earlier than the one before.
    pub fn admit(&mut self, ready_ns: u64) -> Served {
        let service_ns = self.service.sample(&mut self.rng).min(FOREVER_NS as f64).round() as u64;
        let Reverse(free_ns) = self.free_ns.pop().unwrap_or(Reverse(0));
        let finish_ns = self.stalls.finish(ready_ns.max(free_ns), service_ns);
        self.free_ns.push(Reverse(finish_ns));
        Served { service_ns, finish_ns }
    }
}

#[cfg(test)]
mod tests {
    use sojourn_workload::dist;

    use super::*;

    /// Sojourn times, in mean service times of 1 ms, of `n` Poisson arrivals at utilisation `rho`.
    fn sojourns(service: &str, servers: u32, rho: f64, n: usize) -> Vec<f64> {
        let service = dist::parse_ns(service).unwrap();
        let mean_ns = service.mean();
        let mut queue = Queue::new(service, servers, Stalls::NONE, 7);
        let mut rng = rng::stream(8, "arrivals", 0);
        let mut now = 0.0;
        (0..n)
            .map(|_| {
                now += -rng::open_unit(&mut rng).ln() * mean_ns / (rho * f64::from(servers));
                (queue.admit(now as u64).finish_ns as f64 - now) / mean_ns
            })
            .collect()
    }

    /// Mean over the run and its sigma from 100 batches, whose means are nearly independent.
    fn mean_and_sigma(values: &[f64]) -> (f64, f64) {
        let batches: Vec<f64> = values
            .chunks_exact(values.len() / 100)
            .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
            .collect();
        let mean = batches.iter().sum::<f64>() / 100.0;
        let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 99.0;
        (mean, (variance / 100.0).sqrt())
    }

    fn assert_mean(service: &str, servers: u32, rho: f64, wanted: f64) {
        let (mean, sigma) = mean_and_sigma(&sojourns(service, servers, rho, 1_000_000));
        let off = (mean - wanted).abs();
        assert!(off < 4.0 * sigma, "{service} ρ {rho}: {mean}, {wanted} ± {sigma} (4 sigma)");
        assert!(sigma < 0.05 * wanted, "the test can tell: sigma {sigma}");
    }

    #[test]
    fn mean_sojourn_is_pollaczek_khinchine() {
        for rho in [0.3, 0.7, 0.8] {
            assert_mean("exponential:1ms", 1, rho, 1.0 / (1.0 - rho));
            assert_mean("fixed:1ms", 1, rho, 1.0 + rho / (2.0 * (1.0 - rho)));
        }
    }

    /// A tail without a mean draws times that no number of ns holds.
    #[test]
    fn a_server_that_never_finishes_stays_busy() {
        for stalls in [Stalls::NONE, Stalls::parse("999ms/1s").unwrap()] {
            let mut queue = Queue::new(dist::parse_ns("pareto:0,1s,30").unwrap(), 1, stalls, 3);
            let finish: Vec<u64> = (0..1000).map(|i| queue.admit(i).finish_ns).collect();
            assert!(finish.windows(2).all(|pair| pair[0] <= pair[1]), "first come, first served");
            assert_eq!(finish.last(), Some(&FOREVER_NS));
        }
    }

    #[test]
    fn two_servers_are_erlang_c() {
        // M/M/2: T/S = 1/(1 − ρ²)
        for rho in [0.5, 0.8] {
            assert_mean("exponential:1ms", 2, rho, 1.0 / (1.0 - rho * rho));
        }
    }

    #[test]
    fn quantiles_of_one_exponential_server_are_exponential() {
        let all = sojourns("exponential:1ms", 1, 0.7, 1_000_000);
        // M20: p95/S 9.99 and p99/S 15.35 at ρ = 0.7. The share above is checked by batch means.
        for (bound, share) in [(9.986, 0.05), (15.351, 0.01)] {
            let above: Vec<f64> = all.iter().map(|&t| f64::from(u8::from(t > bound))).collect();
            let (mean, sigma) = mean_and_sigma(&above);
            assert!((mean - share).abs() < 4.0 * sigma, "{share}: {mean} ± {sigma} (4 sigma)");
        }
    }

    #[test]
    fn first_come_is_first_served_and_a_seed_repeats() {
        let all = |seed| {
            let service = dist::parse_ns("lognormal:1ms,2").unwrap();
            let mut queue = Queue::new(service, 1, Stalls::NONE, seed);
            (0..1000).map(|i| queue.admit(i * 1_200_000).finish_ns).collect::<Vec<_>>()
        };
        assert!(all(1).windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn arrivals_in_a_stall_leave_after_it_one_by_one() {
        let service = dist::parse_ns("fixed:10us").unwrap();
        let mut queue = Queue::new(service, 1, Stalls::parse("100ms/1s").unwrap(), 1);
        let finish: Vec<u64> =
            [950_000_000, 960_000_000].map(|ns| queue.admit(ns).finish_ns).to_vec();
        assert_eq!(finish, [1_000_010_000, 1_000_020_000]);
    }
}
