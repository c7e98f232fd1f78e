//! What callers and servers do at each event.

use sojourn_base::rng::RngExt;

use super::plan::CallPlan;
use super::station::Came;
use super::world::{CLIENT, Calling, Event, Task, World};

impl World<'_> {
    fn call_plan(&self, from: usize, stage: usize) -> &CallPlan {
        if from == CLIENT { &self.plan.client } else { &self.plan.services[from].calls[stage] }
    }

    /// User number `user` arrives.
    pub(super) fn begin(&mut self, user: u64) {
        let task = self.fresh();
        let root = Task {
            service: CLIENT,
            instance: 0,
            call: user,
            attempt: 0,
            began_ns: self.now,
            stage: 0,
            needed: 0,
            spare: 0,
            has_worker: false,
        };
        self.tasks.insert(task, root);
        self.call_stage(task);
    }

    /// Handles an event other than an arrival.
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive => {}
            Event::Served { task } => self.served(task),
            Event::Timeout { call, attempt } => {
                if let Some(to) = self.newest(call, attempt) {
                    self.counts[to].timeouts += 1;
                    self.again_or_fail(call);
                }
            }
            Event::Hedge { call, attempt } => {
                if let Some(to) = self.newest(call, attempt) {
                    self.counts[to].hedges += 1;
                    self.send(call);
                }
            }
            Event::Again { call } => {
                let attempt = self.calls.get(&call).map(|one| one.attempt);
                if let Some(to) = attempt.and_then(|attempt| self.newest(call, attempt)) {
                    self.counts[to].retries += 1;
                    self.attempt(call);
                }
            }
            Event::Scale { service } => self.scale(service),
            Event::Ready { service } => self.stations[service].ready(self.now),
            Event::Govern { service } => {
                if let Some(speed) = &self.plan.services[service].speed {
                    self.stations[service].govern(speed.low, speed.up_above, self.now);
                    self.after(speed.every_ns, Event::Govern { service });
                }
            }
        }
    }

    fn scale(&mut self, service: usize) {
        if let Some(scaling) = &self.plan.services[service].scaling {
            for _ in 0..self.stations[service].scale(scaling, self.now) {
                self.after(scaling.startup_ns, Event::Ready { service });
            }
            self.after(scaling.every_ns, Event::Scale { service });
        }
    }

    /// Service that a call goes to, if its caller still waits for this attempt. A caller whose
    /// stage has enough replies, or too few left, waits no more and sends nothing again.
    fn newest(&mut self, call: u64, attempt: u32) -> Option<usize> {
        let one = self.calls.get(&call).filter(|one| one.attempt == attempt)?;
        if self.tasks.get(&one.parent).is_none_or(|parent| parent.stage != one.stage) {
            self.calls.remove(&call);
            return None;
        }
        Some(self.call_plan(one.from, one.stage).to)
    }

    /// Sends the calls of the task's stage, all at once.
    fn call_stage(&mut self, task: u64) {
        let Some(parent) = self.tasks.get_mut(&task) else { return };
        let (from, stage) = (parent.service, parent.stage);
        let plan =
            if from == CLIENT { &self.plan.client } else { &self.plan.services[from].calls[stage] };
        (parent.needed, parent.spare) = (plan.need, plan.copies - plan.need);
        let to = plan.to;
        for copy in 0..plan.copies {
            let call = self.fresh();
            let (attempt, under_way) = (0, 0);
            let one = Calling { parent: task, from, stage, copy, attempt, under_way };
            self.calls.insert(call, one);
            self.counts[to].first += 1;
            self.attempt(call);
        }
    }

    /// Sends the newest attempt, with its timeout and its hedge.
    fn attempt(&mut self, call: u64) {
        let Some(one) = self.calls.get(&call) else { return };
        let (attempt, plan) = (one.attempt, self.call_plan(one.from, one.stage));
        let (timeout_ns, hedge_ns) = (plan.timeout_ns, plan.hedge_ns);
        if timeout_ns.is_finite() {
            self.after(timeout_ns, Event::Timeout { call, attempt });
        }
        if hedge_ns.is_finite() && hedge_ns < timeout_ns {
            self.after(hedge_ns, Event::Hedge { call, attempt });
        }
        self.send(call);
    }

    /// Puts one copy of the newest attempt into the queue of an instance.
    fn send(&mut self, call: u64) {
        let Some(one) = self.calls.get_mut(&call) else { return };
        one.under_way += 1;
        let (attempt, copy, from, stage) = (one.attempt, one.copy, one.from, one.stage);
        let service = self.call_plan(from, stage).to;
        let task = self.fresh();
        self.counts[service].came += 1;
        let came = self.stations[service].come(task, copy, self.now, &mut self.draws.pick);
        let (Came::Serve(instance) | Came::Wait(instance)) = came else {
            self.counts[service].refused += 1;
            self.reply(call, attempt, false);
            return;
        };
        let began_ns = self.now;
        let (stage, needed, spare) = (0, 0, 0);
        let one = Task {
            service,
            instance,
            call,
            attempt,
            began_ns,
            stage,
            needed,
            spare,
            has_worker: true,
        };
        self.tasks.insert(task, one);
        if came == Came::Serve(instance) {
            self.serve(service, task);
        }
    }

    fn serve(&mut self, service: usize, task: u64) {
        let drawn_ns = self.plan.services[service].service.sample(&mut self.draws.service[service]);
        self.after(drawn_ns / self.stations[service].speed, Event::Served { task });
    }

    fn served(&mut self, task: u64) {
        let Some(one) = self.tasks.get(&task) else { return };
        let (service, plan) = (one.service, &self.plan.services[one.service]);
        if plan.calls.is_empty() {
            self.answer(task, true);
            return;
        }
        if !plan.holds {
            self.release(task, service);
        }
        self.call_stage(task);
    }

    /// The task's worker takes the next request.
    fn release(&mut self, task: u64, service: usize) {
        let Some(one) = self.tasks.get_mut(&task).filter(|one| one.has_worker) else { return };
        one.has_worker = false;
        let instance = one.instance;
        if let Some(next) = self.stations[service].free(instance, self.now) {
            self.serve(service, next);
        }
    }

    /// The task ends, and its caller hears of it.
    fn answer(&mut self, task: u64, is_right: bool) {
        let Some(service) = self.tasks.get(&task).map(|one| one.service) else { return };
        if service != CLIENT {
            self.release(task, service);
        }
        let Some(one) = self.tasks.remove(&task) else { return };
        if service == CLIENT {
            self.end(one.call, one.began_ns, is_right);
            return;
        }
        if self.newest(one.call, one.attempt).is_none() {
            self.counts[service].wasted += 1;
            return;
        }
        let is_right = is_right && !self.is_spoiled(one.call);
        self.reply(one.call, one.attempt, is_right);
    }

    /// Whether chance makes an error of a reply.
    fn is_spoiled(&mut self, call: u64) -> bool {
        let Some(one) = self.calls.get(&call) else { return false };
        let chance = self.call_plan(one.from, one.stage).fails;
        chance > 0.0 && self.draws.fails.random::<f64>() < chance
    }

    /// A call hears of its newest attempt, which fails with the last of its copies.
    fn reply(&mut self, call: u64, attempt: u32, is_right: bool) {
        if self.newest(call, attempt).is_none() {
            return;
        }
        if !is_right {
            let Some(one) = self.calls.get_mut(&call) else { return };
            one.under_way = one.under_way.saturating_sub(1);
            if one.under_way == 0 {
                self.again_or_fail(call);
            }
            return;
        }
        let Some(one) = self.calls.remove(&call) else { return };
        let Some(parent) = self.tasks.get_mut(&one.parent) else { return };
        parent.needed = parent.needed.saturating_sub(1);
        if parent.needed > 0 {
            return;
        }
        parent.stage += 1;
        let (service, stage) = (parent.service, parent.stage);
        if service == CLIENT || stage == self.plan.services[service].calls.len() {
            self.answer(one.parent, true);
        } else {
            self.call_stage(one.parent);
        }
    }

    /// The newest attempt failed: the next one after a pause, or none is left.
    fn again_or_fail(&mut self, call: u64) {
        let Some(one) = self.calls.get(&call) else { return };
        let plan = self.call_plan(one.from, one.stage);
        let counts = &self.counts[plan.to];
        let is_over_budget = plan.retry_budget > 0.0
            && counts.retries as f64 >= plan.retry_budget * counts.first as f64;
        if one.attempt < plan.retries && !is_over_budget {
            let pause_ns = plan.backoff_ns * 2.0_f64.powi(one.attempt.min(30) as i32);
            if let Some(one) = self.calls.get_mut(&call) {
                one.attempt += 1; // replies to older attempts are ignored from now on
                one.under_way = 0;
            }
            self.after(pause_ns, Event::Again { call });
            return;
        }
        let Some(one) = self.calls.remove(&call) else { return };
        let Some(parent) = self.tasks.get_mut(&one.parent) else { return };
        if parent.spare == 0 {
            self.answer(one.parent, false);
        } else {
            parent.spare -= 1;
        }
    }
}
