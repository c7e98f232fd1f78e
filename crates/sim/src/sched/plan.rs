//! The job of one machine, understood and found possible.

use sojourn_base::Fault;
use sojourn_base::units::{parse_count, parse_ns};

use super::job::{Job, NeighbourJob, ServiceJob};
use super::machine::Facts;
use super::policy::Terms;
use super::task::Does;
use super::{PolicyKind, find};
use crate::service::Service;

/// Longest run, ns: some 30 years. The clock counts ns in 64 bits, and the end is waited for.
const LONGEST_NS: u64 = 1_000_000_000_000_000_000;

/// Most requests/s of a service: the clock counts ns.
const RATE_MAX: f64 = 1e9;

/// The job, understood and found possible.
pub(super) struct Plan<'a> {
    pub(super) job: &'a Job,
    pub(super) policy: &'static PolicyKind,
    pub(super) facts: Facts,
    /// By service: service time, softIRQ time, rate in requests/s.
    pub(super) services: Vec<(Service, Option<Service>, f64)>,
    /// Tasks in order: the workers of each service, then the neighbours.
    pub(super) tasks: Vec<TaskPlan>,
}

/// One task.
pub(super) struct TaskPlan {
    pub(super) cpu: usize,
    pub(super) terms: Terms,
    pub(super) owner: Owner,
}

/// Whose it is, by place in the job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Service(usize),
    Neighbour(usize),
}

impl<'a> Plan<'a> {
    pub(super) fn new(job: &'a Job) -> Result<Self, Fault> {
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
        if rate <= 0.0 || !rate.is_finite() || service.workers == 0 {
            let what = format!("rate is {}, workers is {}", service.rate, service.workers);
            return Err(Fault::usage(what, "rate", "give a rate above 0 and 1 worker or more"));
        }
        if rate > RATE_MAX {
            let what = format!("rate is {}", service.rate);
            let fix = "give at most 1G: the clock counts whole ns";
            return Err(Fault::usage(what, "rate", fix));
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
    pub(super) fn overload(&self) -> Result<Vec<String>, Fault> {
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

    pub(super) fn connections(&self, service: usize) -> u64 {
        let job = &self.job.services[service];
        u64::from(if job.connections == 0 { job.workers } else { job.connections })
    }
}

fn facts(job: &Job) -> Result<Facts, Fault> {
    let ns = |text: &str, at| parse_ns(text).map_err(|fault| fault.within(at));
    let (warmup_ns, duration_ns) = (ns(&job.warmup, "warmup")?, ns(&job.duration, "duration")?);
    if duration_ns == 0 {
        return Err(Fault::usage("duration is 0", "duration", "give a time such as 10s"));
    }
    let measured_to = warmup_ns.saturating_add(duration_ns); // a longer time was read as u64::MAX
    if measured_to > LONGEST_NS {
        let what = format!("warmup is {}, duration is {}", job.warmup, job.duration);
        return Err(Fault::usage(what, "duration", "give at most 1e9s for both together"));
    }
    Ok(Facts {
        switch_ns: ns(&job.switch, "switch")? as f64,
        smt_slowdown: job.smt_slowdown,
        in_flight_max: job.in_flight_max.max(1) as usize,
        measured_from: warmup_ns,
        measured_to,
    })
}

impl NeighbourJob {
    pub(super) fn does(&self) -> Result<Does, Fault> {
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
    pub(super) fn alone(&self) -> f64 {
        match self.does() {
            Ok(Does::Wave { on_ns, off_ns }) => on_ns / (on_ns + off_ns as f64),
            _ => 1.0,
        }
    }
}
