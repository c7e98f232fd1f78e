//! Earliest eligible virtual deadline first: Linux since 6.6.
//!
//! A task is *eligible* if it has had no more than its share (virtual time ≤ the weighted average
//! V). Of the eligible ones the earliest deadline, virtual time + slice, runs. Lag is kept over
//! sleep, within bounds, so that sleeping is neither rewarded nor punished. A runner is protected
//! until its slice is used or it is no longer eligible (`RUN_TO_PARITY`).
//! Source: Stoica and Abdel-Wahab, TR 95-22 (1995); Linux 6.6 `kernel/sched/fair.c`: `pick_eevdf`,
//! `place_entity`, `update_deadline`. Left out: delayed dequeue and shorter slices (6.12).

use sojourn_base::kind::Kind;

use super::PolicyKind;
use super::bvt_arithmetic::{cost, real_ns};
use super::policy::{Knobs, Policy, TaskId, Terms, next_tick};

#[derive(Clone, Copy, Debug)]
struct Entity {
    virtual_time: i64,
    deadline: i64,
    /// V − virtual time when it went to sleep.
    lag: i64,
    weight: u64,
    /// It used up a slice since it was picked.
    is_spent: bool,
}

#[derive(Debug)]
struct Eevdf {
    knobs: Knobs,
    entities: Vec<Entity>,
    queued: Vec<TaskId>,
    current: Option<TaskId>,
    /// V when the CPU last fell idle.
    last_average: i64,
}

impl Eevdf {
    /// V, the average of virtual times by weight, of those queued and current.
    fn average(&self) -> i64 {
        let awake = || self.queued.iter().copied().chain(self.current);
        let Some(base) = awake().next().map(|task| self.entities[task].virtual_time) else {
            return self.last_average;
        };
        let (mut sum, mut weights) = (0_i128, 0_i128);
        for task in awake() {
            let entity = &self.entities[task];
            sum += i128::from(entity.virtual_time - base) * i128::from(entity.weight);
            weights += i128::from(entity.weight);
        }
        base + sum.div_euclid(weights) as i64
    }

    fn slice(&self, task: TaskId) -> i64 {
        cost(self.knobs.slice_ns, self.entities[task].weight)
    }

    /// Place in the queue of the eligible task with the earliest deadline; if none is (rounding),
    /// the one furthest behind.
    fn best(&self, average: i64) -> Option<usize> {
        let entity = |place: usize| &self.entities[self.queued[place]];
        let places = 0..self.queued.len();
        let eligible = places.clone().filter(|&place| entity(place).virtual_time <= average);
        eligible
            .min_by_key(|&place| (entity(place).deadline, self.queued[place]))
            .or_else(|| places.min_by_key(|&place| entity(place).virtual_time))
    }

    fn is_protected(&self, task: TaskId, average: i64) -> bool {
        let entity = &self.entities[task];
        !entity.is_spent && entity.virtual_time <= average
    }
}

impl Policy for Eevdf {
    fn wake(&mut self, task: TaskId, _now: u64) {
        let average = self.average();
        let others: u64 =
            self.queued.iter().copied().chain(self.current).map(|t| self.entities[t].weight).sum();
        let own = self.entities[task].weight;
        let lag = if others == 0 {
            0
        } else {
            // Joining moves V towards the newcomer, so its lag is scaled up to come out right.
            let lag = i128::from(self.entities[task].lag) * i128::from(others + own);
            (lag / i128::from(others)) as i64
        };
        let slice = self.slice(task);
        let entity = &mut self.entities[task];
        entity.virtual_time = average - lag;
        entity.deadline = entity.virtual_time + slice;
        self.queued.push(task);
    }

    fn put_back(&mut self, task: TaskId, _now: u64) {
        self.current = None;
        self.queued.push(task);
    }

    fn block(&mut self, task: TaskId, _now: u64) {
        let average = self.average();
        let bound =
            cost((2 * self.knobs.slice_ns).max(self.knobs.tick_ns), self.entities[task].weight);
        let entity = &mut self.entities[task];
        entity.lag = (average - entity.virtual_time).clamp(-bound, bound);
        self.current = None;
        self.last_average = if self.queued.is_empty() { average } else { self.average() };
    }

    fn pick(&mut self, _now: u64) -> Option<TaskId> {
        let task = self.queued.swap_remove(self.best(self.average())?);
        self.entities[task].is_spent = false;
        self.current = Some(task);
        Some(task)
    }

    fn charge(&mut self, task: TaskId, ran_ns: u64, _now: u64) {
        let slice = self.slice(task);
        let entity = &mut self.entities[task];
        entity.virtual_time += cost(ran_ns, entity.weight);
        if entity.virtual_time >= entity.deadline {
            entity.deadline = entity.virtual_time + slice;
            entity.is_spent = true;
        }
    }

    fn preempts(&mut self, woken: TaskId, current: TaskId, _now: u64) -> bool {
        let average = self.average();
        if self.is_protected(current, average) {
            return false;
        }
        let rival = self.best(average).map(|place| self.queued[place]);
        let is_eligible = self.entities[current].virtual_time <= average;
        let is_earlier = self.entities[woken].deadline < self.entities[current].deadline;
        rival == Some(woken) && (!is_eligible || is_earlier)
    }

    fn look_again(&self, current: Option<TaskId>, now: u64) -> Option<u64> {
        let runner = &self.entities[current.filter(|_| !self.queued.is_empty())?];
        let left_ns = real_ns(runner.deadline - runner.virtual_time, runner.weight);
        // The kernel without HRTICK notices at the tick that follows.
        let from = if runner.is_spent { now } else { (now + left_ns).saturating_sub(1) };
        Some(next_tick(from, self.knobs.tick_ns))
    }

    fn must_yield(&mut self, current: TaskId, _now: u64) -> bool {
        self.entities[current].is_spent && !self.queued.is_empty()
    }
}

pub(super) const KIND: PolicyKind = PolicyKind {
    kind: Kind {
        name: "eevdf",
        about: "earliest virtual deadline of those who had no more than their share",
        usage: "eevdf (eevdf)",
        params: &[],
        needs: &[],
        source: "Stoica and Abdel-Wahab 1995; Linux 6.6 kernel/sched/fair.c",
    },
    has_quota: false,
    build: |knobs, terms| {
        let entity = |terms: &Terms| Entity {
            virtual_time: 0,
            deadline: 0,
            lag: 0,
            weight: terms.weight.max(1),
            is_spent: false,
        };
        let entities = terms.iter().map(entity).collect();
        let (queued, current, last_average) = (Vec::new(), None, 0);
        Box::new(Eevdf { knobs: *knobs, entities, queued, current, last_average })
    },
};

#[cfg(test)]
mod tests;
