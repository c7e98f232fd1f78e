//! One hour of a datacenter: every server, then the root requests.
//!
//! As many times are drawn of each server and hour, but requests are not as many: a server counts by its
//! share of the requests, and an hour of the day by its load.

use sojourn_base::rng::stream;
use sojourn_base::span::Times;

use super::known;
use super::parallel::map;
use super::placement;
use super::result::Hour;
use super::roots::times;
use super::server::Server;
use super::servers::{Facts, Fleet, capacity};
use super::steady::{self, Plan};

/// Servers per piece of work.
const PIECE: usize = 256;

/// What one hour came to.
pub(super) struct HourResult {
    pub(super) hour: Hour,
    /// The times that the hour has of the day's.
    pub(super) root: Times,
    /// See `root`.
    pub(super) server: Times,
    pub(super) by_platform: Vec<Sums>,
    /// Share of servers whose start was not forgotten when requests began to count.
    pub(super) cold_share: f64,
    /// Relative half-width of the servers' p99 or mean, 95 %.
    pub(super) server_half_width: f64,
    /// The same of the roots' p99.
    pub(super) root_half_width: f64,
}

/// Over the servers of a platform.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) load: f64,
    /// A neighbour takes all that is left.
    pub(super) utilisation: f64,
    pub(super) throughput: f64,
}

/// What one piece of servers came to in one hour; sums are taken in the order of pieces.
#[derive(Default)]
struct Piece {
    samples: Vec<f32>,
    by_platform: Vec<Sums>,
    neighbours: u64,
    unstable: u64,
    cold: u64,
}

impl Piece {
    fn new(platforms: usize) -> Self {
        Self { by_platform: vec![Sums::default(); platforms], ..Self::default() }
    }

    fn append(&mut self, mut next: Self) {
        self.samples.append(&mut next.samples);
        for (sum, part) in self.by_platform.iter_mut().zip(&next.by_platform) {
            sum.load += part.load;
            sum.utilisation += part.utilisation;
            sum.throughput += part.throughput;
        }
        self.neighbours += next.neighbours;
        self.unstable += next.unstable;
        self.cold += next.cold;
    }
}

impl Fleet<'_> {
    pub(super) fn hour(&self, hour: usize, threads: usize) -> HourResult {
        let pieces = self.servers.len().div_ceil(PIECE);
        let mut found = Piece::new(self.job.platforms.len());
        for piece in map(pieces, threads, |piece| self.servers_of(hour, piece)) {
            found.append(piece);
        }
        let samples = &found.samples;
        let server = self.requests(samples, 1.0);
        let roots = self.roots(hour, samples, threads);
        let (root, part) = (times(&roots), self.part_of_day(hour));
        let all = self.servers.len() as f64;
        let mean = |of: fn(&Sums) -> f64| found.by_platform.iter().map(of).sum::<f64>() / all;
        // Of times that depend on nothing else, so many fewer are so much worse known.
        let fewer = (samples.len() as f64 / server.count().max(1) as f64).sqrt();
        HourResult {
            hour: Hour {
                load: self.job.load_by_hour[hour],
                service_load: mean(|sums| sums.load),
                utilisation: self.of_cores(&found.by_platform),
                neighbour_share: found.neighbours as f64 / all,
                neighbour_throughput: mean(|sums| sums.throughput),
                unstable_share: found.unstable as f64 / all,
                root_ns: root.span(),
                server_ns: server.span(),
            },
            cold_share: found.cold as f64 / all,
            server_half_width: fewer * known::half_width(samples, self.group(), &server),
            root_half_width: known::half_width_independent(&root),
            root: times(&roots[..(part * roots.len() as f64).round() as usize]),
            server: self.requests(samples, part),
            by_platform: found.by_platform,
        }
    }

    /// Of the requests of the busiest hour, so many come in this one.
    fn part_of_day(&self, hour: usize) -> f64 {
        let most = self.job.load_by_hour.iter().copied().fold(0.0, f64::max);
        if most > 0.0 { self.job.load_by_hour[hour] / most } else { 1.0 }
    }

    /// Of the times of each server as many as its share of the requests; all of the busiest one's, or
    /// that part of them.
    fn requests(&self, samples: &[f32], part: f64) -> Times {
        let share = |facts: &Facts| capacity(&self.job.platforms[facts.platform]) * facts.factor;
        let most = self.servers.iter().map(share).fold(0.0, f64::max);
        let (mut result, mut sum) = (Times::new(), 0.0_f64);
        let each = samples.len() / self.servers.len();
        for (facts, own) in self.servers.iter().zip(samples.chunks_exact(each)) {
            let before = sum.round() as usize;
            sum += part * share(facts) / most * each as f64;
            let count = (sum.round() as usize - before).min(own.len());
            own[..count].iter().for_each(|ns| result.add(ns.round() as u64));
        }
        result
    }

    /// Mean share of the cores' time in use.
    fn of_cores(&self, by_platform: &[Sums]) -> f64 {
        let cores = |platform: usize| f64::from(self.job.platforms[platform].cores);
        let all: f64 = self.servers.iter().map(|facts| cores(facts.platform)).sum();
        let used = by_platform.iter().enumerate().map(|(at, sums)| cores(at) * sums.utilisation);
        used.sum::<f64>() / all
    }

    /// How many kept times in a row depend on each other: those of one server, or of a part of it
    /// where servers are few. Exponential service is drawn one by one.
    fn group(&self) -> usize {
        let is_drawn = self.service.is_exponential();
        if is_drawn { 1 } else { self.kept / steady::groups(self.servers.len()) }
    }

    fn servers_of(&self, hour: usize, piece: usize) -> Piece {
        let mut found = Piece::new(self.job.platforms.len());
        let from = piece * PIECE;
        for index in from..(from + PIECE).min(self.servers.len()) {
            self.server(hour, index, &mut found);
        }
        found
    }

    fn server(&self, hour: usize, index: usize, piece: &mut Piece) {
        let (job, facts) = (self.job, self.servers[index]);
        let platform = &job.platforms[facts.platform];
        let alone = job.load_by_hour[hour] * facts.factor;
        let has_neighbour = (self.placement)(&placement::Server { load: alone, lot: facts.lot });
        let beside = if has_neighbour { job.neighbour_slowdown } else { 1.0 };
        let load = alone * beside;
        let sums = &mut piece.by_platform[facts.platform];
        sums.load += alone;
        sums.utilisation += if has_neighbour { 1.0 } else { alone.min(1.0) };
        if has_neighbour {
            sums.throughput += job.throughput_at(alone);
            piece.neighbours += 1;
        }
        let scv = self.service.scv();
        let plan = Plan::new(load, scv, self.servers.len(), self.kept, job.warmup);
        piece.unstable += u64::from(load >= 1.0);
        let is_drawn = self.service.is_exponential();
        piece.cold += u64::from(load < 1.0 && !is_drawn && !plan.is_warm);
        let (service, cores) = (&self.service, platform.cores);
        let server = Server { service, slowdown: beside / platform.speed, cores, load };
        let mut rng = stream(job.seed, "server", (hour * self.servers.len() + index) as u64);
        piece.samples.append(&mut server.sojourns(self.kept, &plan, &mut rng));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::job::Job;

    #[test]
    fn groups_are_servers_or_even_parts_of_them_or_single_draws() {
        let group = |servers, service: &str| {
            let job = Job { servers, service: service.into(), ..Job::default() };
            Fleet::new(&job).unwrap().group()
        };
        assert_eq!(group(12_000, "exponential:1"), 1);
        assert_eq!(group(12_000, "fixed:1"), 64, "a server each");
        assert_eq!(group(1, "fixed:1"), 3125, "64 parts of 200,000");
    }

    /// Every server and hour draws from a stream of its own, in whichever piece it stands.
    #[test]
    fn no_two_servers_or_hours_draw_the_same() {
        let job = Job { servers: 300, load_by_hour: vec![0.5; 3], ..Job::default() };
        let fleet = Fleet { kept: 1, ..Fleet::new(&job).unwrap() };
        let pieces = (0..3).flat_map(|hour| [0, 1].map(|piece| (hour, piece)));
        let pieces: Vec<Piece> =
            pieces.map(|(hour, piece)| fleet.servers_of(hour, piece)).collect();
        let counts: Vec<usize> = pieces.iter().map(|piece| piece.samples.len()).collect();
        assert_eq!(counts, [256, 44, 256, 44, 256, 44]);
        let mut all: Vec<u32> =
            pieces.iter().flat_map(|piece| piece.samples.iter().map(|ns| ns.to_bits())).collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 890, "{} of 900 differ", all.len());
    }
}
