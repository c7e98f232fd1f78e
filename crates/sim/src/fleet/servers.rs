//! The datacenter's servers: what each is, for the whole day.

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, RngExt, open_unit, stream};

use super::job::{Job, Platform};
use super::placement::{self, Placement};
use super::steady;
use crate::service::Service;

/// The job, understood, with every server's own facts.
pub(super) struct Fleet<'a> {
    pub(super) job: &'a Job,
    pub(super) service: Service,
    pub(super) placement: Placement,
    pub(super) servers: Vec<Facts>,
    /// Times retained of each server in an hour.
    pub(super) kept: usize,
    /// Running sums of the servers' shares of requests, for picking one.
    pub(super) picks: Vec<f64>,
}

/// What a server is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Its place in the job's platforms.
    pub(super) platform: usize,
    /// Its load over the mean server's.
    pub(super) factor: f64,
    /// A number in 0..1 that is its own and stays.
    pub(super) lot: f64,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(job: &'a Job) -> Result<Self, Fault> {
        let service = Service::parse(&job.service, &job.unit)?;
        let placement = placement::parse(&job.placement)?;
        let servers: Vec<Facts> = (0..job.servers).map(|index| facts(job, index)).collect();
        let retained = steady::kept(job.samples, servers.len());
        let mut sum = 0.0;
        let picks = servers.iter().map(|facts| {
            sum += capacity(&job.platforms[facts.platform]) * facts.factor;
            sum
        });
        let picks = picks.collect();
        Ok(Self { job, service, placement, servers, kept: retained, picks })
    }
}

/// Cores' worth of standard speed.
pub(super) fn capacity(platform: &Platform) -> f64 {
    f64::from(platform.cores) * platform.speed
}

/// Platforms stand in blocks, by share; load factor and lot are the server's own draw.
fn facts(job: &Job, index: u32) -> Facts {
    let mut rng = stream(job.seed, "facts", u64::from(index));
    let place = (f64::from(index) + 0.5) / f64::from(job.servers);
    let mut sum = 0.0;
    let covers = |platform: &Platform| {
        sum += platform.share;
        place < sum
    };
    let platform = job.platforms.iter().position(covers).unwrap_or(job.platforms.len() - 1);
    let factor = lognormal_factor(job.imbalance_cv, &mut rng);
    Facts { platform, factor, lot: rng.random() }
}

/// Lognormal with mean 1 and this coefficient of variation, cut at 3 sigma.
fn lognormal_factor(cv: f64, rng: &mut Rng) -> f64 {
    let sigma = (cv * cv).ln_1p().sqrt();
    let (u, angle) = (open_unit(rng), rng.random::<f64>() * std::f64::consts::TAU);
    let normal = ((-2.0 * u.ln()).sqrt() * angle.cos()).clamp(-3.0, 3.0);
    (sigma * normal - sigma * sigma / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_stand_in_blocks_by_share() {
        let of = |name: &str, share| Platform { name: name.into(), share, ..Platform::default() };
        let platforms = vec![of("old", 0.25), of("new", 0.75)];
        let job = Job { servers: 8, platforms, ..Job::default() };
        let result: Vec<usize> =
            Fleet::new(&job).unwrap().servers.iter().map(|f| f.platform).collect();
        assert_eq!(result, [0, 0, 1, 1, 1, 1, 1, 1]);
    }

    /// 100,000 draws: the mean's sigma is cv/316, the cv's about 1 %; five sigma each. Cut at 3 sigma.
    #[test]
    fn load_factors_have_mean_1_and_the_cv_that_was_asked_for() {
        let mut rng = stream(1, "factors", 0);
        let draws: Vec<f64> = (0..100_000).map(|_| lognormal_factor(0.4, &mut rng)).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let sd = (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((mean - 1.0).abs() < 0.0065, "{mean}");
        assert!((sd / 0.4 - 1.0).abs() < 0.05, "{sd}");
        let sigma = 0.16_f64.ln_1p().sqrt();
        let most = (3.0 * sigma - sigma * sigma / 2.0).exp();
        let largest = draws.iter().copied().fold(0.0, f64::max);
        assert!(largest <= most * 1.000_001 && largest > most * 0.99, "{largest} {most}");
        assert_eq!(lognormal_factor(0.0, &mut rng), 1.0);
    }

    /// A server is picked by what it serves: its cores, their speed, its load factor.
    #[test]
    fn picks_are_running_sums_of_capacity_and_load() {
        let of = |cores, speed| Platform { share: 0.5, cores, speed, ..Platform::default() };
        let platforms = vec![of(2, 1.0), of(4, 1.5)];
        let job = Job { servers: 4, platforms, ..Job::default() };
        assert_eq!(Fleet::new(&job).unwrap().picks, [2.0, 4.0, 10.0, 16.0]);
    }
}
