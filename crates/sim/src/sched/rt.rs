//! `SCHED_FIFO` with priorities, and a quota of CPU time per period.
//!
//! Higher priority runs first, always; equal ones in order of waking. A task that has used its
//! quota is *throttled* until the period ends, also when the CPU is idle: this is what makes it
//! not work-conserving (L24). Leftover overrun is carried, as in `do_sched_rt_period_timer`.
//! Source: Linux 3.5 `kernel/sched/rt.c`.

use sojourn_base::kind::Kind;

use super::PolicyKind;
use super::policy::{Policy, TaskId, Terms};

#[derive(Clone, Copy, Debug)]
struct Budget {
    terms: Terms,
    used_ns: u64,
    /// Periods that have ended, as far as this budget knows.
    periods: u64,
}

impl Budget {
    fn has_quota(&self) -> bool {
        self.terms.quota_ns > 0
    }

    /// Gives back one quota for every period that ended.
    fn refill(&mut self, now: u64) {
        if !self.has_quota() {
            return;
        }
        let periods = now / self.terms.period_ns;
        let back = (periods - self.periods).saturating_mul(self.terms.quota_ns);
        self.used_ns = self.used_ns.saturating_sub(back);
        self.periods = periods;
    }

    /// As it is at `now`.
    fn at(mut self, now: u64) -> Self {
        self.refill(now);
        self
    }

    fn is_throttled(&self) -> bool {
        self.has_quota() && self.used_ns >= self.terms.quota_ns
    }

    fn period_end(&self, now: u64) -> u64 {
        (now / self.terms.period_ns + 1).saturating_mul(self.terms.period_ns)
    }
}

#[derive(Debug)]
struct Rt {
    budgets: Vec<Budget>,
    /// In order of waking.
    queued: Vec<TaskId>,
}

impl Rt {
    fn priority(&self, task: TaskId) -> u32 {
        self.budgets[task].terms.priority
    }

    fn refill(&mut self, now: u64) {
        self.budgets.iter_mut().for_each(|budget| budget.refill(now));
    }

    /// Place in the queue of the first task of the highest priority that may run.
    fn best(&self) -> Option<usize> {
        let may_run = |&(_, &task): &(usize, &TaskId)| !self.budgets[task].is_throttled();
        let order =
            |&(place, &task): &(usize, &TaskId)| (self.priority(task), std::cmp::Reverse(place));
        self.queued.iter().enumerate().filter(may_run).max_by_key(order).map(|(place, _)| place)
    }
}

impl Policy for Rt {
    fn wake(&mut self, task: TaskId, now: u64) {
        self.refill(now);
        self.queued.push(task);
    }
    fn put_back(&mut self, task: TaskId, _now: u64) {
        self.queued.insert(0, task); // a preempted task stays first among equals
    }
    fn block(&mut self, _task: TaskId, _now: u64) {}
    fn pick(&mut self, now: u64) -> Option<TaskId> {
        self.refill(now);
        self.best().map(|place| self.queued.remove(place))
    }
    fn charge(&mut self, task: TaskId, ran_ns: u64, now: u64) {
        self.budgets[task].used_ns += ran_ns;
        self.budgets[task].refill(now);
    }
    fn preempts(&mut self, woken: TaskId, current: TaskId, _now: u64) -> bool {
        !self.budgets[woken].is_throttled() && self.priority(woken) > self.priority(current)
    }
    fn look_again(&self, current: Option<TaskId>, now: u64) -> Option<u64> {
        let at = |task: TaskId| self.budgets[task].at(now);
        let outranks =
            |task: TaskId| current.is_none_or(|runner| self.priority(task) > self.priority(runner));
        let released = self.queued.iter().filter_map(|&task| {
            let budget = at(task);
            if budget.is_throttled() {
                return Some(budget.period_end(now));
            }
            outranks(task).then_some(now)
        });
        let spent = current.map(at).filter(Budget::has_quota).map(|budget| {
            let left_ns = budget.terms.quota_ns.saturating_sub(budget.used_ns);
            now.saturating_add(left_ns).min(budget.period_end(now))
        });
        released.chain(spent).min()
    }
    fn must_yield(&mut self, current: TaskId, now: u64) -> bool {
        self.refill(now);
        let rival = self.best().map(|place| self.priority(self.queued[place]));
        self.budgets[current].is_throttled() || rival > Some(self.priority(current))
    }
}

pub(super) const KIND: PolicyKind = PolicyKind {
    kind: Kind {
        name: "rt",
        about: "fixed priorities, with a quota of CPU time per period",
        usage: "rt (rt)",
        params: &[],
        needs: &[],
        source: "Linux 3.5 kernel/sched/rt.c; Leverich and Kozyrakis 2014, sections 4.3.2 and 4.3.3 (L24)",
    },
    has_quota: true,
    build: |_, terms| {
        let budget = |&terms: &Terms| Budget { terms, used_ns: 0, periods: 0 };
        Box::new(Rt { budgets: terms.iter().map(budget).collect(), queued: Vec::new() })
    },
};
