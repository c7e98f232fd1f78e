//! The job of `sojourn-sim fleet`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::Fault;

/// Version of the job's form.
pub const JOB_SCHEMA: &str = "sojourn.sim.fleet.job/1";

/// One simulated datacenter over one day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Version of this form: `sojourn.sim.fleet.job/1`.
    pub schema: String,
    /// Servers; 12,000 is the cluster of PAPERS L2 and L34.
    pub servers: u32,
    /// What they are; their shares add to 1.
    pub platforms: Vec<Platform>,
    /// Service time of one request on a platform of speed 1, in `unit`.
    pub service: String,
    /// Unit of the numbers in `service`.
    pub unit: String,
    /// The service tree, root first: each request of a level asks `fanout` of the next.
    pub tree: Vec<Level>,
    /// Load by hour, as a share of what the service could do alone; any number of hours.
    pub load_by_hour: Vec<f64>,
    /// Coefficient of variation of load between servers; 0: all alike.
    pub imbalance_cv: f64,
    /// Which servers have a neighbour: `null`, `all`, `random:0.5`, `below:0.6`.
    pub placement: String,
    /// How much slower requests are served beside a neighbour; 1: not at all.
    pub neighbour_slowdown: f64,
    /// What a neighbour achieves, by the service's load: pairs of load and throughput alone = 1.
    pub neighbour_throughput: Vec<[f64; 2]>,
    /// Requests simulated per server and hour before any counts; 0: until the start is forgotten.
    /// Exponential service needs none: its steady state is drawn exactly.
    pub warmup: u32,
    /// Times kept per server and hour, at least; more where servers are few.
    pub samples: u32,
    /// Root requests in each hour; of the day's, an hour with half the load has half as many.
    pub roots: u32,
    /// Seed of every draw.
    pub seed: u64,
}

/// One kind of server (PAPERS C2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Platform {
    /// Its name.
    pub name: String,
    /// Share of the servers.
    pub share: f64,
    /// Worker threads per server.
    pub cores: u32,
    /// Speed of one core; 1 is that of `service`.
    pub speed: f64,
    /// Price of one server, $; handed through to the result for the cost model.
    pub price_usd: f64,
}

/// One level of the service tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// Requests to this level per request of the level above.
    pub fanout: u32,
    /// Its service time over `service`.
    pub scale: f64,
}

impl Default for Job {
    fn default() -> Self {
        // Day and night between 10 and 70 %: PAPERS L2 (diurnal, provisioned for 70 to 80 %).
        let hour = |h: u32| 0.4 - 0.3 * (f64::from(h) / 24.0 * std::f64::consts::TAU).cos();
        Self {
            schema: JOB_SCHEMA.into(),
            servers: 12_000,
            platforms: vec![Platform::default()],
            service: "exponential:10.9".into(),
            unit: "us".into(),
            tree: vec![
                Level { name: "root".into(), fanout: 1, scale: 10.0 },
                Level { name: "leaf".into(), fanout: 5, scale: 1.0 },
            ],
            load_by_hour: (0..24).map(hour).collect(),
            imbalance_cv: 0.0,
            placement: "null".into(),
            neighbour_slowdown: 1.0,
            // PAPERS L28, Table 2, geometric mean over SPEC CPU2006.
            neighbour_throughput: vec![
                [0.1, 0.75],
                [0.3, 0.47],
                [0.5, 0.30],
                [0.7, 0.18],
                [0.9, 0.20],
            ],
            warmup: 0,
            samples: 64,
            roots: 50_000,
            seed: 1,
        }
    }
}

impl Default for Platform {
    fn default() -> Self {
        // PAPERS L8: 2 × 6 cores; L31: $2,000 per server.
        Self { name: "xeon-l5640".into(), share: 1.0, cores: 12, speed: 1.0, price_usd: 2000.0 }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self { name: "level".into(), fanout: 1, scale: 1.0 }
    }
}

impl Job {
    /// Refuses what cannot be simulated.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong = |what: String, at: &str, fix: &str| Err(Fault::usage(what, at, fix));
        let shares: f64 = self.platforms.iter().map(|p| p.share).sum();
        if self.servers == 0 || self.servers > 10_000_000 {
            return wrong(
                format!("servers is {}", self.servers),
                "servers",
                "give 1 to 10,000,000",
            );
        }
        if (shares - 1.0).abs() > 1e-9 {
            let what = format!("the platforms' shares add to {shares}");
            return wrong(what, "platforms", "let them add to 1");
        }
        if let Some(p) =
            self.platforms.iter().find(|p| p.share < 0.0 || p.cores == 0 || p.speed <= 0.0)
        {
            let what = format!(
                "platform {}: share {}, cores {}, speed {}",
                p.name, p.share, p.cores, p.speed
            );
            return wrong(
                what,
                "platforms",
                "give a share of 0 or more, and cores and speed above 0",
            );
        }
        if let Some(p) = self.platforms.iter().find(|p| p.price_usd < 0.0) {
            let what = format!("platform {} costs {} $", p.name, p.price_usd);
            return wrong(what, "platforms", "give a price of 0 or more");
        }
        if self.tree.is_empty()
            || self.tree.iter().any(|level| level.fanout == 0 || level.scale <= 0.0)
        {
            return wrong(
                "a level of the tree is empty".into(),
                "tree",
                "give every level a fanout and scale above 0",
            );
        }
        let parts: f64 = self.tree.iter().map(|level| f64::from(level.fanout)).product();
        if parts > 1e6 {
            return wrong(
                format!("one root request has {parts} leaves"),
                "tree",
                "give at most 1,000,000",
            );
        }
        if self.load_by_hour.is_empty() || self.load_by_hour.iter().any(|l| !(0.0..1.0).contains(l))
        {
            return wrong(
                "a load is not in 0..1".into(),
                "load_by_hour",
                "a load of 1 or more is unstable: give loads from 0 to below 1",
            );
        }
        if !(1.0..=100.0).contains(&self.neighbour_slowdown)
            || !(0.0..=2.0).contains(&self.imbalance_cv)
        {
            let what = format!(
                "neighbour_slowdown is {}, imbalance_cv is {}",
                self.neighbour_slowdown, self.imbalance_cv
            );
            return wrong(
                what,
                "neighbour_slowdown",
                "give a slowdown from 1 to 100 and a cv from 0 to 2",
            );
        }
        let is_ascending = self.neighbour_throughput.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        let is_valid =
            self.neighbour_throughput.iter().all(|[l, t]| *l >= 0.0 && (0.0..=1.0).contains(t));
        if self.neighbour_throughput.is_empty() || !is_ascending || !is_valid {
            return wrong(
                "the neighbour's table is not one".into(),
                "neighbour_throughput",
                "give pairs [load, throughput] with ascending loads and throughputs in 0..1",
            );
        }
        if self.samples == 0 || self.roots == 0 {
            return wrong("samples or roots is 0".into(), "samples", "give 1 or more");
        }
        Ok(())
    }

    /// A neighbour's throughput at `load`: between the table's points by a straight line.
    pub fn throughput_at(&self, load: f64) -> f64 {
        let table = &self.neighbour_throughput;
        let above = table.partition_point(|[x, _]| *x < load);
        match (above.checked_sub(1).map(|i| table[i]), table.get(above)) {
            (Some([x0, y0]), Some([x1, y1])) => y0 + (y1 - y0) * (load - x0) / (x1 - x0),
            (Some([_, y]), None) => y,
            (None, Some([_, y])) => *y,
            (None, None) => 0.0,
        }
    }
}
