//! One server in one hour: a shared FCFS queue in front of its cores, in its steady state.
//!
//! With exponential service every request that counts is drawn by itself from what an arrival finds
//! in the steady state, which is known exactly (Erlang; Poisson arrivals see time averages). Any other
//! service is simulated: from a start near the steady state, and after a warm-up in which what is
//! left of the start is forgotten.

use sojourn_base::rng::{Rng, RngExt, open_unit};
use sojourn_workload::dist::exponential;

use super::steady::Plan;
use crate::closed::MmN;
use crate::queue::replace_first;
use crate::service::Service;

/// One server beside its neighbour or alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server<'a> {
    /// Service time at speed 1.
    pub(super) service: &'a Service,
    /// How much slower than that it serves.
    pub(super) slowdown: f64,
    pub(super) cores: u32,
    /// Offered work over what it can do, slowed down as it is.
    pub(super) load: f64,
}

impl Server<'_> {
    /// `kept` sojourn times, ns, of its steady state; from a load of 1 on there is none, its queue
    /// grows for the whole hour, and these are lower bounds: callers count such server-hours.
    pub(super) fn sojourns(&self, retained: usize, plan: &Plan, rng: &mut Rng) -> Vec<f32> {
        match self.markov() {
            Some(queue) if self.service.is_exponential() => {
                let one = |_| queue.wait_of(open_unit(rng)) + self.service_ns(rng);
                (0..retained).map(one).map(|ns| ns as f32).collect()
            }
            queue => self.simulate(queue, retained, plan, rng),
        }
    }

    /// The M/M/n of the same load; `None` from a load of 1 on.
    fn markov(&self) -> Option<MmN> {
        let mean_ns = self.service.mean_ns() * self.slowdown;
        MmN::new(1.0 / self.gap_ns(), mean_ns, self.cores).filter(|_| self.load < 1.0)
    }

    /// Every `plan.stride`-th request after `plan.warmup` others.
    fn simulate(&self, near: Option<MmN>, retained: usize, plan: &Plan, rng: &mut Rng) -> Vec<f32> {
        let gap_ns = self.gap_ns();
        let mut free = vec![0.0_f64; self.cores as usize];
        if let Some(queue) = near {
            self.begin_near(&queue, &mut free, rng);
        }
        let mut times = Vec::with_capacity(retained);
        let mut now = 0.0;
        let mut until_stored = plan.warmup + plan.stride;
        while times.len() < retained {
            now += exponential::unit(rng) * gap_ns;
            let done = free[0].max(now) + self.service_ns(rng);
            replace_first(&mut free, done);
            until_stored -= 1;
            if until_stored == 0 {
                times.push((done - now) as f32);
                until_stored = plan.stride;
            }
        }
        times
    }

    /// Sets `free` as a request may find it: the wait of M/M/n, more or less by how variable service
    /// is (Lee and Longton), and every server with part of a service before it, if it is busy.
    fn begin_near(&self, queue: &MmN, free: &mut [f64], rng: &mut Rng) {
        let wait_ns = queue.wait_of(open_unit(rng)) * (1.0 + self.service.scv()) / 2.0;
        for free_ns in free.iter_mut() {
            let is_busy = wait_ns > 0.0 || rng.random::<f64>() < self.load;
            let left_ns = if is_busy { self.service_ns(rng) * rng.random::<f64>() } else { 0.0 };
            *free_ns = wait_ns + left_ns;
        }
        free.sort_unstable_by(f64::total_cmp); // a sorted list is a heap
        if wait_ns > 0.0 {
            free[0] = wait_ns;
        }
    }

    fn service_ns(&self, rng: &mut Rng) -> f64 {
        self.service.sample(rng) * self.slowdown
    }

    fn gap_ns(&self) -> f64 {
        self.service.mean_ns() * self.slowdown / (f64::from(self.cores) * self.load.max(1e-9))
    }
}

#[cfg(test)]
mod tests;
