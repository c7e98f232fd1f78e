//! From writes to requests: the first write of a reply has the request, the later ones move its end.

use std::collections::HashMap;

use crate::reconstruct::bytes::u64_at;
use crate::reconstruct::layout::timed;

/// Requests in memory at most: 32 bytes each.
pub const MOST: usize = 20_000_000;

/// A write of a reply, as the ring has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// When the request came, `CLOCK_MONOTONIC`, ns; 0: this is more of a reply.
    pub start_ns: u64,
    /// When it was written.
    pub at_ns: u64,
    /// Unique while the connection is open.
    pub connection: u64,
}

/// One request: when it came and when its reply was written, `CLOCK_MONOTONIC`, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its first bytes came; of bytes that came after all before them had been read, and without a reply: the newest
    /// of these (see `bpf/slow.bpf.c`).
    pub start_ns: u64,
    /// The first bytes of its reply were written.
    pub first_ns: u64,
    /// The last bytes of its reply were written.
    pub end_ns: u64,
    /// Unique while the connection is open.
    pub connection: u64,
}

/// Requests in the order of their replies.
#[derive(Default)]
pub struct Rows {
    all: Vec<Row>,
    /// The newest request of each connection.
    newest: HashMap<u64, usize>,
    /// Requests for which there was no memory.
    pub left_out: u64,
}

/// Reads a `struct timed` of `bpf/slow.h`; `None`: it is something else.
pub fn read(bytes: &[u8]) -> Option<Written> {
    if bytes.len() != timed::SIZE {
        return None;
    }
    let [start_ns, at_ns, connection] =
        [timed::START_NS, timed::AT_NS, timed::CONNECTION].map(|at| u64_at(bytes, at));
    Some(Written { start_ns, at_ns, connection })
}

impl Rows {
    /// Takes one write. What is more of a reply that began before the trace is no request.
    pub fn add(&mut self, written: Written) {
        let Written { start_ns, at_ns, connection } = written;
        if start_ns == 0 {
            if let Some(&at) = self.newest.get(&connection) {
                let row = &mut self.all[at];
                row.end_ns = row.end_ns.max(at_ns);
            }
        } else if self.all.len() < MOST {
            self.newest.insert(connection, self.all.len());
            self.all.push(Row { start_ns, first_ns: at_ns, end_ns: at_ns, connection });
        } else {
            self.newest.remove(&connection);
            self.left_out += 1;
        }
    }

    /// All requests so far, in the order of their replies.
    pub fn all(&self) -> &[Row] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::layout::slow;

    fn written(start_ns: u64, at_ns: u64, connection: u64) -> Written {
        Written { start_ns, at_ns, connection }
    }

    #[test]
    fn later_writes_move_the_end_of_the_newest_request_of_their_connection() {
        let mut rows = Rows::default();
        for one in [
            written(0, 5, 1), // of a reply from before
            written(10, 20, 1),
            written(12, 25, 2),
            written(0, 30, 1),
            written(0, 28, 1),
            written(40, 50, 1),
            written(0, 60, 2),
        ] {
            rows.add(one);
        }
        let ends: Vec<_> =
            rows.all().iter().map(|it| (it.start_ns, it.first_ns, it.end_ns)).collect();
        assert_eq!(ends, [(10, 20, 30), (12, 25, 60), (40, 50, 50)]);
        assert_eq!(rows.left_out, 0);
    }

    #[test]
    fn a_record_is_read_and_anything_else_is_not() {
        let mut bytes = [0_u8; timed::SIZE];
        bytes[timed::START_NS] = 7;
        bytes[timed::AT_NS] = 10;
        bytes[timed::CONNECTION] = 9;
        assert_eq!(read(&bytes), Some(written(7, 10, 9)));
        assert_eq!(read(&bytes[1..]), None);
        assert_eq!(read(&[0; slow::SIZE]), None, "a signal");
    }
}
