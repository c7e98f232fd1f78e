//! One byte there, one byte back: what the instrument itself costs.

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::{Asked, Decoder, Operation, Protocol, ProtocolKind, Step};
use crate::job::Job;
use crate::job::target::{Carrier, Scheme, Target};
use crate::protocols::Outcome;
use crate::protocols::content::Content;

struct Null;

impl Protocol for Null {
    fn encode(&self, _: Asked, out: &mut Vec<u8>) {
        out.push(0);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Null)
    }

    fn request_bytes_max(&self) -> usize {
        1
    }
}

impl Decoder for Null {
    fn read(&mut self, _: Asked, bytes: &[u8]) -> Step {
        let outcome = if bytes[0] == 0 { Outcome::Hit } else { Outcome::Garbled };
        Step::end(1, outcome, 0)
    }

    fn reset(&mut self) {}
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "null",
        about: "no network: every request is answered at once, which shows what the instrument costs",
        usage: "null:",
        params: &[],
        needs: &[],
        source: "",
    },
    schemes: &[Scheme {
        name: "null",
        port: 0,
        carrier: Carrier::Nothing,
        alpn: "",
        if_silent: "",
    }],
    operations: &[Operation { name: "get", share: "" }],
    shards: false,
    depth: 1,
    is_opaque: false,
    has_user: false,
    has_path: true, // it has none to be refused: nothing may follow the name
    wishes: &[],
    options: &[],
    settle: |_, _| Ok(()),
    items: |job| job.items,
    build,
    #[cfg(test)]
    case: None,
};

#[expect(clippy::unnecessary_wraps, reason = "the table's form")]
fn build(_: &Job, _: &Target, _: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    Ok(Arc::new(Null))
}
