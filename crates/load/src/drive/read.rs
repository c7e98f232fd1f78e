//! From bytes to marks: the replies in what a poll found, and what is lost with a connection.

use super::{Connections, Live, datagrams};
use crate::plan::lanes::{MarksLanes as Marks, PlanLanes as Plan};
use crate::protocols::Outcome;

/// What becomes of a connection after its bytes were read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    GoOn,
    /// The server answers what is in flight on it, and takes no more.
    Leaving,
    /// The server announced that it closes it now.
    Agreed,
    /// The server ended an idle connection, it says, when the oldest request was on its way.
    Farewell,
    /// More came than the reply has, by what it says of itself.
    Overlong,
    /// Nothing more on it can be understood.
    Broken,
}

/// Reads all replies in `bytes`.
#[inline]
pub(super) fn read(
    connections: &mut Connections,
    connection: u32,
    mut bytes: &[u8],
    now_ns: u64,
    plan: &Plan,
    marks: &mut Marks,
    live: &Live,
) -> After {
    if connections.are_datagrams() {
        datagrams::read(connections, connection, bytes, now_ns, plan, marks, live);
        return After::GoOn;
    }
    let mut has_ended = false;
    while !bytes.is_empty() {
        let Some(request) = connections.oldest(connection) else {
            let mut after = connections.after_stray(connection);
            if after == After::Broken && connections.reading(connection).0.is_farewell(bytes) {
                after = After::Agreed;
            }
            return if has_ended && after == After::Broken { After::Overlong } else { after };
        };
        let request = request as usize;
        let (decoder, first_byte_ns) = connections.reading(connection);
        if *first_byte_ns < marks.sent_ns[request] {
            *first_byte_ns = now_ns;
        }
        let step = decoder.read(plan.asked(request), bytes);
        bytes = &bytes[step.used..];
        if let Some(reply) = step.reply {
            if reply.last && reply.outcome == Outcome::Status && decoder.was_farewell() {
                *first_byte_ns = 0;
                return After::Farewell;
            }
            marks.first_byte_ns[request] = std::mem::take(first_byte_ns);
            marks.done_ns[request] = now_ns;
            marks.outcome[request] = reply.outcome;
            marks.reply_bytes[request] = reply.body_bytes;
            live.done(now_ns.saturating_sub(plan.intended_ns[request]), reply.outcome);
            connections.pop(connection, now_ns);
            has_ended = true;
            if reply.outcome == Outcome::Hit {
                connections.hit(connection);
            }
            if reply.outcome == Outcome::Garbled {
                return After::Broken;
            }
            if reply.last {
                return After::Agreed;
            }
        }
    }
    After::GoOn
}

/// The server ended its side of `connection` in order. Where that ends the reply being read, the
/// request is answered, or told that it came too late; `None`: it is neither.
#[cold]
pub(super) fn ended(
    connections: &mut Connections,
    connection: u32,
    now_ns: u64,
    plan: &Plan,
    marks: &mut Marks,
    live: &Live,
) -> Option<After> {
    let request = connections.oldest(connection)? as usize;
    let (decoder, first_byte_ns) = connections.reading(connection);
    let reply = decoder.ended(plan.asked(request))?;
    if reply.outcome == Outcome::Status && decoder.was_farewell() {
        *first_byte_ns = 0;
        return Some(After::Farewell);
    }
    marks.first_byte_ns[request] = std::mem::take(first_byte_ns);
    marks.done_ns[request] = now_ns;
    marks.outcome[request] = reply.outcome;
    marks.reply_bytes[request] = reply.body_bytes;
    live.done(now_ns.saturating_sub(plan.intended_ns[request]), reply.outcome);
    connections.closed(connection); // it has no room for the next request
    if reply.outcome == Outcome::Hit {
        connections.hit(connection);
    }
    connections.pop(connection, now_ns);
    Some(After::Agreed)
}

/// The oldest request in flight on `connection` was told that it came too late, and goes nowhere else.
#[cold]
pub(super) fn refuse(
    connections: &mut Connections,
    connection: u32,
    now_ns: u64,
    marks: &mut Marks,
    live: &Live,
) {
    connections.closed(connection); // it has no room for the next request
    if let Some(request) = connections.pop(connection, now_ns) {
        connections.reading(connection).0.has_failed_by_farewell();
        marks.first_byte_ns[request as usize] = now_ns;
        marks.done_ns[request as usize] = now_ns;
        marks.outcome[request as usize] = Outcome::Status;
        live.gone();
    }
}

/// Everything in flight on `connection` is lost.
#[cold]
pub(super) fn lose(
    connections: &mut Connections,
    connection: u32,
    now_ns: u64,
    marks: &mut Marks,
    live: &Live,
) {
    connections.heed_idle_end(connection, now_ns);
    connections.closed(connection);
    note_begun(connections, connection, marks);
    while let Some(request) = connections.pop(connection, now_ns) {
        marks.outcome[request as usize] = Outcome::Closed;
        live.gone();
    }
}

/// The reply that is read on `connection` will not be read to its end: when it began goes to its request.
#[cold]
pub(super) fn note_begun(connections: &mut Connections, connection: u32, marks: &mut Marks) {
    let Some(request) = connections.oldest(connection).map(|request| request as usize) else {
        return;
    };
    let begun_ns = std::mem::take(connections.reading(connection).1);
    if begun_ns > 0 && begun_ns >= marks.sent_ns[request] {
        marks.first_byte_ns[request] = begun_ns;
    }
}
