//! Root requests of one hour: each asks servers all over the fleet and waits for the slowest.

use sojourn_base::rng::{Rng, RngExt, stream};
use sojourn_base::span::Times;

use super::parallel::map;
use super::servers::Fleet;

/// Root requests per piece of work.
const PIECE: usize = 256;

/// The same times, ns, as a distribution.
pub(super) fn times(ns: &[f64]) -> Times {
    let mut result = Times::new();
    for ns in ns {
        result.add(ns.round() as u64);
    }
    result
}

impl Fleet<'_> {
    /// Times of the hour's root requests, from `samples`: `kept` times of each server, server by server.
    pub(super) fn roots(&self, hour: usize, samples: &[f32], threads: usize) -> Vec<f64> {
        let roots = self.job.roots as usize;
        let pieces = roots.div_ceil(PIECE);
        let result = map(pieces, threads, |piece| {
            let mut rng = stream(self.job.seed, "root", (hour * pieces + piece) as u64);
            let count = PIECE.min(roots - piece * PIECE);
            let times = (0..count).map(|_| self.root(0, samples, &mut rng));
            times.collect::<Vec<f64>>()
        });
        result.into_iter().flatten().collect()
    }

    /// Time of one request at `level`: its own, then the slowest of those that it asks.
    fn root(&self, level: usize, samples: &[f32], rng: &mut Rng) -> f64 {
        let Some(here) = self.job.tree.get(level) else { return 0.0 };
        let asked = (0..here.fanout).map(|_| {
            let own = f64::from(self.pick(samples, rng)) * here.scale;
            own + self.root(level + 1, samples, rng)
        });
        asked.fold(0.0, f64::max)
    }

    /// A server by its share of requests, and one of its sojourn times.
    fn pick(&self, samples: &[f32], rng: &mut Rng) -> f32 {
        let total = self.picks.last().copied().unwrap_or(1.0);
        let at = rng.random::<f64>() * total;
        let server = self.picks.partition_point(|sum| *sum <= at).min(self.servers.len() - 1);
        samples[server * self.kept + rng.random_range(0..self.kept)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::job::{Job, Level, Platform};

    fn fleet(job: &Job) -> Fleet<'_> {
        Fleet { kept: 2, ..Fleet::new(job).unwrap() }
    }

    /// 2 of 16 shares fall to server 0, and both of a server's times come up alike.
    #[test]
    fn servers_are_picked_by_their_share_and_times_evenly() {
        let of = |cores| Platform { share: 0.5, cores, ..Platform::default() };
        let job = Job { servers: 2, platforms: vec![of(2), of(14)], ..Job::default() };
        let fleet = fleet(&job);
        let mut rng = stream(1, "picks", 0);
        let samples = [1.0, 2.0, 3.0, 4.0];
        let n = 40_000_u32;
        let mut counts = [0_u32; 4];
        (0..n).for_each(|_| counts[fleet.pick(&samples, &mut rng) as usize - 1] += 1);
        for (count, p) in counts.into_iter().zip([1.0, 1.0, 7.0, 7.0].map(|x: f64| x / 16.0)) {
            let sigma = (p * (1.0 - p) * f64::from(n)).sqrt();
            assert!((f64::from(count) - p * f64::from(n)).abs() < 5.0 * sigma, "{counts:?}");
        }
    }

    /// All servers take 3: the root's own 3 × 10, then the slowest leaf, which is 3 as all are.
    #[test]
    fn a_root_takes_its_own_time_and_then_the_slowest_of_each_level() {
        let job = Job { servers: 2, roots: 700, ..Job::default() };
        let times = times(&fleet(&job).roots(0, &[3.0; 4], 1));
        assert_eq!(
            (times.count(), times.quantile(0.0), times.quantile(1.0)),
            (700, Some(33), Some(33))
        );
    }

    /// One leaf of two takes 8, three in four see it: 1 − (1/2)².
    #[test]
    fn the_slowest_of_two_is_what_counts() {
        let tree = vec![Level { name: "leaf".into(), fanout: 2, scale: 1.0 }];
        let job = Job { servers: 2, roots: 10_000, tree, ..Job::default() };
        let times = |hour| times(&fleet(&job).roots(hour, &[2.0, 2.0, 8.0, 8.0], 2));
        let slow = times(3).above(2) as f64 / 10_000.0;
        assert!((slow - 0.75).abs() < 5.0 * (0.1875_f64 / 10_000.0).sqrt(), "five sigma: {slow}");
        assert_ne!(times(3).above(2), times(4).above(2));
    }

    /// Pieces of 256 and hours draw from streams of their own: none repeats another.
    #[test]
    fn pieces_and_hours_do_not_repeat_each_other() {
        let samples: Vec<f32> = (1..=1000_u16).map(f32::from).collect();
        let tree = vec![Level::default()];
        let of = |roots, hour| {
            let job = Job { servers: 2, roots, tree: tree.clone(), ..Job::default() };
            let fleet = Fleet { kept: 500, ..Fleet::new(&job).unwrap() };
            let times = times(&fleet.roots(hour, &samples, 1));
            (1..1000).map(|ns| times.above(ns)).collect::<Vec<u64>>()
        };
        let once = of(256, 0);
        assert_ne!(of(512, 0), once.iter().map(|above| 2 * above).collect::<Vec<u64>>());
        assert!(of(256, 1) != once && of(256, 2) != of(256, 1));
    }
}
