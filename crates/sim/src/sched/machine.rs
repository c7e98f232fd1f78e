//! Time moves from event to event: an arrival, a neighbour's wake-up, or a CPU that comes to the
//! end of something (a request, a softIRQ, a slice, a quota).
//!
//! Nothing is scheduled ahead that could become void: every CPU, service and sleeper has one time
//! at which it acts next, set anew whenever something about it changes. So there is no event list
//! to grow, and ties are broken by place, always the same way.

mod cpus;

use sojourn_base::rng::{Rng, RngExt};
use sojourn_workload::arrivals::Process;

use super::cpu::{Cpu, NEVER};
use super::policy::TaskId;
use super::task::{Does, Next, Request, Task};
use crate::service::Service;

/// Work below this is done: times are whole ns.
const DONE_NS: f64 = 0.5;

/// A service's side of the machine.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) process: Process,
    pub(super) gap_ns: f64,
    pub(super) service: Service,
    pub(super) softirq: Option<Service>,
    pub(super) softirq_cpus: Vec<usize>,
    pub(super) connections: u64,
    pub(super) workers: Vec<TaskId>,
    pub(super) next_ns: f64,
    pub(super) gap_rng: Rng,
    pub(super) service_rng: Rng,
    pub(super) pick_rng: Rng,
}

/// What the machine tells about requests.
pub(super) trait Watch {
    /// One was finished now.
    fn done(&mut self, service: usize, request: &Request, now: u64);
    /// One was turned away, because its worker had too many.
    fn lost(&mut self, service: usize, request: &Request);
    /// One arrived that counts, for this worker.
    fn arrived(&mut self, service: usize, worker: TaskId);
}

/// The machine's fixed facts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) switch_ns: f64,
    pub(super) smt_slowdown: f64,
    pub(super) in_flight_max: usize,
    pub(super) measured_from: u64,
    pub(super) measured_to: u64,
}

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) cpus: Vec<Cpu>,
    pub(super) tasks: Vec<Task>,
    sources: Vec<Source>,
    pub(super) facts: Facts,
    /// When each CPU, then each source, then each task (a sleeper) acts next.
    pub(super) due: Vec<u64>,
    pub(super) now: u64,
    pub(super) events: u64,
}

impl Machine {
    pub(super) fn new(
        cpus: Vec<Cpu>,
        tasks: Vec<Task>,
        sources: Vec<Source>,
        facts: Facts,
    ) -> Self {
        let due = vec![NEVER; cpus.len() + sources.len() + tasks.len()];
        let mut machine = Self { cpus, tasks, sources, facts, due, now: 0, events: 0 };
        for source in 0..machine.sources.len() {
            machine.plan_arrival(source);
        }
        for task in 0..machine.tasks.len() {
            if !matches!(machine.tasks[task].does, Does::Work { .. }) {
                let sleeper = machine.sleeper(task);
                machine.due[sleeper] = 0;
            }
        }
        machine
    }

    /// Runs until no event lies before `until`.
    pub(super) fn run(&mut self, until: u64, watch: &mut impl Watch) {
        loop {
            let (at, who) = self.earliest();
            if at >= until {
                return;
            }
            self.now = at;
            self.events += 1;
            let (cpus, sources) = (self.cpus.len(), self.sources.len());
            match who {
                cpu if cpu < cpus => self.act(cpu, watch),
                source if source < cpus + sources => self.arrive(source - cpus, watch),
                sleeper => {
                    self.due[sleeper] = NEVER;
                    self.wake(sleeper - cpus - sources);
                }
            }
        }
    }

    /// Moves on to `at` and books the time up to there, also where no event did: a spinner that is
    /// alone on its CPU has none.
    pub(super) fn close_books(&mut self, at: u64) {
        self.now = at;
        (0..self.cpus.len()).for_each(|cpu| self.account(cpu));
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    fn earliest(&self) -> (u64, usize) {
        let mut best = (NEVER, 0);
        for (who, &at) in self.due.iter().enumerate() {
            if at < best.0 {
                best = (at, who);
            }
        }
        best
    }

    fn sleeper(&self, task: TaskId) -> usize {
        self.cpus.len() + self.sources.len() + task
    }

    fn plan_arrival(&mut self, source: usize) {
        let place = self.cpus.len() + source;
        let source = &mut self.sources[source];
        source.next_ns += source.process.next_gap(&mut source.gap_rng) * source.gap_ns;
        self.due[place] = source.next_ns as u64;
    }

    /// A request comes in: through softIRQ if there is any, else straight to its worker.
    fn arrive(&mut self, index: usize, watch: &mut impl Watch) {
        let now = self.now;
        self.plan_arrival(index);
        let source = &mut self.sources[index];
        let connection = source.pick_rng.random_range(0..source.connections) as usize;
        let worker = source.workers[connection % source.workers.len()];
        let softirq_ns = source.softirq.as_ref().map(|s| s.sample(&mut source.service_rng));
        let request = Request {
            arrived_ns: now,
            ready_ns: now,
            taken_ns: now,
            service_ns: source.service.sample(&mut source.service_rng),
            softirq_ns: softirq_ns.unwrap_or(0.0),
            worker,
            is_measured: (self.facts.measured_from..self.facts.measured_to).contains(&now),
        };
        if request.is_measured {
            watch.arrived(index, worker);
        }
        if softirq_ns.is_none() {
            return self.hand_over(request, watch);
        }
        let own = [self.tasks[worker].cpu];
        let cpus = if source.softirq_cpus.is_empty() { &own[..] } else { &source.softirq_cpus };
        let cpu = cpus[connection % cpus.len()];
        self.account(cpu);
        if self.cpus[cpu].softirq.len() >= self.facts.in_flight_max {
            return watch.lost(index, &request);
        }
        self.cpus[cpu].softirq.push_back(request);
        self.settle(cpu);
    }

    /// The worker's socket is readable.
    fn hand_over(&mut self, mut request: Request, watch: &mut impl Watch) {
        request.ready_ns = self.now;
        let Does::Work { service, queue, phase, .. } = &mut self.tasks[request.worker].does else {
            return;
        };
        if queue.len() >= self.facts.in_flight_max {
            return watch.lost(*service, &request);
        }
        queue.push_back(request);
        if *phase == super::task::Phase::Asleep && queue.len() == 1 {
            self.wake(request.worker);
        }
    }

    fn wake(&mut self, task: TaskId) {
        let (now, cpu) = (self.now, self.tasks[task].cpu);
        self.tasks[task].begin();
        self.account(cpu);
        let place = &mut self.cpus[cpu];
        place.policy.wake(task, now);
        if let Some(current) = place.current
            && place.policy.preempts(task, current, now)
        {
            place.policy.put_back(current, now);
            place.current = None;
        }
        self.settle(cpu);
    }

    /// CPU `cpu` has come to the end of something.
    fn act(&mut self, cpu: usize, watch: &mut impl Watch) {
        self.account(cpu);
        let is_handled = |request: &Request| request.softirq_ns <= DONE_NS;
        let softirq = &mut self.cpus[cpu].softirq;
        let handled =
            if softirq.front().is_some_and(is_handled) { softirq.pop_front() } else { None };
        if handled.is_none() {
            self.finish_pieces(cpu, watch);
        }
        self.yield_if_due(cpu);
        self.settle(cpu);
        if let Some(request) = handled {
            self.hand_over(request, watch);
        }
    }

    /// Asks the policy at the time that it named; if softIRQ ran then, at its end. In the kernel
    /// the tick interrupts softIRQ, and the task is switched when that returns.
    fn yield_if_due(&mut self, cpu: usize) {
        let (now, place) = (self.now, &mut self.cpus[cpu]);
        if place.look_again > now {
            return;
        }
        place.look_again = NEVER;
        if let Some(current) = place.current
            && place.policy.must_yield(current, now)
        {
            place.policy.put_back(current, now);
            place.current = None;
        }
    }

    /// Lets the current task go on to its next piece of work, or to sleep.
    fn finish_pieces(&mut self, cpu: usize, watch: &mut impl Watch) {
        let now = self.now;
        while let Some(task) = self.cpus[cpu].current {
            let is_done = self.tasks[task].left_ns <= DONE_NS;
            if !is_done || self.cpus[cpu].switch_left_ns > 0.0 {
                return;
            }
            let mut done = None;
            let next = self.tasks[task].step(now, &mut done);
            if let (Some(request), Does::Work { service, .. }) = (done, &self.tasks[task].does) {
                watch.done(*service, &request, now);
            }
            if matches!(next, Next::Continue) {
                continue;
            }
            if let Next::Sleep(ns) = next {
                let sleeper = self.sleeper(task);
                self.due[sleeper] = now.saturating_add(ns.max(1));
            }
            self.cpus[cpu].policy.block(task, now);
            self.cpus[cpu].current = None;
        }
    }
}
