//! A server for everyone: no one waits. What remains is the service time itself.

use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use super::tally::Tally;
use super::{Discipline, Form, QueueKind};

#[derive(Debug)]
struct Null;

impl Discipline for Null {
    fn arrive(&mut self, _gap_ns: f64, service_ns: f64, _rng: &mut Rng, tally: &mut Tally) {
        let index = tally.arrive(false);
        tally.idle(0);
        tally.finish(index, 0, service_ns);
    }
}

pub(super) const KIND: QueueKind = QueueKind {
    kind: Kind {
        name: "null",
        about: "a server for everyone: no waiting",
        usage: "null (null)",
        params: &[],
        needs: &[],
        source: "M/G/∞",
    },
    build: |_, _| Ok((Box::new(Null), Form::None)),
};
