//! What runs on the machine's CPUs: workers of services, and neighbours.

use std::collections::VecDeque;

/// One request on its way through the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) arrived_ns: u64,
    /// When softIRQ had handed it to the worker.
    pub(super) ready_ns: u64,
    /// When the worker's `epoll_wait` had returned it.
    pub(super) taken_ns: u64,
    pub(super) service_ns: f64,
    pub(super) softirq_ns: f64,
    pub(super) worker: usize,
    pub(super) is_measured: bool,
}

/// Where a worker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In `epoll_wait`.
    Asleep,
    /// Waking up, and the loop's own cost.
    Loop,
    /// Serving a request; so many of the batch are left, this one included.
    Serving(usize),
}

/// What a task does with the CPU.
#[derive(Debug)]
pub(super) enum Does {
    /// Serves requests of one service from its own connections.
    Work { service: usize, queue: VecDeque<Request>, phase: Phase, wake_ns: f64, loop_ns: f64 },
    /// Uses `on_ns` of CPU time, sleeps `off_ns`, for ever: the square wave (L18).
    Wave { on_ns: f64, off_ns: u64 },
    /// Uses all it gets.
    Spin,
}

/// A task, bound to one CPU.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) cpu: usize,
    pub(super) does: Does,
    /// Work left until it decides what comes next, ns at full speed.
    pub(super) left_ns: f64,
    /// CPU time used in the measured part.
    pub(super) cpu_ns: u64,
}

/// What a task wants when its piece of work is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// Go on: `left_ns` was set anew.
    Continue,
    /// Sleep until woken by a request.
    Block,
    /// Sleep for so long.
    Sleep(u64),
}

impl Task {
    /// Called when it wakes up.
    pub(super) fn begin(&mut self) {
        match &mut self.does {
            Does::Work { phase, wake_ns, loop_ns, .. } => {
                *phase = Phase::Loop;
                self.left_ns = *wake_ns + *loop_ns;
            }
            Does::Wave { on_ns, .. } => self.left_ns = *on_ns,
            Does::Spin => self.left_ns = f64::INFINITY,
        }
    }

    /// Called when its piece of work is done; a request that is finished by it goes to `done`.
    pub(super) fn step(&mut self, now: u64, done: &mut Option<Request>) -> Next {
        let Does::Work { queue, phase, loop_ns, .. } = &mut self.does else {
            return match self.does {
                Does::Wave { off_ns, .. } => Next::Sleep(off_ns),
                _ => Next::Continue,
            };
        };
        let left_in_batch = match *phase {
            Phase::Serving(left) => {
                *done = queue.pop_front();
                left - 1
            }
            Phase::Loop => {
                for request in queue.iter_mut() {
                    request.taken_ns = now;
                }
                queue.len()
            }
            Phase::Asleep => 0,
        };
        let Some(next) = queue.front() else {
            *phase = Phase::Asleep;
            return Next::Block;
        };
        (*phase, self.left_ns) = if left_in_batch == 0 {
            (Phase::Loop, *loop_ns)
        } else {
            (Phase::Serving(left_in_batch), next.service_ns)
        };
        Next::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arrived_ns: u64) -> Request {
        let (ready_ns, taken_ns, worker) = (arrived_ns, 0, 0);
        let (service_ns, softirq_ns, is_measured) = (5.0, 0.0, true);
        Request { arrived_ns, ready_ns, taken_ns, service_ns, softirq_ns, worker, is_measured }
    }

    /// Two are ready at the first return, the third comes while they are served: two batches.
    #[test]
    fn a_worker_takes_all_that_is_ready_then_loops() {
        let queue = VecDeque::from([request(0), request(1)]);
        let does =
            Does::Work { service: 0, queue, phase: Phase::Asleep, wake_ns: 3.0, loop_ns: 2.0 };
        let mut task = Task { cpu: 0, does, left_ns: 0.0, cpu_ns: 0 };
        let mut done = None;
        task.begin();
        assert_eq!(task.left_ns, 5.0);
        assert!(matches!(task.step(5, &mut done), Next::Continue) && done.is_none());
        let Does::Work { queue, .. } = &mut task.does else { unreachable!() };
        queue.push_back(request(7));
        task.step(10, &mut done);
        assert_eq!(done.take().unwrap().taken_ns, 5);
        task.step(15, &mut done);
        assert_eq!((done.take().unwrap().arrived_ns, task.left_ns), (1, 2.0), "the loop's cost");
        task.step(17, &mut done);
        assert!(matches!(task.step(22, &mut done), Next::Block));
        assert_eq!(done.unwrap().taken_ns, 17);
    }
}
