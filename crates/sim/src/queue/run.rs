//! One run of a queue: from the job to its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::rng::stream;
use sojourn_base::span::{MAX_NS, Span};
use sojourn_base::units::parse_count;
use sojourn_base::{Fault, dist};
use sojourn_load::arrivals;

use super::tally::Tally;
use super::{Discipline, Form};
use crate::closed::{self, Closed, Model};
use crate::result::{Agreement, Verdict, agreement};
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
    /// 95 % intervals by sectioning: 32 parts of the run, around the pooled value.
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

/// Runs `job`.
pub fn run(job: &Job) -> Result<QueueResult, Fault> {
    let plan = Plan::new(job)?;
    let (mut queue, form) = super::parse(&job.discipline, job.servers)?;
    let tally = plan.drive(queue.as_mut())?;
    let (summary, cycles, [epoll, dispatch]) = tally.finish_run();
    let closed = plan.closed(form);
    let mut reasons = summary.doubts;
    if summary.span.max.is_some_and(|max| max >= MAX_NS) {
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
        for _ in 0..self.warmup + self.requests {
            let gap = gaps.next_gap(&mut gap_rng) * gap_ns;
            let service = self.service.sample(&mut service_rng);
            queue.arrive(gap, service, &mut pick_rng, &mut tally);
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
            is_exponential: self.job.service.trim().starts_with("exponential:"),
            servers: self.job.servers / split,
            is_fcfs: form != Form::Sharing,
        })
    }
}

fn count(text: &str, at: &str) -> Result<f64, Fault> {
    let number = parse_count(text).map_err(|fault| fault.within(at))?;
    if number > 0.0 {
        return Ok(number);
    }
    Err(Fault::usage(format!("{at} is {text}"), at, format!("give {at} above 0")))
}

/// Names of the service-time distributions, for `--describe`.
pub fn service_kinds() -> Vec<sojourn_base::kind::Kind> {
    dist::KINDS.iter().map(|entry| entry.kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(rho: f64, service: &str, servers: u32) -> Job {
        let rate = format!("{}", rho * f64::from(servers));
        let (service, requests) = (service.into(), "400k".into());
        Job { rate, service, servers, requests, ..Job::default() }
    }

    /// The oracle: M/M/1, M/D/1 and M/M/4 at four loads. Intervals are 95 %, so 1 in 20 may miss;
    /// of 60 comparisons 9 misses are 3.5 sigma. No single one may miss by twice its half-width.
    #[test]
    fn closed_forms_lie_within_the_runs_own_intervals() {
        let mut all = Vec::new();
        for rho in [0.5, 0.7, 0.8, 0.9, 0.95] {
            for (service, servers) in [("exponential:1", 1), ("fixed:1", 1), ("exponential:1", 4)] {
                let found = run(&job(rho, service, servers)).unwrap();
                assert_eq!(found.verdict, Verdict::Holds, "{:?}", found.reasons);
                all.extend(found.agreement.into_iter().filter(|a| a.quantity != "p999"));
            }
        }
        let far = |a: &&Agreement| {
            let half = (a.interval.hi - a.interval.lo) / 2.0;
            (a.closed - a.interval.mid).abs() > 2.0 * half
        };
        assert!(all.len() >= 60);
        let misses = all.iter().filter(|a| !a.is_within).count();
        assert!(misses * 60 <= 9 * all.len(), "{misses} of {}", all.len());
        assert_eq!(all.iter().filter(far).collect::<Vec<_>>(), Vec::<&Agreement>::new());
    }

    #[test]
    fn same_job_same_bytes_and_another_seed_other_bytes() {
        let bytes = |seed| {
            let job = Job { seed, requests: "20k".into(), ..Job::default() };
            serde_json::to_string(&run(&job).unwrap().sojourn_ns).unwrap()
        };
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }

    #[test]
    fn a_load_of_one_or_more_is_refused_as_unstable() {
        for rho in [1.0, 1.5] {
            let fault = run(&job(rho, "exponential:1", 4)).unwrap_err();
            assert!(fault.what.starts_with("unstable") && fault.fix.contains("less than 4"));
        }
    }

    /// Every discipline conserves requests, and at a tiny load takes the service time alone.
    #[test]
    fn every_discipline_serves_all_and_adds_nothing_when_idle() {
        for entry in super::super::KINDS {
            let usage = entry.kind.usage;
            let example = usage.split_once('(').unwrap().1.trim_end_matches(')');
            let discipline = example.replace("1us,3us", "0,0");
            let rate = "0.0001".into();
            let requests = "10k".into();
            let job = Job { discipline, rate, requests, servers: 4, ..Job::default() };
            let found = run(&job).unwrap();
            assert_eq!(found.requests, 10_000, "{example}");
            let mean = found.sojourn_ns.mean.unwrap();
            assert!((mean / 1e9 - 1.0).abs() < 0.05, "five sigma: {example} {mean}");
        }
    }

    #[test]
    fn sharing_is_insensitive_to_the_service_distribution() {
        for service in ["fixed:1", "exponential:1"] {
            let found = run(&Job { discipline: "ps".into(), ..job(0.8, service, 1) }).unwrap();
            let mean = found.intervals.mean.unwrap();
            assert!((mean.mid / 5e9 - 1.0).abs() < 0.03, "{service}: {mean:?}");
        }
    }

    #[test]
    fn an_event_loop_without_cost_is_first_come_first_served() {
        let mean = |discipline: &str| {
            let job = Job { discipline: discipline.into(), ..job(0.8, "exponential:1", 1) };
            run(&job).unwrap().sojourn_ns.mean.unwrap()
        };
        assert!((mean("epoll:1,0,0") / mean("fcfs") - 1.0).abs() < 1e-9);
    }

    /// Placed connections cost a lot: 4 single queues at ρ = .8 against one queue for 4 (L16).
    #[test]
    fn placed_connections_are_single_queues() {
        let found = run(&Job { discipline: "placed:64".into(), ..job(0.8, "exponential:1", 4) });
        let found = found.unwrap();
        assert_eq!(found.closed[0].model, "M/M/1");
        assert!(found.agreement.iter().filter(|a| a.is_within).count() * 2 > found.agreement.len());
    }
}
