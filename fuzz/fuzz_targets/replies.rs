//! Any bytes as the replies of a server, in every protocol, at any split: no panic, and no decoder that
//! takes no byte and ends no reply.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use sojourn_load::job::Job;
use sojourn_load::protocols::{self, Asked, Protocol};

const TARGETS: &[&str] = &[
    "memcache://h",
    "http://h/",
    "h2c://h/",
    "grpc://h/p.S/M",
    "resp://h",
    "postgres://u@h/db",
    "echo://h",
    "memcache+udp://h",
];
/// Requests in flight where replies interleave.
const IN_FLIGHT: u32 = 5;
/// Replies that one stream may hold; more teach nothing.
const REPLIES_MAX: usize = 64;

/// Protocols, and how many items a job of each can ask for.
static PROTOCOLS: LazyLock<Vec<(Arc<dyn Protocol>, u32)>> =
    LazyLock::new(|| TARGETS.iter().filter_map(|target| built(target)).collect());

/// A protocol set up for a job with few items; none where a name above is not a target any more.
fn built(target: &str) -> Option<(Arc<dyn Protocol>, u32)> {
    let mut job = Job { target: target.into(), items: 50, ..Job::default() };
    let target = protocols::target(target).ok()?;
    let entry = protocols::kind_of(&target);
    (entry.settle)(&mut job, &target).ok()?;
    let items = (entry.items)(&job).clamp(1, 50) as u32;
    protocols::build(&job, &target).ok().map(|protocol| (protocol, items))
}

// The first byte chooses the protocol ('0' the first), the second how long a piece is.
fuzz_target!(|input: &[u8]| {
    let [which, piece, bytes @ ..] = input else { return };
    let (protocol, items) = &PROTOCOLS[usize::from(*which) % PROTOCOLS.len()];
    let mut decoder = protocol.decoder();
    let asked = |id: u32| Asked { id, item: id % items, ..Asked::default() };
    if let Some(it) = decoder.interleaved() {
        for id in 0..IN_FLIGHT {
            let mut message = Vec::new();
            protocol.encode(asked(id), &mut message);
            it.begin(asked(id), &mut message);
        }
    }
    let mut replies = 0;
    for mut rest in bytes.chunks(usize::from(*piece).max(1)) {
        while !rest.is_empty() {
            let step = decoder.read(asked(replies as u32), rest);
            assert!(step.used <= rest.len(), "more bytes than there are");
            assert!(step.used > 0 || step.reply.is_some(), "the decoder stands still");
            rest = &rest[step.used..];
            if let Some(reply) = step.reply {
                replies += 1;
                let is_over = step.request.is_none()
                    && reply.outcome == sojourn_load::protocols::Outcome::Garbled;
                if is_over || replies > REPLIES_MAX {
                    return;
                }
            }
        }
        if let Some(it) = decoder.interleaved() {
            it.say(&mut Vec::new());
        }
    }
    decoder.ended(asked(replies as u32));
    decoder.reset();
});
