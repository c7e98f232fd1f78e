//! Connections on which replies interleave: opened before the run, and read.
//!
//! A connection of this kind has something to say before it takes a request, and must hear how many it
//! takes; before the run that is waited for, during it such a connection has no room until then.

use std::time::{Duration, Instant};

use sojourn_base::Fault;

use super::again::Again;
use super::read::After;
use super::{Connections, Live};
use crate::job::target::{Carrier, Target};
use crate::plan::lanes::{MarksLanes as Marks, PlanLanes as Plan};
use crate::protocols::Outcome;
use crate::protocols::protocol_sniff;
use crate::protocols::{Asked, Decoder, Interleaved};
use crate::transports::{Event, Patience, Transport};

/// How long all connections together may take to hear what they must before the run.
const OPEN_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks while that goes on.
const LOOK_NS: u64 = 10_000_000;

/// Lets every connection send what it must, and waits until the server has announced on each how many requests
/// it takes. One whose replies do not interleave is left alone.
pub fn open(
    transport: &mut dyn Transport,
    decoders: &mut [Box<dyn Decoder>],
    target: &Target,
) -> Result<(), Fault> {
    let start = Instant::now();
    let mut to_say: Vec<u32> = (0..decoders.len() as u32).collect();
    let mut bytes = Vec::new();
    loop {
        for connection in to_say.drain(..) {
            let Some(it) = decoders[connection as usize].interleaved() else { return Ok(()) };
            bytes.clear();
            it.say(&mut bytes);
            if !bytes.is_empty() {
                transport.send(connection, &bytes);
            }
            if it.is_over() {
                return Err(unwilling(target, "it takes no requests (GOAWAY)"));
            }
        }
        let has_room = |it: &mut Box<dyn Decoder>| it.interleaved().is_none_or(|it| it.room() > 0);
        if decoders.iter_mut().all(has_room) {
            return Ok(());
        }
        if start.elapsed() > OPEN_WITHIN {
            return Err(unwilling(target, "it did not say within 5 s how many requests it takes"));
        }
        let mut wrong = None;
        transport.poll(Patience::for_first(LOOK_NS), &mut |event| match event {
            Event::Bytes(connection, bytes) => {
                if is_understood(decoders[connection as usize].as_mut(), bytes) {
                    to_say.push(connection);
                } else {
                    wrong.get_or_insert_with(|| other_protocol(target, bytes));
                }
            }
            Event::Ended(_) | Event::Torn(_) => {}
            Event::Closed(_) => {
                wrong.get_or_insert_with(|| unwilling(target, "it closed the connection"));
            }
        });
        if let Some(fault) = wrong {
            return Err(fault);
        }
    }
}

fn is_understood(decoder: &mut dyn Decoder, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let step = decoder.read(Asked::default(), bytes);
        if step.reply.is_some() {
            return false;
        }
        bytes = &bytes[step.used..];
    }
    true
}

/// The fault of a server that says something else.
fn other_protocol(target: &Target, bytes: &[u8]) -> Fault {
    let begin = bytes[..bytes.len().min(32)].escape_ascii();
    let what =
        format!("{} does not speak HTTP/2: what came back begins with \"{begin}\"", target.place());
    let fix = protocol_sniff::looks_like(target, bytes).unwrap_or_else(|| advice(target));
    Fault::failed(what, "target", fix)
}

fn unwilling(target: &Target, why: &str) -> Fault {
    let what = format!("no HTTP/2 connection to {}: {why}", target.place());
    Fault::failed(what, "target", advice(target))
}

fn advice(target: &Target) -> String {
    let place = target.place();
    if target.scheme.carrier == Carrier::Tls {
        return "see the server's log; it agreed to speak HTTP/2 over TLS".into();
    }
    format!(
        "check that the server speaks HTTP/2 without TLS from the first byte on (NGINX: listen … \
         http2); over TLS name it h2:// or grpcs://, and where it speaks HTTP/1.1 alone http://{place}"
    )
}

/// Reads all replies in `bytes`, which came at `now_ns`, and takes back what the server leaves alone.
#[inline]
pub(super) fn read(
    connections: &mut Connections,
    connection: u32,
    (mut bytes, now_ns): (&[u8], u64),
    plan: &Plan,
    marks: &mut Marks,
    live: &Live,
    again: &mut Again,
) -> After {
    if connections.interleaved(connection).is_none() {
        return After::GoOn; // it was given up meanwhile, and its requests with it
    }
    connections.heard(connection, now_ns);
    loop {
        let (decoder, _) = connections.reading(connection);
        let step = decoder.read(Asked::default(), bytes);
        bytes = &bytes[step.used..];
        let Some(request) = step.request.map(|request| request as usize) else {
            if let Some(reply) = step.reply {
                break_on(connections, connection, reply.outcome, now_ns, marks, live);
                return After::Broken;
            }
            if step.used == 0 {
                break; // and nothing was ended beside what was read
            }
            continue;
        };
        if marks.first_byte_ns[request] == 0 {
            marks.first_byte_ns[request] = now_ns;
        }
        if let Some(reply) = step.reply {
            marks.done_ns[request] = now_ns;
            marks.outcome[request] = reply.outcome;
            marks.reply_bytes[request] = reply.body_bytes;
            live.done(now_ns.saturating_sub(plan.intended_ns[request]), reply.outcome);
            connections.take(connection, request as u32, now_ns);
            if reply.outcome == Outcome::Hit {
                connections.hit(connection);
            }
        }
    }
    while let Some(request) = connections.interleaved(connection).and_then(Interleaved::returned) {
        again.give_back(connections, (connection, request), now_ns, marks);
    }
    connections.heed_room(connection, now_ns)
}

/// What came is of no protocol: the oldest request has met it, and all others are lost with it.
#[cold]
fn break_on(
    connections: &mut Connections,
    connection: u32,
    outcome: Outcome,
    now_ns: u64,
    marks: &mut Marks,
    live: &Live,
) {
    if let Some(request) = connections.pop(connection, now_ns) {
        marks.outcome[request as usize] = outcome;
        live.gone();
    }
}
