//! Replies by datagram: matched with their requests by the id that both carry.
//!
//! A datagram may be lost. A reply to a later request on the same connection frees the room of all
//! before it at once; they are only *overtaken*, and not given up before their time-out, for
//! the replies of a server with several threads do overtake one another.

use super::{Connections, Live};
use crate::plan::lanes::{MarksLanes as Marks, PlanLanes as Plan};
use crate::protocols;

/// Requests whose room was given to later ones, and the connection of each.
pub(super) type Overtaken = Vec<(u32, u32)>;

/// Reads one datagram. One that is not waited for is left alone.
pub(super) fn read(
    connections: &mut Connections,
    connection: u32,
    bytes: &[u8],
    now_ns: u64,
    plan: &Plan,
    marks: &mut Marks,
    live: &Live,
) {
    let Some(id) = protocols::datagram_id(bytes) else { return };
    let Some(request) = answered(connections, connection, id, now_ns) else { return };
    let at = request as usize;
    if marks.first_byte_ns[at] == 0 {
        marks.first_byte_ns[at] = now_ns;
    }
    let (decoder, _) = connections.reading(connection);
    let Some(reply) = decoder.read(plan.asked(at), bytes).reply else { return };
    marks.done_ns[at] = now_ns;
    marks.outcome[at] = reply.outcome;
    marks.reply_bytes[at] = reply.body_bytes;
    live.done(now_ns.saturating_sub(plan.intended_ns[at]), reply.outcome);
    if connections.oldest(connection) == Some(request) {
        connections.pop(connection, now_ns);
    } else {
        connections.take_overtaken(|other| other == request);
    }
}

/// The request that `id` on `connection` means. If it is in flight, it is the oldest there
/// now: all before it were overtaken.
fn answered(connections: &mut Connections, connection: u32, id: u16, now_ns: u64) -> Option<u32> {
    if let Some(ahead) = connections.place(connection, |request| request as u16 == id) {
        for _ in 0..ahead {
            connections.overtake(connection, now_ns);
        }
        return connections.oldest(connection);
    }
    let is_it = |&&(on, request): &&(u32, u32)| on == connection && request as u16 == id;
    connections.overtaken.iter().rfind(is_it).map(|&(_, request)| request)
}
