//! One run of a machine: from the job to its result.

use sojourn_base::Fault;

use super::books::Books;
use super::cpu::Cpu;
use super::job::{JOB_SCHEMA, Job};
use super::machine::Machine;
use super::plan::{Owner, Plan};
use super::result::{NeighbourResult, SCHEMA, SchedResult};
use crate::result::Verdict;

/// Simulates the machine of `job`; a fault if the job is wrong.
pub fn run(job: &Job) -> Result<SchedResult, Fault> {
    crate::check_schema(&job.schema, JOB_SCHEMA)?;
    let plan = Plan::new(job)?;
    let overload = plan.overload()?;
    let mut machine = plan.machine()?;
    let mut books = Books::new(job.services.len(), plan.tasks.len(), &plan.facts);
    let grace_ns = plan.facts.measured_to / 5;
    machine.run(plan.facts.measured_to, &mut books);
    machine.close_books(plan.facts.measured_to);
    let end = plan.facts.measured_to + grace_ns;
    let mut until = plan.facts.measured_to;
    while until < end && books.is_waiting() {
        until += grace_ns.div_ceil(20);
        machine.run(until, &mut books);
    }
    Ok(plan.result(&machine, books, overload))
}

impl Plan<'_> {
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
