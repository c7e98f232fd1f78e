//! One CPU: what it works on, and the books of its time.

use std::collections::VecDeque;

use super::policy::{Policy, TaskId};
use super::task::Request;

/// Never.
pub(super) const NEVER: u64 = u64::MAX;

/// Its state between two events.
#[derive(Debug)]
pub(super) struct Cpu {
    pub(super) policy: Box<dyn Policy>,
    pub(super) current: Option<TaskId>,
    /// The task whose state the CPU holds; another one costs a switch.
    pub(super) loaded: Option<TaskId>,
    /// Requests in softIRQ; the first is being worked on. It runs before any task.
    pub(super) softirq: VecDeque<Request>,
    /// Up to when work was accounted for.
    pub(super) since: u64,
    pub(super) switch_left_ns: f64,
    pub(super) look_again: u64,
    pub(super) speed: f64,
    pub(super) busy_ns: u64,
    pub(super) softirq_ns: u64,
    pub(super) switches: u64,
}

impl Cpu {
    pub(super) fn new(policy: Box<dyn Policy>) -> Self {
        Self {
            policy,
            current: None,
            loaded: None,
            softirq: VecDeque::new(),
            since: 0,
            switch_left_ns: 0.0,
            look_again: NEVER,
            speed: 1.0,
            busy_ns: 0,
            softirq_ns: 0,
            switches: 0,
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.current.is_some() || !self.softirq.is_empty()
    }
}
