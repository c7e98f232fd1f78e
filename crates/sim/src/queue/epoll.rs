//! Workers with an event loop: `epoll_wait` returns all that is ready, then each is served in turn.
//!
//! Order of service is still order of arrival, so the recursion needs three numbers per worker.
//! What the loop adds is its own cost, once per return; under load many requests share it. The
//! wait splits in two, as in Table 1 (L12, L13): *epoll*, until the loop comes back, and
//! *dispatch* ("libevent"), behind others of the same batch.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::{Rng, RngExt};

use super::tally::Tally;
use super::{Built, Discipline, Form, QueueKind, connections, dealt_most, rebase};

#[derive(Clone, Copy, Debug, Default)]
struct Worker {
    /// When the batch in service ends.
    batch_end: f64,
    /// Service time of the requests that will form the next batch.
    next_work: f64,
}

#[derive(Debug)]
struct Epoll {
    now: f64,
    last: f64,
    connections: u64,
    loop_ns: f64,
    wake_ns: f64,
    workers: Vec<Worker>,
}

impl Discipline for Epoll {
    fn arrive(&mut self, gap_ns: f64, service_ns: f64, rng: &mut Rng, tally: &mut Tally) {
        self.now += gap_ns;
        let index = tally.arrive(self.last <= self.now);
        let picked = rng.random_range(0..self.connections) as usize % self.workers.len();
        let worker = &mut self.workers[picked];
        worker.turn(self.now, self.loop_ns);
        if worker.batch_end <= self.now {
            tally.idle(picked);
        }
        let (epoll, dispatch) = worker.place(self.now, service_ns, self.loop_ns, self.wake_ns);
        let sojourn = epoll + dispatch + service_ns;
        self.last = self.last.max(self.now + sojourn);
        tally.stages(index, epoll, dispatch);
        tally.finish(index, picked, sojourn);
        self.set_back();
    }

    fn most_of_one(&self) -> Option<f64> {
        Some(dealt_most(self.connections, self.workers.len()))
    }
}

impl Worker {
    /// Starts the batches that have begun by `now`.
    fn turn(&mut self, now: f64, loop_ns: f64) {
        while self.batch_end <= now && self.next_work > 0.0 {
            self.batch_end += loop_ns + self.next_work;
            self.next_work = 0.0;
        }
    }

    /// Where the request stands: time until its batch begins, and until its turn within it.
    fn place(&mut self, now: f64, service_ns: f64, loop_ns: f64, wake_ns: f64) -> (f64, f64) {
        if self.batch_end <= now {
            self.batch_end = now + wake_ns + loop_ns + service_ns;
            return (wake_ns + loop_ns, 0.0);
        }
        let behind = self.next_work;
        self.next_work += service_ns;
        (self.batch_end - now + loop_ns, behind)
    }
}

impl Epoll {
    fn set_back(&mut self) {
        let before = self.now;
        rebase(&mut self.now, &mut []);
        let back = before - self.now;
        if back > 0.0 {
            self.last -= back;
            self.workers.iter_mut().for_each(|worker| worker.batch_end -= back);
        }
    }
}

const PARAMS: &[Param] = &[
    Param { name: "connections", unit: "", about: "connections", default: "", range: ">= 1" },
    Param { name: "loop", unit: "ns", about: "cost of one return", default: "", range: ">= 0" },
    Param { name: "wake", unit: "ns", about: "cost of waking up", default: "", range: ">= 0" },
];

pub(super) const KIND: QueueKind = QueueKind {
    kind: Kind {
        name: "epoll",
        about: "event loops: all that is ready is taken as one batch; costs per loop and per wake-up",
        usage: "epoll:CONNECTIONS,LOOP,WAKE (epoll:64,1us,3us)",
        params: PARAMS,
        needs: &[],
        source: "Leverich and Kozyrakis 2014, section 3.2.2 and Table 1 (L10, L12, L13)",
    },
    build,
};

fn build(servers: u32, numbers: &[f64]) -> Result<Built, Fault> {
    let connections = connections(numbers[0])?;
    let (loop_ns, wake_ns) = (numbers[1], numbers[2]);
    let free = loop_ns + wake_ns == 0.0 && connections % u64::from(servers) == 0;
    let workers = vec![Worker::default(); servers as usize];
    let queue = Epoll { now: 0.0, last: 0.0, connections, loop_ns, wake_ns, workers };
    Ok((Box::new(queue), if free { Form::SplitFcfs } else { Form::None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Service 10, loop 2, wake-up 3. One comes at 0, two more while it is served, one in their batch,
    /// one long after: its loop and wake-up cost it 5.
    #[test]
    fn a_worker_takes_batch_after_batch() {
        let mut worker = Worker::default();
        let waits = [0.0, 1.0, 2.0, 20.0, 100.0, 114.9, 115.0].map(|now| {
            worker.turn(now, 2.0);
            worker.place(now, 10.0, 2.0, 3.0)
        });
        // Batches end at 15, 15 + 2 + 20 = 37 and 37 + 2 + 10 = 49; then at 115.
        let batches = [(5.0, 0.0), (16.0, 0.0), (15.0, 10.0), (19.0, 0.0), (5.0, 0.0)];
        assert_eq!(waits[..5], batches);
        let (epoll, dispatch) = waits[5];
        assert!((epoll - 2.1).abs() < 1e-9 && dispatch == 0.0, "{epoll}");
        assert_eq!(waits[6], (12.0 + 2.0, 0.0), "its batch has just begun");
    }

    /// Sojourn times and the waits they are made of, for two workers of two connections.
    #[test]
    fn requests_keep_to_their_workers() {
        let numbers = [2.0, 20.0, 30.0];
        let (mut queue, form) = build(2, &numbers).unwrap();
        assert_eq!(form, Form::None);
        let (mut rng, mut tally) = (sojourn_base::rng::stream(1, "pick", 0), Tally::new(0, 40));
        for _ in 0..40 {
            queue.arrive(1e6, 100.0, &mut rng, &mut tally);
        }
        let (summary, cycles, [epoll, dispatch]) = tally.finish_run();
        assert_eq!((summary.span.p50, summary.span.max), (Some(150), Some(150)), "all alone");
        assert_eq!((epoll, dispatch, cycles.cycles), (40.0 * 50.0, 0.0, 39));
    }

    #[test]
    fn a_formula_needs_a_loop_for_nothing_and_even_connections() {
        let form =
            |connections, loop_ns, wake_ns| build(2, &[connections, loop_ns, wake_ns]).unwrap().1;
        assert_eq!((form(64.0, 0.0, 0.0), form(63.0, 0.0, 0.0)), (Form::SplitFcfs, Form::None));
        for (loop_ns, wake_ns) in [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            assert_eq!(form(64.0, loop_ns, wake_ns), Form::None, "{loop_ns} {wake_ns}");
        }
    }
}
