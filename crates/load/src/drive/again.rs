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
//!   and browsers take one that they opened ahead for a used one), and the server has answered others.
//!
//! A connection that ends under the request that it was opened for was not idle: that request is lost.
//!
//! An end may also be the answer: a worker that dies over a request ends its connection, too. These clients
//! hide that, and a measurement must not. An end that crossed a request on its way comes within a round trip.
//! So a request is sent again for this reason where the end comes soon after it was sent, and thrice at most.
//! A worker that dies so soon looks the same: it counts in `sent_again`. The request takes the connection that
//! was used or opened last, because the others have idled for longer.

use std::collections::VecDeque;

use super::read::refuse;
use super::reopen::Reopener;
use super::{Connections, Drive, Live};
use crate::plan::lanes::{MarksLanes, PlanLanes};

/// Requests of which it is known that they were sent again: as many at least that follow one another.
const REMEMBERED: usize = 4096;
/// An end may have crossed a request that was sent so long before, in round trips or ns; the longer counts. A busy
/// machine runs a server some ten ms late, which then closes what it did not read.
const CROSSING_ROUND_TRIPS: u64 = 3;
const CROSSING_NS: u64 = 100_000_000;
/// Gaps that are remembered: an end that more of them delayed is taken for the answer, which is seen as a failure.
const GAPS: usize = 64;
/// Connections that may end over a request: a server that reloads ends all that idle, one after another.
const ENDS_MAX: u8 = 3;

/// What is known of a request that was sent again.
#[derive(Clone, Copy, Default)]
struct Past {
    request: u32,
    due_ns: u64,
    /// When it was sent again last, ns; 0: never.
    sent_ns: u64,
    /// Connections that ended over it.
    ends: u8,
}

/// See the module.
pub(super) struct Again {
    /// The next one first.
    waiting: VecDeque<u32>,
    /// Of each request in the place of its number, modulo theirs.
    past: Box<[Past]>,
    /// Of each connection; none: 0.
    round_trips_ns: Vec<u64>,
    /// How late an end may be seen.
    late_ns: u64,
    /// When this thread began to run again, ns, and for how long it had not run; the oldest is overwritten.
    gaps: [(u64, u64); GAPS],
    gaps_seen: usize,
    /// How often one was sent again.
    pub(super) sent: u64,
}

impl Again {
    /// `round_trips_ns`: of each connection; an end is seen `late_ns` late at most.
    pub(super) fn new(round_trips_ns: Vec<u64>, late_ns: u64) -> Self {
        let past = vec![Past { request: u32::MAX, ..Past::default() }; REMEMBERED];
        let (waiting, past) = (VecDeque::new(), past.into_boxed_slice());
        let (gaps, gaps_seen) = ([(0, 0); GAPS], 0);
        Self { waiting, past, round_trips_ns, late_ns, gaps, gaps_seen, sent: 0 }
    }

    /// This thread runs again at `now_ns`, and had not run for `gap_ns`.
    #[cold]
    pub(super) fn note_gap(&mut self, now_ns: u64, gap_ns: u64) {
        self.gaps[self.gaps_seen % GAPS] = (now_ns, gap_ns);
        self.gaps_seen += 1;
    }

    /// For how long this thread did not run since `sent_ns`. Earlier gaps do not count, because they delayed nothing
    /// that was sent after them.
    fn stopped_ns_since(&self, sent_ns: u64) -> u64 {
        let since = |&(end_ns, gap_ns): &(u64, u64)| gap_ns.min(end_ns.saturating_sub(sent_ns));
        self.gaps.iter().map(since).sum()
    }

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
            let has_idled = || reopener.has_idled(connection, due_ns) && connections.any_hit();
            let (may, of) = (!has_begun && (is_proven || has_idled()), (request, due_ns));
            let sent_ns = marks.sent_ns[request as usize];
            if may && self.is_crossing(connections.number(connection), of, sent_ns, now_ns) {
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

    /// Whether the end of `connection` at `now_ns` may have crossed a request, which was first sent at `sent_ns`,
    /// and is one of the first ends over it.
    fn is_crossing(
        &mut self,
        connection: u32,
        request: (u32, u64),
        sent_ns: u64,
        now_ns: u64,
    ) -> bool {
        let round_trip_ns = self.round_trips_ns.get(connection as usize).copied().unwrap_or(0);
        let within_ns = CROSSING_NS.max(CROSSING_ROUND_TRIPS * round_trip_ns) + self.late_ns;
        let sent_ns = sent_ns.max(self.past(request).sent_ns);
        let is_soon = now_ns <= sent_ns + within_ns + self.stopped_ns_since(sent_ns);
        let past = self.past(request);
        past.ends = past.ends.saturating_add(1);
        is_soon && past.ends <= ENDS_MAX
    }

    /// What is known of a request by its place and due time.
    fn past(&mut self, (request, due_ns): (u32, u64)) -> &mut Past {
        let past = &mut self.past[request as usize % REMEMBERED];
        if (past.request, past.due_ns) != (request, due_ns) {
            *past = Past { request, due_ns, ..Past::default() };
        }
        past
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
                Some(own) => self.connections.with_room(own),
                None => self.connections.pick_last(0), // of one server alone
            };
            if let Some(connection) = connection {
                self.again.waiting.remove(at);
                self.again.sent += 1;
                let (due_ns, now_ns) = (self.plan.intended_ns[request], self.now());
                self.again.past((request as u32, due_ns)).sent_ns = now_ns;
                self.encode(request, connection);
                self.connections.push(connection, request as u32);
                self.transport.send(connection, &self.bytes);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
