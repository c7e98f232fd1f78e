//! From the plan to the machine: CPUs, tasks, and where requests come from.

use std::collections::VecDeque;

use sojourn_base::Fault;
use sojourn_base::rng::stream;
use sojourn_base::units::parse_ns;
use sojourn_workload::arrivals;

use super::cpu::Cpu;
use super::machine::{Machine, Source};
use super::plan::{Owner, Plan, TaskPlan};
use super::policy::Terms;
use super::task::{Does, Phase, Task};
use crate::service::Service;

impl Plan<'_> {
    pub(super) fn machine(&self) -> Result<Machine, Fault> {
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
}
