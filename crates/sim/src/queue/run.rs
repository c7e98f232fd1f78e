//! One run of a queue: from the job to its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::Fault;
use sojourn_base::rng::stream;
use sojourn_base::span::Span;
use sojourn_base::units::parse_count;
use sojourn_workload::arrivals;

use super::tally::Tally;
use super::{Discipline, Form};
use crate::closed::{self, Closed, Model};
use crate::result::{Agreement, Verdict, agreement, is_cut};
use crate::service::Service;
use crate::stats::{Intervals, Regenerative};

/// Version of the job's form.
pub const JOB_SCHEMA: &str = "sojourn.sim.queue.job/1";
/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.sim.queue/1";

/// One simulated queue. Every flag of `sojourn-sim queue` has a key here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Version of this form: `sojourn.sim.queue.job/1`.
    pub schema: String,
    /// Arrival process, as for the generator: `poisson`, `fixed`, `gamma:2`, …
    pub arrivals: String,
    /// Offered load, requests/s: `3.2`, `50k`.
    pub rate: String,
    /// Service time in `unit`: `exponential:1`, `fixed:10`, or `histogram:FILE#KEY` (ns).
    pub service: String,
    /// Unit of the numbers in `service`: `s`, `ms`, `us`, `ns`.
    pub unit: String,
    /// Servers (worker threads).
    pub servers: u32,
    /// How requests share them: `fcfs`, `placed:64`, `epoll:64,1us,3us`, `ps`, `null`.
    pub discipline: String,
    /// Requests measured: `10M`.
    pub requests: String,
    /// Requests before them that are left out; empty: a tenth as many.
    pub warmup: String,
    /// Seed of every draw.
    pub seed: u64,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            schema: JOB_SCHEMA.into(),
            arrivals: "poisson".into(),
            rate: "0.8".into(),
            service: "exponential:1".into(),
            unit: "s".into(),
            servers: 1,
            discipline: "fcfs".into(),
            requests: "1M".into(),
            warmup: String::new(),
            seed: 1,
        }
    }
}

/// Above this, rare services decide the mean, and a run that saw too few of them does not know it.
/// Of 50 runs of 1 M requests of lognormal service, 95 % intervals of the mean covered it in 13.
const SCV_MAX: f64 = 5.0;

/// Most requests of a run, warm-up included: months of simulation. More could not be counted.
const REQUESTS_MAX: u64 = 1_000_000_000_000_000;

/// Requests that are drawn at once: both arrays of them fit the first-level cache.
const BATCH: usize = 512;

/// Everything that one run found. It holds no clock time: same job, same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueResult {
    /// Version of this form: `sojourn.sim.queue/1`.
    pub schema: String,
    /// Program and version that wrote it.
    pub program: String,
    /// Always `simulated`: nothing here was measured.
    pub label: String,
    /// The job.
    pub job: Job,
    /// Offered load, requests/s.
    pub offered_rps: f64,
    /// Offered work over capacity, 0 to 1.
    pub utilisation: f64,
    /// Requests that count.
    pub requests: u64,
    /// Whether the numbers can be believed.
    pub verdict: Verdict,
    /// Why not; what to do about it.
    pub reasons: Vec<String>,
    /// done − arrived.
    pub sojourn_ns: Span,
    /// 95 % intervals by sectioning: 32 parts of the run; those that enough busy cycles carry.
    pub intervals: Intervals,
    /// Correlation of neighbouring sections; near 0 if the sections are long enough.
    pub section_correlation: f64,
    /// The mean once more, by regenerative cycles; `null` unless arrivals are Poisson.
    pub regenerative: Option<Regenerative>,
    /// Mean wait for the event loop to come back, ns (epoll only).
    pub epoll_ns_mean: Option<f64>,
    /// Mean wait behind others of the same batch, ns (epoll only).
    pub dispatch_ns_mean: Option<f64>,
    /// Formulas that describe this queue.
    pub closed: Vec<Closed>,
    /// Simulation against every exact formula.
    pub agreement: Vec<Agreement>,
}

/// Simulates the queue of `job`; a fault if the job is wrong.
pub fn run(job: &Job) -> Result<QueueResult, Fault> {
    let plan = Plan::new(job)?;
    let (mut queue, form) = super::parse(&job.discipline, job.servers)?;
    plan.refuse_uneven(queue.most_of_one())?;
    let tally = plan.drive(queue.as_mut())?;
    let (summary, cycles, [epoll, dispatch]) = tally.finish_run();
    let closed = plan.closed(form);
    let mut reasons = summary.doubts;
    let scv = plan.service.scv();
    if scv > SCV_MAX {
        reasons.push(format!(
            "service times vary too much for intervals from one run: their squared coefficient of \
             variation is {scv:.1}, at most {SCV_MAX} allowed; compare several seeds"
        ));
    }
    if summary.span.max.is_some_and(is_cut) {
        reasons.push("sojourn times above 1 h were cut there; use a smaller --unit".into());
    }
    let is_epoll = job.discipline.starts_with("epoll");
    let mean_of = |sum: f64| is_epoll.then(|| sum / summary.span.count as f64);
    Ok(QueueResult {
        schema: SCHEMA.into(),
        program: crate::program(),
        label: "simulated".into(),
        job: job.clone(),
        offered_rps: plan.rate_rps,
        utilisation: plan.utilisation(),
        requests: summary.span.count,
        verdict: Verdict::of(&reasons),
        reasons,
        regenerative: (job.arrivals.trim() == "poisson").then_some(cycles),
        epoll_ns_mean: mean_of(epoll),
        dispatch_ns_mean: mean_of(dispatch),
        agreement: agreement(&summary.intervals, &closed),
        closed,
        sojourn_ns: summary.span,
        intervals: summary.intervals,
        section_correlation: summary.lag_1,
    })
}

/// The job, understood and found possible.
struct Plan<'a> {
    job: &'a Job,
    service: Service,
    rate_rps: f64,
    requests: u64,
    warmup: u64,
}

impl<'a> Plan<'a> {
    fn new(job: &'a Job) -> Result<Self, Fault> {
        crate::check_schema(&job.schema, JOB_SCHEMA)?;
        let service = Service::parse(&job.service, &job.unit)?;
        let rate_rps = count(&job.rate, "rate")?;
        let requests = count(&job.requests, "requests")?.round() as u64;
        let warmup = match job.warmup.trim() {
            "" => requests / 10,
            text => parse_count(text).map_err(|fault| fault.within("warmup"))?.max(0.0) as u64,
        };
        if requests == 0 || warmup.saturating_add(requests) > REQUESTS_MAX {
            let what = format!("requests is {}, warmup is {warmup}", job.requests);
            let fix = "give 1 request or more, and at most 1e15 with the warm-up";
            return Err(Fault::usage(what, "requests", fix));
        }
        let plan = Self { job, service, rate_rps, requests, warmup };
        plan.refuse_unstable()?;
        Ok(plan)
    }

    fn utilisation(&self) -> f64 {
        self.rate_rps * self.service.mean_ns() / 1e9 / f64::from(self.job.servers.max(1))
    }

    /// ρ ≥ 1 has no steady state: the queue would grow for as long as the run lasts.
    fn refuse_unstable(&self) -> Result<(), Fault> {
        let (rho, servers) = (self.utilisation(), self.job.servers.max(1));
        if rho < 1.0 || self.job.discipline.trim() == "null" {
            return Ok(());
        }
        let peak = f64::from(servers) * 1e9 / self.service.mean_ns();
        Err(Fault::usage(
            format!(
                "unstable: {} requests/s offer {rho:.3} of what {servers} server(s) can do, so the queue grows without end",
                self.job.rate
            ),
            "rate",
            format!("offer less than {peak:.6} requests/s, or raise servers"),
        ))
    }

    /// Where connections do not divide evenly, one worker may have more than it can do.
    fn refuse_uneven(&self, share: Option<f64>) -> Result<(), Fault> {
        let rho = self.rate_rps * self.service.mean_ns() / 1e9 * share.unwrap_or(0.0);
        if rho < 1.0 {
            return Ok(());
        }
        let most = 1e9 / self.service.mean_ns() / share.unwrap_or(1.0);
        Err(Fault::usage(
            format!(
                "unstable: one worker has {:.1} % of the connections and is offered {rho:.3} of what it \
                 can do, so its queue grows without end",
                share.unwrap_or(0.0) * 100.0
            ),
            "discipline",
            format!(
                "give a multiple of {} connections, or offer less than {most:.6} requests/s",
                self.job.servers
            ),
        ))
    }

    fn drive(&self, queue: &mut dyn Discipline) -> Result<Tally, Fault> {
        let mut gaps = arrivals::parse(&self.job.arrivals, self.rate_rps)?;
        if let Some(own) = gaps.own_rate_rps() {
            let what = format!("{} brings its own rate of {own} requests/s", self.job.arrivals);
            return Err(Fault::usage(what, "arrivals", "simulate a process that takes a rate"));
        }
        let stream_of = |name| stream(self.job.seed, name, 0);
        let (mut gap_rng, mut service_rng, mut pick_rng) =
            (stream_of("gaps"), stream_of("service"), stream_of("pick"));
        let gap_ns = 1e9 / self.rate_rps;
        let mut tally = Tally::new(self.warmup, self.requests);
        let (mut gaps_ns, mut services_ns) = ([0.0; BATCH], [0.0; BATCH]);
        let mut left = self.warmup + self.requests;
        while left > 0 {
            let n = left.min(BATCH as u64) as usize;
            let (gaps_ns, services_ns) = (&mut gaps_ns[..n], &mut services_ns[..n]);
            gaps.fill(&mut gap_rng, gaps_ns);
            for gap in &mut *gaps_ns {
                *gap *= gap_ns;
            }
            self.service.fill(&mut service_rng, services_ns);
            queue.arrive_all(gaps_ns, services_ns, &mut pick_rng, &mut tally);
            left -= n as u64;
        }
        queue.drain(&mut tally);
        Ok(tally)
    }

    fn closed(&self, form: Form) -> Vec<Closed> {
        let split = if form == Form::SplitFcfs { self.job.servers } else { 1 };
        if form == Form::None || self.job.arrivals.trim() != "poisson" {
            return Vec::new();
        }
        closed::all(&Model {
            rate_per_ns: self.rate_rps / 1e9 / f64::from(split),
            service_ns: self.service.mean_ns(),
            service_scv: self.service.scv(),
            is_exponential: self.service.is_exponential(),
            servers: self.job.servers / split,
            is_fcfs: form != Form::Sharing,
        })
    }
}

fn count(text: &str, at: &str) -> Result<f64, Fault> {
    let number = parse_count(text).map_err(|fault| fault.within(at))?;
    if number > 0.0 && number.is_finite() {
        return Ok(number);
    }
    Err(Fault::usage(format!("{at} is {text}"), at, format!("give {at} above 0")))
}

#[cfg(test)]
mod tests;
