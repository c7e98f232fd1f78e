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
use super::{Built, Discipline, Form, QueueKind, connections, rebase};

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
