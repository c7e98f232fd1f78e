//! The run queue of CFS, with room for warp: `cfs` and `bvt` are this with different settings.
//!
//! The task with the least (effective) virtual time should run. Waking tasks are placed at most L
//! behind the least virtual time (L20); they preempt if they are behind the runner by more than
//! the wake-up granularity; the tick takes the CPU from a task that has had its slice.
//! Source: Linux 3.5 `kernel/sched/fair.c`: `place_entity`, `wakeup_preempt_entity`,
//! `check_preempt_tick`, `sched_slice`. Left out: buddies, load balancing, group hierarchies.
//!
//! A CPU's queue is a handful of tasks, so a scan of a short vector beats a red-black tree.

use super::bvt_arithmetic::{before, cost, effective, later, place, preempts, real_ns};
use super::policy::{Knobs, Policy, TaskId, Terms, next_tick};

#[derive(Clone, Copy, Debug)]
struct Entity {
    virtual_time: i64,
    weight: u64,
    warp_ns: i64,
    ran_since_pick_ns: u64,
}

impl Entity {
    fn effective(&self) -> i64 {
        effective(self.virtual_time, self.warp_ns)
    }
}

#[derive(Debug)]
pub(super) struct Fair {
    knobs: Knobs,
    entities: Vec<Entity>,
    queued: Vec<TaskId>,
    current: Option<TaskId>,
    /// Least virtual time of those awake; never goes back.
    least: i64,
    /// Look again when the runner's lead is used up, not only at the tick (HRTICK, L26).
    is_exact: bool,
}

impl Fair {
    pub(super) fn new(knobs: &Knobs, terms: &[Terms], has_warp: bool) -> Self {
        let entity = |terms: &Terms| Entity {
            virtual_time: 0,
            weight: terms.weight.max(1),
            warp_ns: if has_warp { terms.warp_ns } else { 0 },
            ran_since_pick_ns: 0,
        };
        let entities = terms.iter().map(entity).collect();
        let (queued, current, least, is_exact) = (Vec::new(), None, 0, has_warp);
        Self { knobs: *knobs, entities, queued, current, least, is_exact }
    }

    /// Place in the queue of the task with the least effective virtual time.
    fn first(&self) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (place, &task) in self.queued.iter().enumerate() {
            let lead = |b: usize| self.entities[self.queued[b]].effective();
            if best.is_none_or(|b| before(self.entities[task].effective(), lead(b))) {
                best = Some(place);
            }
        }
        best
    }

    fn advance_least(&mut self) {
        let awake = self.queued.iter().copied().chain(self.current);
        let times = awake.map(|task| self.entities[task].virtual_time);
        if let Some(least) = times.reduce(|a, b| if before(a, b) { a } else { b }) {
            self.least = later(self.least, least);
        }
    }

    /// The part of the latency that `task` gets, by weight. Source: `sched_slice`.
    fn slice_ns(&self, task: TaskId) -> u64 {
        let runnable = self.queued.len() as u64 + 1;
        let period = self.knobs.latency_ns.max(runnable * self.knobs.min_granularity_ns);
        let others: u64 = self.queued.iter().map(|&other| self.entities[other].weight).sum();
        let own = self.entities[task].weight;
        (u128::from(period) * u128::from(own) / u128::from(own + others)) as u64
    }

    /// Granularity in the virtual time of `task`. Source: `wakeup_gran`.
    fn granularity(&self, task: TaskId) -> i64 {
        cost(self.knobs.wakeup_granularity_ns, self.entities[task].weight)
    }

    fn is_behind(&self, task: TaskId, runner: TaskId) -> bool {
        let (task_time, runner_time) =
            (self.entities[task].effective(), self.entities[runner].effective());
        preempts(task_time, runner_time, self.granularity(task))
    }

    /// When the first in the queue will be far enough behind the runner; not before the grace.
    fn overtaken_at(&self, runner: TaskId, now: u64) -> Option<u64> {
        let first = self.queued[self.first()?];
        let entity = &self.entities[runner];
        let lead = self.entities[first].effective().wrapping_sub(entity.effective());
        let lead_ns = real_ns(lead + self.granularity(first) + 1, entity.weight);
        let grace_ns = self.knobs.grace_ns.saturating_sub(entity.ran_since_pick_ns);
        Some(now.saturating_add(lead_ns.max(grace_ns)))
    }
}

impl Policy for Fair {
    fn wake(&mut self, task: TaskId, _now: u64) {
        let credit = (self.knobs.latency_ns / 2) as i64;
        let entity = &mut self.entities[task];
        entity.virtual_time = place(entity.virtual_time, self.least, credit);
        self.queued.push(task);
    }

    fn put_back(&mut self, task: TaskId, _now: u64) {
        self.current = None;
        self.queued.push(task);
    }

    fn block(&mut self, _task: TaskId, _now: u64) {
        self.current = None;
        self.advance_least();
    }

    fn pick(&mut self, _now: u64) -> Option<TaskId> {
        let task = self.queued.swap_remove(self.first()?);
        self.entities[task].ran_since_pick_ns = 0;
        self.current = Some(task);
        Some(task)
    }

    fn charge(&mut self, task: TaskId, ran_ns: u64, _now: u64) {
        let entity = &mut self.entities[task];
        entity.virtual_time = entity.virtual_time.wrapping_add(cost(ran_ns, entity.weight));
        entity.ran_since_pick_ns += ran_ns;
        self.advance_least();
    }

    fn preempts(&mut self, woken: TaskId, current: TaskId, _now: u64) -> bool {
        self.is_behind(woken, current)
    }

    fn look_again(&self, current: Option<TaskId>, now: u64) -> Option<u64> {
        let runner = current.filter(|_| !self.queued.is_empty())?;
        let tick = next_tick(now, self.knobs.tick_ns);
        let exact = if self.is_exact { self.overtaken_at(runner, now) } else { None };
        Some(exact.map_or(tick, |at| at.min(tick)))
    }

    fn must_yield(&mut self, current: TaskId, _now: u64) -> bool {
        let Some(first) = self.first().map(|place| self.queued[place]) else { return false };
        let (entity, slice) = (&self.entities[current], self.slice_ns(current));
        let is_past_grace = entity.ran_since_pick_ns >= self.knobs.grace_ns;
        if self.is_exact && is_past_grace && self.is_behind(first, current) {
            return true;
        }
        if entity.ran_since_pick_ns > slice {
            return true;
        }
        let lead = entity.effective().wrapping_sub(self.entities[first].effective());
        entity.ran_since_pick_ns >= self.knobs.min_granularity_ns && lead > slice as i64
    }
}
