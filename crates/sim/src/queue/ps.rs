//! Processor sharing: all present requests progress at the same speed, at most 1 each.
//!
//! In virtual time, which runs at min(1, n/present), a request ends when its service time has
//! passed since it came; a heap of those ends is the state. The heap holds the requests *present*,
//! whose number does not grow with the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use super::tally::Tally;
use super::{Discipline, Form, QueueKind};

/// A request in service; ordered by its end in virtual time.
#[derive(Debug, PartialEq)]
struct Present {
    end: f64,
    arrived: f64,
    index: u64,
}

impl Eq for Present {}

impl Ord for Present {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.end.total_cmp(&other.end).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Present {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug)]
struct Ps {
    servers: f64,
    now: f64,
    virtual_now: f64,
    present: BinaryHeap<Reverse<Present>>,
}

impl Ps {
    fn speed(&self) -> f64 {
        (self.servers / self.present.len() as f64).min(1.0)
    }

    /// Moves on to `until`, letting go of all that ends by then.
    fn advance(&mut self, until: f64, tally: &mut Tally) {
        while let Some(Reverse(first)) = self.present.peek() {
            let speed = self.speed();
            let at = self.now + (first.end - self.virtual_now) / speed;
            if at > until {
                self.virtual_now += (until - self.now) * speed;
                break;
            }
            self.virtual_now = first.end;
            self.now = at;
            tally.finish(first.index, 0, at - first.arrived);
            self.present.pop();
        }
        self.now = until;
        if self.present.is_empty() {
            (self.now, self.virtual_now) = (0.0, 0.0); // a fresh start keeps all digits
        }
    }
}

impl Discipline for Ps {
    fn arrive(&mut self, gap_ns: f64, service_ns: f64, _rng: &mut Rng, tally: &mut Tally) {
        self.advance(self.now + gap_ns, tally);
        let index = tally.arrive(self.present.is_empty());
        if (self.present.len() as f64) < self.servers {
            tally.idle(0);
        }
        let end = self.virtual_now + service_ns;
        self.present.push(Reverse(Present { end, arrived: self.now, index }));
    }

    fn drain(&mut self, tally: &mut Tally) {
        self.advance(f64::INFINITY, tally);
    }
}

pub(super) const KIND: QueueKind = QueueKind {
    kind: Kind {
        name: "ps",
        about: "all present share the servers equally, at most one server each",
        usage: "ps (ps)",
        params: &[],
        needs: &[],
        source: "Kleinrock, Time-shared systems, JACM 14(2), 1967",
    },
    build: |servers, _| {
        let present = BinaryHeap::new();
        let queue = Ps { servers: f64::from(servers), now: 0.0, virtual_now: 0.0, present };
        Ok((Box::new(queue), Form::Sharing))
    },
};
