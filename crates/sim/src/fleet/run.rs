//! One day of a datacenter: from the job to its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::Fault;
use sojourn_base::rng::{Rng, RngExt, open_unit, stream};
use sojourn_base::span::{Span, Times};

use super::job::{JOB_SCHEMA, Job, Platform};
use super::parallel::map;
use super::placement::{self, Placement};
use super::server::sojourns;
use crate::result::Verdict;
use crate::service::Service;

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.sim.fleet/1";
/// Servers per piece of work, and root requests per piece.
const PIECE: usize = 256;

/// Everything that one run found. It holds no clock time: same job, same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetResult {
    /// Version of this form: `sojourn.sim.fleet/1`.
    pub schema: String,
    /// Program and version that wrote it.
    pub program: String,
    /// Always `simulated`.
    pub label: String,
    /// The job.
    pub job: Job,
    /// Whether the numbers can be believed.
    pub verdict: Verdict,
    /// Why not; what to do about it.
    pub reasons: Vec<String>,
    /// Time of a root request: own, and the slowest of each level below; the whole day.
    pub root_ns: Span,
    /// Time of a single request at one server (scale 1); the whole day.
    pub server_ns: Span,
    /// Hour by hour.
    pub hours: Vec<Hour>,
    /// Platform by platform, mean over the day.
    pub platforms: Vec<PlatformResult>,
}

/// One hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hour {
    /// Load that was asked for.
    pub load: f64,
    /// Mean load of the servers' services, slow-down by neighbours left out.
    pub service_load: f64,
    /// Mean share of CPU time in use; a server with a neighbour is always busy.
    pub utilisation: f64,
    /// Share of servers with a neighbour.
    pub neighbour_share: f64,
    /// Mean neighbour throughput per server, alone = 1.
    pub neighbour_throughput: f64,
    /// Share of servers whose queue has no steady state in this hour.
    pub unstable_share: f64,
    /// Root requests.
    pub root_ns: Span,
    /// Single requests.
    pub server_ns: Span,
}

/// One platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlatformResult {
    /// Its name.
    pub name: String,
    /// Its servers.
    pub servers: u64,
    /// Price of one server, $.
    pub price_usd: f64,
    /// Requests per second that one server can serve alone.
    pub capacity_rps: f64,
    /// Mean load of the service.
    pub service_load: f64,
    /// Mean share of CPU time in use; a server with a neighbour is always busy.
    pub utilisation: f64,
    /// Mean neighbour throughput per server, alone = 1.
    pub neighbour_throughput: f64,
}

/// Runs `job` on `threads` threads; their number changes nothing but the time it takes.
pub fn run(job: &Job, threads: usize) -> Result<FleetResult, Fault> {
    crate::check_schema(&job.schema, JOB_SCHEMA)?;
    job.check()?;
    let fleet = Fleet::new(job)?;
    let hours: Vec<Day> =
        (0..job.load_by_hour.len()).map(|hour| fleet.hour(hour, threads)).collect();
    Ok(fleet.result(&hours))
}

/// The job, understood, with every server's own facts.
struct Fleet<'a> {
    job: &'a Job,
    service: Service,
    placement: Placement,
    /// By server: its platform, load factor and lot.
    servers: Vec<Facts>,
    /// Running sums of the servers' shares of requests, for picking one.
    picks: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Facts {
    platform: usize,
    factor: f64,
    lot: f64,
}

/// What one piece of servers came to in one hour; sums are taken in the order of pieces.
struct Piece {
    samples: Vec<f32>,
    by_platform: Vec<Sums>,
    neighbours: u64,
    unstable: u64,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    load: f64,
    /// A neighbour takes all that is left.
    utilisation: f64,
    throughput: f64,
}

struct Day {
    hour: Hour,
    root: Times,
    server: Times,
    by_platform: Vec<Sums>,
}

impl<'a> Fleet<'a> {
    fn new(job: &'a Job) -> Result<Self, Fault> {
        let service = Service::parse(&job.service, &job.unit)?;
        let placement = placement::parse(&job.placement)?;
        let servers: Vec<Facts> = (0..job.servers).map(|index| facts(job, index)).collect();
        let mut sum = 0.0;
        let picks = servers.iter().map(|facts| {
            sum += capacity(&job.platforms[facts.platform]) * facts.factor;
            sum
        });
        let picks = picks.collect();
        Ok(Self { job, service, placement, servers, picks })
    }

    fn hour(&self, hour: usize, threads: usize) -> Day {
        let pieces = self.servers.len().div_ceil(PIECE);
        let found = map(pieces, threads, |piece| self.servers_of(hour, piece));
        let mut samples = Vec::with_capacity(self.servers.len() * self.job.samples as usize);
        let mut server = Times::new();
        let mut by_platform = vec![Sums::default(); self.job.platforms.len()];
        let (mut neighbours, mut unstable) = (0, 0);
        for piece in found {
            samples.extend_from_slice(&piece.samples);
            for ns in &piece.samples {
                server.add(ns.round() as u64);
            }
            for (sum, part) in by_platform.iter_mut().zip(&piece.by_platform) {
                sum.load += part.load;
                sum.utilisation += part.utilisation;
                sum.throughput += part.throughput;
            }
            neighbours += piece.neighbours;
            unstable += piece.unstable;
        }
        let root = self.roots(hour, &samples, threads);
        let all = self.servers.len() as f64;
        let mean = |of: fn(&Sums) -> f64| by_platform.iter().map(of).sum::<f64>() / all;
        let hour = Hour {
            load: self.job.load_by_hour[hour],
            service_load: mean(|sums| sums.load),
            utilisation: mean(|sums| sums.utilisation),
            neighbour_share: neighbours as f64 / all,
            neighbour_throughput: mean(|sums| sums.throughput),
            unstable_share: unstable as f64 / all,
            root_ns: root.span(),
            server_ns: server.span(),
        };
        Day { hour, root, server, by_platform }
    }

    fn servers_of(&self, hour: usize, piece: usize) -> Piece {
        let job = self.job;
        let mut found = Piece {
            samples: Vec::new(),
            by_platform: vec![Sums::default(); job.platforms.len()],
            neighbours: 0,
            unstable: 0,
        };
        let from = piece * PIECE;
        for index in from..(from + PIECE).min(self.servers.len()) {
            let facts = self.servers[index];
            let platform = &job.platforms[facts.platform];
            let load = job.load_by_hour[hour] * facts.factor;
            let has_neighbour = (self.placement)(&placement::Server { load, lot: facts.lot });
            let beside = if has_neighbour { job.neighbour_slowdown } else { 1.0 };
            let sums = &mut found.by_platform[facts.platform];
            sums.load += load;
            sums.utilisation += if has_neighbour { 1.0 } else { load.min(1.0) };
            if has_neighbour {
                sums.throughput += job.throughput_at(load);
                found.neighbours += 1;
            }
            found.unstable += u64::from(load * beside >= 1.0);
            let mut rng = stream(job.seed, "server", (hour * self.servers.len() + index) as u64);
            let slowdown = beside / platform.speed;
            let counts = (job.warmup, job.samples);
            let times =
                sojourns(&self.service, slowdown, platform.cores, load * beside, counts, &mut rng);
            found.samples.extend_from_slice(&times);
        }
        found
    }

    fn roots(&self, hour: usize, samples: &[f32], threads: usize) -> Times {
        let roots = self.job.roots as usize;
        let pieces = roots.div_ceil(PIECE);
        let found = map(pieces, threads, |piece| {
            let mut rng = stream(self.job.seed, "root", (hour * pieces + piece) as u64);
            let count = PIECE.min(roots - piece * PIECE);
            let times = (0..count).map(|_| self.root(0, samples, &mut rng));
            times.collect::<Vec<f64>>()
        });
        let mut times = Times::new();
        found.iter().flatten().for_each(|ns| times.add(ns.round() as u64));
        times
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
        let per_server = self.job.samples as usize;
        samples[server * per_server + rng.random_range(0..per_server)]
    }

    fn result(&self, days: &[Day]) -> FleetResult {
        let (mut root, mut server) = (Times::new(), Times::new());
        for day in days {
            root.merge(&day.root);
            server.merge(&day.server);
        }
        let worst = days.iter().map(|day| day.hour.unstable_share).fold(0.0, f64::max);
        let reasons = if worst > 0.0 {
            vec![format!(
                "unstable: in the worst hour {:.2} % of the servers are offered more than they can do beside their neighbours; their times are lower bounds",
                worst * 100.0
            )]
        } else {
            Vec::new()
        };
        FleetResult {
            schema: SCHEMA.into(),
            program: crate::program(),
            label: "simulated".into(),
            job: self.job.clone(),
            verdict: Verdict::of(&reasons),
            reasons,
            root_ns: root.span(),
            server_ns: server.span(),
            hours: days.iter().map(|day| day.hour.clone()).collect(),
            platforms: (0..self.job.platforms.len())
                .map(|index| self.platform(index, days))
                .collect(),
        }
    }

    fn platform(&self, index: usize, days: &[Day]) -> PlatformResult {
        let platform = &self.job.platforms[index];
        let servers = self.servers.iter().filter(|facts| facts.platform == index).count();
        let by = (servers.max(1) * days.len()) as f64;
        let mean = |of: fn(&Sums) -> f64| {
            days.iter().map(|day| of(&day.by_platform[index])).sum::<f64>() / by
        };
        PlatformResult {
            name: platform.name.clone(),
            servers: servers as u64,
            price_usd: platform.price_usd,
            capacity_rps: capacity(platform) * 1e9 / self.service.mean_ns(),
            service_load: mean(|sums| sums.load),
            utilisation: mean(|sums| sums.utilisation),
            neighbour_throughput: mean(|sums| sums.throughput),
        }
    }
}

/// Cores' worth of standard speed.
fn capacity(platform: &Platform) -> f64 {
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
mod tests;
