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

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of the sojourn times of (gap, service) in turn, and how many found no one there.
    fn shared(servers: u32, requests: &[(f64, f64)], qs: &[f64]) -> (Vec<Option<u64>>, u64) {
        let (mut queue, form) = (KIND.build)(servers, &[]).unwrap();
        assert_eq!(form, Form::Sharing);
        let mut rng = sojourn_base::rng::stream(1, "none", 0);
        let mut tally = Tally::new(0, requests.len() as u64);
        for &(gap, service) in requests {
            queue.arrive(gap, service, &mut rng, &mut tally);
        }
        queue.drain(&mut tally);
        let (summary, cycles, _) = tally.finish_run();
        assert_eq!(summary.span.count, requests.len() as u64);
        let of = |q: &f64| match q {
            q if *q < 0.6 => summary.span.p50,
            _ => summary.span.max,
        };
        (qs.iter().map(of).collect(), cycles.cycles)
    }

    /// By hand: 1,000 alone for 400; then at half speed beside 200, which takes 400; then alone.
    #[test]
    fn a_short_request_passes_a_long_one() {
        let requests = [(0.0, 1000.0), (400.0, 200.0)];
        assert_eq!(shared(1, &requests, &[0.5, 1.0]), (vec![Some(400), Some(1200)], 0));
        assert_eq!(shared(2, &requests, &[0.5, 1.0]), (vec![Some(200), Some(1000)], 0));
    }

    /// Three of 600 on two servers go at ⅔; of those who come later each finds the place empty.
    #[test]
    fn more_than_servers_share_them_and_fewer_have_one_each() {
        let three = [(0.0, 600.0); 3];
        assert_eq!(shared(2, &three, &[0.5, 1.0]).0, [Some(900), Some(900)]);
        assert_eq!(shared(3, &three, &[0.5, 1.0]).0, [Some(600), Some(600)]);
        let apart = [(0.0, 600.0), (600.0, 600.0), (601.0, 600.0), (599.0, 600.0)];
        let (times, cycles) = shared(1, &apart, &[0.5, 1.0]);
        assert_eq!(
            (times, cycles),
            (vec![Some(600), Some(601)], 2),
            "the last came a ns too early"
        );
    }
}
