//! One run of a machine: from the job to its result.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::Fault;
use sojourn_base::rng::stream;
use sojourn_base::span::Span;
use sojourn_base::units::{parse_count, parse_ns};
use sojourn_load::arrivals;

use super::job::{JOB_SCHEMA, Job, NeighbourJob, ServiceJob};
use super::machine::{Cpu, Facts, Machine, Source, Watch};
use super::policy::Terms;
use super::task::{Does, Phase, Request, Task};
use super::{PolicyKind, find};
use crate::result::Verdict;
use crate::service::Service;
use crate::stats::{Intervals, SECTIONS, Sections};

/// Version of the result's form.
pub const SCHEMA: &str = "sojourn.sim.sched/1";

/// Everything that one run found. It holds no clock time: same job, same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedResult {
    /// Version of this form: `sojourn.sim.sched/1`.
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
    /// In the order of the job.
    pub services: Vec<ServiceResult>,
    /// In the order of the job.
    pub neighbours: Vec<NeighbourResult>,
    /// By CPU: share of time busy.
    pub busy_ratio: Vec<f64>,
    /// By CPU: share of time in softIRQ.
    pub softirq_ratio: Vec<f64>,
    /// By CPU: context switches per second.
    pub switches_rps: Vec<f64>,
    /// Events that the engine handled, warm-up included.
    pub events: u64,
}

/// What became of one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceResult {
    /// Its name.
    pub name: String,
    /// Requests per second that arrived.
    pub offered_rps: f64,
    /// Requests per second that were finished within the measured part.
    pub achieved_rps: f64,
    /// CPUs' worth of time that its workers used.
    pub cpu_share: f64,
    /// done − arrived.
    pub sojourn_ns: Span,
    /// 95 % intervals by sectioning.
    pub intervals: Intervals,
    /// Mean time in softIRQ, waiting included, ns.
    pub softirq_ns_mean: f64,
    /// Mean time until `epoll_wait` returned it, ns: thread busy, asleep, or waiting for its CPU.
    pub epoll_ns_mean: f64,
    /// Mean time from there to the end: others of the batch, its own service, preemption, ns.
    pub after_ns_mean: f64,
}

/// What became of one neighbour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeighbourResult {
    /// Its name.
    pub name: String,
    /// CPUs' worth of time that it used.
    pub cpu_share: f64,
    /// That over what it would have used alone.
    pub progress: f64,
}

/// Runs `job`.
pub fn run(job: &Job) -> Result<SchedResult, Fault> {
    crate::check_schema(&job.schema, JOB_SCHEMA)?;
    let plan = Plan::new(job)?;
    let overload = plan.overload()?;
    let mut machine = plan.machine()?;
    let mut books = Books::new(job.services.len(), &plan.facts);
    let grace_ns = plan.facts.measured_to / 5;
    machine.run(plan.facts.measured_to, &mut books);
    let end = plan.facts.measured_to + grace_ns;
    let mut until = plan.facts.measured_to;
    while until < end && books.is_waiting() {
        until += grace_ns.div_ceil(20);
        machine.run(until, &mut books);
    }
    Ok(plan.result(&machine, books, overload))
}

/// The job, understood and found possible.
struct Plan<'a> {
    job: &'a Job,
    policy: &'static PolicyKind,
    facts: Facts,
    /// By service: service time, softIRQ time, rate in requests/s.
    services: Vec<(Service, Option<Service>, f64)>,
    /// Tasks in order: the workers of each service, then the neighbours.
    tasks: Vec<TaskPlan>,
}

struct TaskPlan {
    cpu: usize,
    terms: Terms,
    owner: Owner,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Service(usize),
    Neighbour(usize),
}

impl<'a> Plan<'a> {
    fn new(job: &'a Job) -> Result<Self, Fault> {
        let policy = find(&job.policy)?;
        if job.cpus == 0 || job.cpus > 4096 {
            let what = format!("cpus is {}", job.cpus);
            return Err(Fault::usage(what, "cpus", "give 1 to 4096 CPUs"));
        }
        if !(1.0..=10.0).contains(&job.smt_slowdown) {
            let what = format!("smt_slowdown is {}", job.smt_slowdown);
            return Err(Fault::usage(what, "smt_slowdown", "give 1 (no SMT) to 10"));
        }
        let mut plan =
            Self { job, policy, facts: facts(job)?, services: Vec::new(), tasks: Vec::new() };
        for (index, service) in job.services.iter().enumerate() {
            plan.add_service(index, service)
                .map_err(|f| f.within(&format!("services[{index}]")))?;
        }
        for (index, other) in job.neighbours.iter().enumerate() {
            plan.add_neighbour(index, other)
                .map_err(|f| f.within(&format!("neighbours[{index}]")))?;
        }
        Ok(plan)
    }

    fn add_service(&mut self, index: usize, service: &ServiceJob) -> Result<(), Fault> {
        let time = Service::parse(&service.service, &service.unit)?;
        let softirq = match service.softirq.trim() {
            "" => None,
            text => Some(Service::parse(text, &service.unit).map_err(|f| f.within("softirq"))?),
        };
        let rate = parse_count(&service.rate).map_err(|fault| fault.within("rate"))?;
        if rate <= 0.0 || service.workers == 0 {
            let what = format!("rate is {}, workers is {}", service.rate, service.workers);
            return Err(Fault::usage(what, "rate", "give a rate above 0 and 1 worker or more"));
        }
        self.check_cpus(&service.softirq_cpus)?;
        let terms = service.grant.terms(self.policy.has_quota).map_err(|f| f.within("grant"))?;
        let all: Vec<u32> = (0..self.job.cpus).collect();
        let cpus = if service.cpus.is_empty() { &all } else { &service.cpus };
        self.check_cpus(cpus)?;
        for worker in 0..service.workers as usize {
            let (cpu, owner) = (cpus[worker % cpus.len()] as usize, Owner::Service(index));
            self.tasks.push(TaskPlan { cpu, terms, owner });
        }
        self.services.push((time, softirq, rate));
        Ok(())
    }

    fn add_neighbour(&mut self, index: usize, other: &NeighbourJob) -> Result<(), Fault> {
        self.check_cpus(&other.cpus)?;
        other.does()?;
        let terms = other.grant.terms(self.policy.has_quota).map_err(|f| f.within("grant"))?;
        for &cpu in &other.cpus {
            let owner = Owner::Neighbour(index);
            self.tasks.push(TaskPlan { cpu: cpu as usize, terms, owner });
        }
        Ok(())
    }

    fn check_cpus(&self, cpus: &[u32]) -> Result<(), Fault> {
        let Some(wrong) = cpus.iter().find(|&&cpu| cpu >= self.job.cpus) else { return Ok(()) };
        let last = self.job.cpus - 1;
        let fix = format!("name CPUs from 0 to {last}, or raise cpus");
        Err(Fault::usage(format!("there is no CPU {wrong}"), "cpus", fix))
    }

    /// Which CPUs are offered more than they can do by services and square waves. Spinners take
    /// only what is left. Quotas and warp are left out: a CPU below 1 may still starve a task.
    fn overload(&self) -> Result<Vec<String>, Fault> {
        let mut load = vec![0.0; self.job.cpus as usize];
        for (index, (time, softirq, rate)) in self.services.iter().enumerate() {
            let own: Vec<&TaskPlan> =
                self.tasks.iter().filter(|t| t.owner == Owner::Service(index)).collect();
            let job = &self.job.services[index];
            let connections = self.connections(index);
            let softirq_ns = softirq.as_ref().map_or(0.0, Service::mean_ns);
            for connection in 0..connections.min(10_000) as usize {
                let share = rate / 1e9 / connections.min(10_000) as f64;
                let worker = own[connection % own.len()].cpu;
                load[worker] += share * time.mean_ns();
                let irq = &job.softirq_cpus;
                let cpu =
                    if irq.is_empty() { worker } else { irq[connection % irq.len()] as usize };
                load[cpu] += share * softirq_ns;
            }
        }
        for task in &self.tasks {
            if let Owner::Neighbour(index) = task.owner
                && !matches!(self.job.neighbours[index].does()?, Does::Spin)
            {
                load[task.cpu] += self.job.neighbours[index].alone();
            }
        }
        let over: Vec<String> = load.iter().enumerate().filter(|(_, load)| **load >= 1.0)
            .map(|(cpu, load)| format!("unstable: CPU {cpu} is offered {load:.3} of what it can do, so its queues grow without end"))
            .collect();
        match over.first() {
            Some(first) if !self.job.allow_overload => Err(Fault::usage(
                first.clone(),
                "services",
                "offer less, add CPUs, or set allow_overload (then only throughput means something)",
            )),
            _ => Ok(over),
        }
    }

    fn connections(&self, service: usize) -> u64 {
        let job = &self.job.services[service];
        u64::from(if job.connections == 0 { job.workers } else { job.connections })
    }

    fn machine(&self) -> Result<Machine, Fault> {
        let knobs = self.job.tuning.knobs()?;
        let terms: Vec<Terms> = self.tasks.iter().map(|task| task.terms).collect();
        let cpus = (0..self.job.cpus).map(|_| Cpu::new((self.policy.build)(&knobs, &terms)));
        let tasks: Result<Vec<Task>, Fault> = self.tasks.iter().map(|t| self.task(t)).collect();
        let sources: Result<Vec<Source>, Fault> =
            (0..self.services.len()).map(|index| self.source(index)).collect();
        Ok(Machine::new(cpus.collect(), tasks?, sources?, self.facts))
    }

    fn task(&self, plan: &TaskPlan) -> Result<Task, Fault> {
        let does = match plan.owner {
            Owner::Neighbour(index) => self.job.neighbours[index].does()?,
            Owner::Service(service) => {
                let job = &self.job.services[service];
                Does::Work {
                    service,
                    queue: VecDeque::new(),
                    phase: Phase::Asleep,
                    wake_ns: parse_ns(&job.wake).map_err(|f| f.within("wake"))? as f64,
                    loop_ns: parse_ns(&job.r#loop).map_err(|f| f.within("loop"))? as f64,
                }
            }
        };
        Ok(Task { cpu: plan.cpu, does, left_ns: 0.0, cpu_ns: 0 })
    }

    fn source(&self, index: usize) -> Result<Source, Fault> {
        let job = &self.job.services[index];
        let rate = self.services[index].2;
        let of = |name| stream(self.job.seed, name, index as u64);
        let (gap_rng, service_rng, pick_rng) = (of("gaps"), of("service"), of("pick"));
        let softirq = match job.softirq.trim() {
            "" => None,
            text => Some(Service::parse(text, &job.unit)?),
        };
        Ok(Source {
            process: arrivals::parse(&job.arrivals, rate)?,
            gap_ns: 1e9 / rate,
            service: Service::parse(&job.service, &job.unit)?,
            softirq,
            softirq_cpus: job.softirq_cpus.iter().map(|&cpu| cpu as usize).collect(),
            connections: self.connections(index),
            workers: (0..self.tasks.len())
                .filter(|&task| self.tasks[task].owner == Owner::Service(index))
                .collect(),
            next_ns: 0.0,
            gap_rng,
            service_rng,
            pick_rng,
        })
    }

    fn result(&self, machine: &Machine, books: Books, overload: Vec<String>) -> SchedResult {
        let seconds = (self.facts.measured_to - self.facts.measured_from) as f64 / 1e9;
        let used = |owner: Owner| -> f64 {
            let own = self.tasks.iter().zip(&machine.tasks).filter(|(plan, _)| plan.owner == owner);
            own.map(|(_, task)| task.cpu_ns as f64).sum::<f64>() / 1e9 / seconds
        };
        let mut reasons = overload;
        let mut services = Vec::new();
        for (index, book) in books.services.into_iter().enumerate() {
            let name = self.job.services[index].name.clone();
            let result = book.result(name, seconds, used(Owner::Service(index)), &mut reasons);
            services.push(result);
        }
        let neighbours = self.job.neighbours.iter().enumerate().map(|(index, job)| {
            let cpu_share = used(Owner::Neighbour(index));
            let progress = cpu_share / (job.alone() * job.cpus.len() as f64);
            NeighbourResult { name: job.name.clone(), cpu_share, progress }
        });
        let per_cpu = |of: fn(&Cpu) -> u64, by: f64| -> Vec<f64> {
            machine.cpus.iter().map(|cpu| of(cpu) as f64 / by).collect()
        };
        let whole_s = machine.now().max(1) as f64 / 1e9;
        SchedResult {
            schema: SCHEMA.into(),
            program: crate::program(),
            label: "simulated".into(),
            job: self.job.clone(),
            verdict: Verdict::of(&reasons),
            reasons,
            services,
            neighbours: neighbours.collect(),
            busy_ratio: per_cpu(|cpu| cpu.busy_ns, seconds * 1e9),
            softirq_ratio: per_cpu(|cpu| cpu.softirq_ns, seconds * 1e9),
            switches_rps: per_cpu(|cpu| cpu.switches, whole_s),
            events: machine.events,
        }
    }
}

fn facts(job: &Job) -> Result<Facts, Fault> {
    let ns = |text: &str, at| parse_ns(text).map_err(|fault| fault.within(at));
    let (warmup_ns, duration_ns) = (ns(&job.warmup, "warmup")?, ns(&job.duration, "duration")?);
    if duration_ns == 0 {
        return Err(Fault::usage("duration is 0", "duration", "give a time such as 10s"));
    }
    Ok(Facts {
        switch_ns: ns(&job.switch, "switch")? as f64,
        smt_slowdown: job.smt_slowdown,
        in_flight_max: job.in_flight_max.max(1) as usize,
        measured_from: warmup_ns,
        measured_to: warmup_ns + duration_ns,
    })
}

impl NeighbourJob {
    fn does(&self) -> Result<Does, Fault> {
        match self.kind.trim() {
            "spin" => Ok(Does::Spin),
            "square" => {
                let on_ns = parse_ns(&self.on).map_err(|fault| fault.within("on"))?.max(1) as f64;
                let off_ns = parse_ns(&self.off).map_err(|fault| fault.within("off"))?.max(1);
                Ok(Does::Wave { on_ns, off_ns })
            }
            other => {
                let what = format!("no neighbour is called '{other}'");
                Err(Fault::usage(what, "kind", "known: square, spin"))
            }
        }
    }

    /// Share of a CPU that it would use alone.
    fn alone(&self) -> f64 {
        match self.does() {
            Ok(Does::Wave { on_ns, off_ns }) => on_ns / (on_ns + off_ns as f64),
            _ => 1.0,
        }
    }
}

/// What is written down of each service's requests.
struct Books {
    services: Vec<Book>,
    end_ns: u64,
}

struct Book {
    sections: Sections,
    section_ns: u64,
    section_ends: u64,
    arrived: u64,
    finished: u64,
    in_window: u64,
    lost: u64,
    stages: [f64; 3],
}

impl Books {
    fn new(services: usize, facts: &Facts) -> Self {
        let section_ns = (facts.measured_to - facts.measured_from).div_ceil(SECTIONS as u64);
        let book = || Book {
            sections: Sections::timed(),
            section_ns,
            section_ends: facts.measured_from + section_ns,
            arrived: 0,
            finished: 0,
            in_window: 0,
            lost: 0,
            stages: [0.0; 3],
        };
        Self { services: (0..services).map(|_| book()).collect(), end_ns: facts.measured_to }
    }

    fn is_waiting(&self) -> bool {
        self.services.iter().any(|book| book.finished + book.lost < book.arrived)
    }
}

impl Watch for Books {
    fn arrived(&mut self, service: usize) {
        self.services[service].arrived += 1;
    }

    fn done(&mut self, service: usize, request: &Request, now: u64) {
        let book = &mut self.services[service];
        if now < self.end_ns && now >= book.section_ends - book.section_ns {
            book.in_window += 1;
        }
        if !request.is_measured {
            return;
        }
        while now >= book.section_ends && book.section_ends < self.end_ns {
            book.sections.end_section();
            book.section_ends += book.section_ns;
        }
        book.finished += 1;
        book.sections.add(now - request.arrived_ns);
        let [softirq, epoll, after] = &mut book.stages;
        *softirq += (request.ready_ns - request.arrived_ns) as f64;
        *epoll += (request.taken_ns - request.ready_ns) as f64;
        *after += (now - request.taken_ns) as f64;
    }

    fn lost(&mut self, service: usize, request: &Request) {
        if request.is_measured {
            self.services[service].lost += 1;
            self.services[service].sections.add_lost();
        }
    }
}

impl Book {
    fn result(
        mut self,
        name: String,
        seconds: f64,
        cpu_share: f64,
        reasons: &mut Vec<String>,
    ) -> ServiceResult {
        let missing = self.arrived - self.finished - self.lost;
        (0..missing).for_each(|_| self.sections.add_lost());
        self.sections.end_section();
        let summary = self.sections.finish();
        if missing + self.lost > 0 {
            let all = self.arrived;
            reasons.push(format!(
                "{name}: {} of {all} requests were not finished; they count as infinite",
                missing + self.lost
            ));
        }
        reasons.extend(summary.doubts.into_iter().map(|doubt| format!("{name}: {doubt}")));
        let mean = |sum: f64| if self.finished > 0 { sum / self.finished as f64 } else { 0.0 };
        let [softirq_ns_mean, epoll_ns_mean, after_ns_mean] = self.stages.map(mean);
        ServiceResult {
            name,
            offered_rps: self.arrived as f64 / seconds,
            achieved_rps: self.in_window as f64 / seconds,
            cpu_share,
            sojourn_ns: summary.span,
            intervals: summary.intervals,
            softirq_ns_mean,
            epoll_ns_mean,
            after_ns_mean,
        }
    }
}
