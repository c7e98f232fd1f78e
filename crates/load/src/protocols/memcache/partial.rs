//! A reply as far as it has been read, in both forms of the commands.

use crate::protocols::Outcome;
use crate::protocols::content::Content;

/// What was read of one reply so far.
#[derive(Default)]
pub(super) struct Partial {
    /// Bytes of the body and its line end that are still to come.
    pub(super) body_left: usize,
    pub(super) body_len: usize,
    /// The item whose body is being read.
    pub(super) item: u32,
    /// How many of the keys asked for have been looked for in the reply.
    pub(super) keys_seen: u32,
    keys_found: u32,
    pub(super) bytes: u32,
    /// What is wrong with it so far.
    pub(super) flaw: Option<Outcome>,
}

/// A value of `item` follows, `length` bytes long.
pub(super) fn begin_body(reply: &mut Partial, content: &Content, item: u32, length: u32) {
    reply.item = item;
    reply.keys_found += 1;
    reply.body_len = length as usize;
    reply.body_left = length as usize + 2;
    if length != content.value_len(item) {
        reply.flaw.get_or_insert(Outcome::Length);
    }
}

/// The outcome of a reply that is over, of `wanted` values.
pub(super) fn ending(reply: &Partial, wanted: u32) -> Outcome {
    match reply.flaw {
        Some(flaw) => flaw,
        None if reply.keys_found < wanted => Outcome::Miss,
        None => Outcome::Hit,
    }
}

/// Whether the server says so that it refuses the request.
pub(super) fn is_error(line: &[u8]) -> bool {
    let errors: [&[u8]; 4] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR", b"NOT_STORED"];
    errors.iter().any(|error| line.starts_with(error))
}
