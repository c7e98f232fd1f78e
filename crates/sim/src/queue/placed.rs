//! Connections placed on workers once, round-robin, and never moved: memcached's way (L16).
//!
//! A request comes from one of the connections at random; its worker alone serves it, also when
//! others are idle. If connections do not divide evenly, some workers carry more.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::{Rng, RngExt};

use super::tally::Tally;
use super::{Built, Discipline, Form, QueueKind, connections, dealt_most, rebase};

#[derive(Debug)]
struct Placed {
    now: f64,
    last: f64,
    connections: u64,
    /// When each worker falls free.
    free: Vec<f64>,
}

impl Discipline for Placed {
    fn arrive(&mut self, gap_ns: f64, service_ns: f64, rng: &mut Rng, tally: &mut Tally) {
        self.now += gap_ns;
        let index = tally.arrive(self.last <= self.now);
        let worker = rng.random_range(0..self.connections) as usize % self.free.len();
        if self.free[worker] <= self.now {
            tally.idle(worker);
        }
        let done = self.free[worker].max(self.now) + service_ns;
        self.free[worker] = done;
        self.last = self.last.max(done);
        tally.finish(index, worker, done - self.now);
        let before = self.now;
        rebase(&mut self.now, &mut self.free);
        self.last -= before - self.now;
    }

    fn most_of_one(&self) -> Option<f64> {
        Some(dealt_most(self.connections, self.free.len()))
    }
}

pub(super) const KIND: QueueKind = QueueKind {
    kind: Kind {
        name: "placed",
        about: "connections dealt to workers round-robin, one FCFS queue per worker",
        usage: "placed:CONNECTIONS (placed:64)",
        params: &[Param {
            name: "connections",
            unit: "",
            about: "connections, each equally busy",
            default: "",
            range: ">= 1",
        }],
        needs: &[],
        source: "Leverich and Kozyrakis 2014, section 3.2.4 (L16)",
    },
    build,
};

fn build(servers: u32, numbers: &[f64]) -> Result<Built, Fault> {
    let connections = connections(numbers[0])?;
    let even = connections % u64::from(servers) == 0;
    let free = vec![0.0; servers as usize];
    let form = if even { Form::SplitFcfs } else { Form::None };
    Ok((Box::new(Placed { now: 0.0, last: 0.0, connections, free }), form))
}
