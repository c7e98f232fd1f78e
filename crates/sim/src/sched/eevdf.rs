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
mod tests {
    use super::*;

    /// Tasks 0 and 1 awake, 2 asleep with a lag of 60.
    fn three(weights: [u64; 3]) -> Eevdf {
        let entity = |(k, weight)| Entity {
            virtual_time: [1000, 1300, 0][k],
            deadline: 0,
            lag: [0, 0, 60][k],
            weight,
            is_spent: false,
        };
        Eevdf {
            knobs: Knobs {
                latency_ns: 0,
                min_granularity_ns: 0,
                wakeup_granularity_ns: 0,
                tick_ns: 1,
                grace_ns: 0,
                slice_ns: 3000,
            },
            entities: weights.into_iter().enumerate().map(entity).collect(),
            queued: vec![0],
            current: Some(1),
            last_average: 7,
        }
    }

    #[test]
    fn the_average_is_weighed_and_of_those_awake() {
        assert_eq!(three([1024, 1024, 9]).average(), 1150);
        assert_eq!(three([1024, 2048, 9]).average(), 1200);
        let alone = Eevdf { queued: vec![], current: None, ..three([1, 1, 1]) };
        assert_eq!(alone.average(), 7, "where it stood when the last one slept");
    }

    /// Stoica and Abdel-Wahab, equation 18 ff.: whoever joins moves V, and has its own lag after that.
    #[test]
    fn a_task_that_wakes_has_the_lag_that_it_slept_with() {
        for weights in [[1024, 1024, 1024], [1024, 2048, 512], [512, 512, 4096]] {
            let mut tasks = three(weights);
            tasks.wake(2, 0);
            let lag = tasks.average() - tasks.entities[2].virtual_time;
            assert!((59..=61).contains(&lag), "{weights:?}: {lag}");
        }
    }

    /// Of 0 and 1 awake, V = 1150; the runner 1 is at 1300 and had more than its share.
    #[test]
    fn whoever_wakes_behind_a_runner_beyond_its_share_takes_the_cpu() {
        let woken = |lag: i64, deadline_of_runner: i64, is_spent| {
            let mut tasks = three([1024; 3]);
            tasks.entities[0].deadline = 9000;
            (tasks.entities[1].deadline, tasks.entities[1].is_spent) =
                (deadline_of_runner, is_spent);
            tasks.entities[2].lag = lag;
            tasks.wake(2, 0);
            tasks.preempts(2, 1, 0)
        };
        assert!(woken(60, 2000, false), "not eligible any more");
        assert!(!woken(-60, 2000, false), "it owes itself");
        let eligible = |deadline_of_runner: i64, is_spent| {
            let mut tasks = three([1024; 3]);
            (tasks.entities[0].virtual_time, tasks.entities[0].deadline) = (2000, 9000);
            (tasks.entities[1].deadline, tasks.entities[1].is_spent) =
                (deadline_of_runner, is_spent);
            tasks.wake(2, 0);
            assert!(tasks.entities[1].virtual_time <= tasks.average());
            (tasks.preempts(2, 1, 0), tasks.entities[2].deadline)
        };
        let (_, deadline) = eligible(0, false);
        assert!(!eligible(9999, false).0, "protected until its slice is used");
        assert!(eligible(deadline + 1, true).0, "the earlier deadline");
        assert!(!eligible(deadline, true).0 && !eligible(deadline - 1, true).0);
    }

    /// Two slices or a tick at most, in the task's own virtual time.
    #[test]
    fn lag_is_kept_within_bounds() {
        let lag = |weight, slice_ns, tick_ns, ahead: i64| {
            let mut tasks = three([1_000_000_000, weight, 1]);
            (tasks.knobs.slice_ns, tasks.knobs.tick_ns) = (slice_ns, tick_ns);
            tasks.entities[1].virtual_time = 1000 + ahead;
            tasks.block(1, 0);
            (tasks.entities[1].lag, tasks.current, tasks.average())
        };
        assert_eq!(lag(1024, 3000, 1, 100), (-100, None, 1000), "the other one weighs all");
        assert_eq!(
            (lag(1024, 3000, 1, 50_000).0, lag(1024, 3000, 1, -50_000).0),
            (-6000, 5999 + 1)
        );
        assert_eq!((lag(2048, 3000, 1, 50_000).0, lag(1024, 3000, 9000, 50_000).0), (-3000, -9000));
    }

    #[test]
    fn the_last_one_to_sleep_leaves_the_average_where_it_was() {
        let mut tasks = Eevdf { queued: vec![], ..three([1024; 3]) };
        tasks.block(1, 0);
        assert_eq!((tasks.last_average, tasks.average()), (1300, 1300));
        tasks.wake(2, 0);
        assert_eq!(tasks.entities[2].virtual_time, 1300, "nobody is there to owe it anything");
        assert_eq!(tasks.entities[2].deadline, 4300);
        let mut tasks = three([1024; 3]);
        tasks.block(1, 0);
        assert_eq!((tasks.last_average, tasks.average()), (1000, 1000), "of those left");
    }

    /// Ticks of 4: a slice that ends at 4 is seen there, one that ends at 5 at 8; a spent one at the next.
    #[test]
    fn the_end_of_a_slice_is_seen_at_the_tick_that_follows() {
        let look = |left: i64, weight, is_spent, now| {
            let mut tasks = three([1024, weight, 1]);
            tasks.knobs.tick_ns = 4;
            tasks.entities[1].deadline = tasks.entities[1].virtual_time + left;
            tasks.entities[1].is_spent = is_spent;
            tasks.look_again(Some(1), now)
        };
        assert_eq!((look(3, 1024, false, 1), look(4, 1024, false, 1)), (Some(4), Some(8)));
        assert_eq!((look(3, 2048, false, 1), look(3, 1024, false, 0)), (Some(8), Some(4)));
        assert_eq!((look(9, 1024, true, 3), look(9, 1024, true, 4)), (Some(4), Some(8)));
    }

    #[test]
    fn a_slice_is_spent_at_its_deadline() {
        let spent = |ran_ns| {
            let mut tasks = three([1024, 2048, 1]);
            tasks.entities[1].deadline = 1400;
            tasks.charge(1, ran_ns, 0);
            let entity = tasks.entities[1];
            (entity.virtual_time, entity.is_spent, entity.deadline, tasks.must_yield(1, 0))
        };
        assert_eq!(spent(199), (1399, false, 1400, false));
        assert_eq!(spent(200), (1400, true, 1400 + 1500, true));
    }
}
