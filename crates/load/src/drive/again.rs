//! Requests that a server has not looked at: sent again on another connection, before all others.
//!
//! A server that goes away says which requests it leaves alone, and a client may send these again: over HTTP/2
//! those above the last stream of GOAWAY (RFC 9113, 6.8), over HTTP/1.1 those behind a reply with
//! `Connection: close` (RFC 9112, 9.6). Stopwatch and time-out of each run on from the first time.
//!
//! Requests of idempotent methods are sent again, too, if their connection ends before a reply to them
//! begins, because a server may end a connection that idles while one is on its way (RFC 9112, 9.3.1; RFC
//! 9110, 9.2.2). The connection must have been in a state in which servers do that:
//!
//! - it has answered before, as Go's client and browsers ask for (the end may also be said by 408, RFC
//!   9110, 15.5.9); or
//! - it idled from before the request was due, unused (these clients open one when a request needs it,
//!   and browsers take one that they opened ahead for a used one). Such an end may be the answer, too. So
//!   a request is sent again once for this reason, and only if the server has answered others.
//!
//! A connection that ends under the request that it was opened for was not idle: that request is lost.

use std::collections::VecDeque;

use super::read::refuse;
use super::reopen::Reopener;
use super::{Connections, Drive, Live};
use crate::plan::lanes::{MarksLanes, PlanLanes};

/// Requests that are known to have been sent again after an unused connection.
const REMEMBERED: usize = 4096;

/// See the module.
#[derive(Default)]
pub(super) struct Again {
    /// The next one first.
    waiting: VecDeque<u32>,
    /// Place and due time of those that came back from a connection that had never answered, newest last.
    unproven: VecDeque<(u32, u64)>,
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

    /// What is in flight on `connection`, which the server has ended, comes back where it may be sent again.
    #[cold]
    pub(super) fn give_back_unbegun(
        &mut self,
        connections: &mut Connections,
        connection: u32,
        now_ns: u64,
        (reopener, plan, marks): (&Reopener, &PlanLanes, &mut MarksLanes),
    ) {
        let interleaves = connections.interleaved(connection).is_some();
        if !interleaves && *connections.reading(connection).1 > 0 {
            return; // replies come in order, and one has begun
        }
        connections.closed(connection); // it has no room for others
        // Over HTTP/2 a server speaks first, and has answered no one by that.
        let is_proven = if interleaves {
            connections.has_hit(connection)
        } else {
            reopener.has_served(connection)
        };
        let all: Vec<u32> = connections.all(connection).collect();
        for &request in all.iter().rev() {
            let due_ns = plan.intended_ns[request as usize];
            let has_begun = interleaves && marks.first_byte_ns[request as usize] > 0;
            let may = is_proven
                || (reopener.has_idled(connection, due_ns)
                    && connections.any_hit()
                    && self.is_first(request, due_ns));
            if may && !has_begun {
                self.give_back(connections, (connection, request), now_ns, marks);
            }
        }
    }

    /// The server ended `connection` because it idled, and said so to the oldest request on its way: what may
    /// be sent again comes back, else that one was refused.
    #[cold]
    pub(super) fn heed_farewell(
        &mut self,
        connections: &mut Connections,
        connection: u32,
        now_ns: u64,
        (reopener, plan, marks): (&Reopener, &PlanLanes, &mut MarksLanes),
        repeats: bool,
        live: &Live,
    ) {
        if repeats {
            let of = (reopener, plan, &mut *marks);
            self.give_back_unbegun(connections, connection, now_ns, of);
        }
        refuse(connections, connection, now_ns, marks, live);
    }

    /// Whether `request` has not come back from an unused connection yet; now it has.
    fn is_first(&mut self, request: u32, due_ns: u64) -> bool {
        if self.unproven.contains(&(request, due_ns)) {
            return false;
        }
        if self.unproven.len() == REMEMBERED {
            self.unproven.pop_front();
        }
        self.unproven.push_back((request, due_ns));
        true
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
