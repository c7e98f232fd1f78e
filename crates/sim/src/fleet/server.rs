//! One server in one hour: a shared FCFS queue in front of its cores.

use sojourn_base::rng::{Rng, open_unit};

use crate::service::Service;

/// Sojourn times, ns, of `samples` consecutive requests after `warmup` others from an empty start.
///
/// `load` is that of the slowed-down server; from 1 on its queue grows for the whole hour, and
/// what the few simulated requests see is a lower bound: callers count such server-hours.
pub(super) fn sojourns(
    service: &Service,
    slowdown: f64,
    cores: u32,
    load: f64,
    counts: (u32, u32),
    rng: &mut Rng,
) -> Vec<f32> {
    let (warmup, samples) = counts;
    let gap_ns = service.mean_ns() * slowdown / (f64::from(cores) * load.max(1e-9));
    let mut free = vec![0.0_f64; cores as usize];
    let mut kept = Vec::with_capacity(samples as usize);
    let mut now = 0.0;
    for index in 0..warmup + samples {
        now -= open_unit(rng).ln() * gap_ns;
        let done = free[0].max(now) + service.sample(rng) * slowdown;
        crate::queue::replace_first(&mut free, done);
        if index >= warmup {
            kept.push((done - now) as f32);
        }
    }
    kept
}
