//! Order of waking; a task keeps the CPU until it blocks. Decides nothing, so it is the null.

use std::collections::VecDeque;

use sojourn_base::kind::Kind;

use super::PolicyKind;
use super::policy::{Policy, TaskId};

#[derive(Debug, Default)]
struct Fifo {
    queued: VecDeque<TaskId>,
}

impl Policy for Fifo {
    fn wake(&mut self, task: TaskId, _now: u64) {
        self.queued.push_back(task);
    }
    fn put_back(&mut self, task: TaskId, _now: u64) {
        self.queued.push_front(task);
    }
    fn block(&mut self, _task: TaskId, _now: u64) {}
    fn pick(&mut self, _now: u64) -> Option<TaskId> {
        self.queued.pop_front()
    }
    fn charge(&mut self, _task: TaskId, _ran_ns: u64, _now: u64) {}
    fn preempts(&mut self, _woken: TaskId, _current: TaskId, _now: u64) -> bool {
        false
    }
    fn look_again(&self, _current: Option<TaskId>, _now: u64) -> Option<u64> {
        None
    }
    fn must_yield(&mut self, _current: TaskId, _now: u64) -> bool {
        false
    }
}

pub(super) const KIND: PolicyKind = PolicyKind {
    kind: Kind {
        name: "fifo",
        about: "order of waking, never preempted",
        usage: "fifo (fifo)",
        params: &[],
        needs: &[],
        source: "SCHED_FIFO with one priority",
    },
    has_quota: false,
    build: |_, _| Box::new(Fifo::default()),
};
