//! No sockets: every request is answered by one zero byte at the next poll.

use sojourn_base::Fault;
use sojourn_base::kind::Kind;

use super::{Ends, Event, Patience, Reopen, Transport, TransportKind};

struct Null {
    asked: Vec<u32>,
}

pub(super) const KIND: TransportKind = TransportKind {
    kind: Kind {
        name: "null",
        about: "no sockets: taken for the target null:",
        usage: "null:",
        params: &[],
        needs: &[],
        source: "",
    },
    open,
    works: || true,
};

#[expect(clippy::unnecessary_wraps, clippy::needless_pass_by_value, reason = "the table's form")]
fn open(ends: Ends) -> Result<Box<dyn Transport>, Fault> {
    let most = ends.connections as usize * ends.depth as usize;
    Ok(Box::new(Null { asked: Vec::with_capacity(most) }))
}

impl Transport for Null {
    fn send(&mut self, connection: u32, _: &[u8]) {
        self.asked.push(connection);
    }

    fn poll(&mut self, patience: Patience, on: &mut dyn FnMut(Event<'_>)) {
        if self.asked.is_empty() && patience.wait_ns > 0 {
            std::thread::sleep(std::time::Duration::from_nanos(patience.wait_ns));
        }
        for connection in self.asked.drain(..) {
            on(Event::Bytes(connection, &[0]));
        }
    }

    fn close(&mut self, _: u32) {}

    fn reopen(&mut self, _: u32) -> Reopen {
        Reopen::Open
    }

    fn syscalls(&self) -> u64 {
        0
    }
}
