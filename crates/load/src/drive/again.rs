//! Requests that a server has not looked at: sent again on another connection, before all others.
//!
//! A server that goes away says which requests it leaves alone, and a client may send these again: over HTTP/2
//! those above the last stream of GOAWAY (RFC 9113, 6.8), over HTTP/1.1 those behind a reply with
//! `Connection: close` (RFC 9112, 9.6), and of idempotent methods those on their way to a connection that
//! the server ended while it idled (RFC 9112, 9.3.1), as browsers and Go's client do. Stopwatch and time-out of
//! each run on from the first time.

use std::collections::VecDeque;

use super::{Connections, Drive};
use crate::plan::lanes::MarksLanes;

/// See the module.
#[derive(Default)]
pub(super) struct Again {
    /// The next one first.
    waiting: VecDeque<u32>,
    /// How often one was sent again.
    pub(super) sent: u64,
}

impl Again {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// `request` comes back from `connection`, after those that were sent later.
    #[cold]
    pub(super) fn give_back(
        &mut self,
        connections: &mut Connections,
        (connection, request): (u32, u32),
        now_ns: u64,
        marks: &mut MarksLanes,
    ) {
        if connections.take_back(connection, request, now_ns) {
            marks.first_byte_ns[request as usize] = 0;
            self.waiting.push_front(request);
        }
    }

    /// All that is in flight on `connection` comes back.
    #[cold]
    pub(super) fn give_back_all(
        &mut self,
        connections: &mut Connections,
        connection: u32,
        now_ns: u64,
        marks: &mut MarksLanes,
    ) {
        connections.closed(connection); // it has no room for others
        while let Some(newest) = connections.newest(connection) {
            self.give_back(connections, (connection, newest), now_ns, marks);
        }
    }

    /// All that is in flight on `connection` comes back, unless a reply on it has begun.
    #[cold]
    pub(super) fn give_back_unbegun(
        &mut self,
        connections: &mut Connections,
        connection: u32,
        now_ns: u64,
        marks: &mut MarksLanes,
    ) {
        if *connections.reading(connection).1 == 0 {
            self.give_back_all(connections, connection, now_ns, marks);
        }
    }

    /// One that `is_late`, which is not sent again.
    pub(super) fn take_late(&mut self, is_late: impl Fn(u32) -> bool) -> Option<u32> {
        let at = self.waiting.iter().position(|&request| is_late(request))?;
        self.waiting.remove(at)
    }
}

impl Drive {
    /// Sends one request again, if there is one and a connection for it.
    #[inline]
    pub(super) fn send_again(&mut self) -> bool {
        if self.again.is_empty() {
            return false;
        }
        self.send_first_again()
    }

    #[cold]
    fn send_first_again(&mut self) -> bool {
        for at in 0..self.again.waiting.len() {
            let request = self.again.waiting[at] as usize;
            let own = self.probe.as_ref().filter(|probe| probe.is_own(request));
            let connection = match own.map(|probe| probe.connection) {
                Some(own) => Some(own).filter(|&own| self.connections.has_room(own)),
                None => self.connections.pick(0), // of one server alone
            };
            if let Some(connection) = connection {
                self.again.waiting.remove(at);
                self.again.sent += 1;
                self.encode(request, connection);
                self.connections.push(connection, request as u32);
                self.transport.send(connection, &self.bytes);
                return true;
            }
        }
        false
    }
}
