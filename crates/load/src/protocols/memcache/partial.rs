//! A reply as far as it has been read, in both forms of the commands.

use crate::protocols::Outcome;
use crate::protocols::content::Content;
use crate::protocols::key_value::{nth_key, place_of};

/// What was read of one reply so far.
#[derive(Default)]
pub(super) struct Partial {
    /// Bytes of the body and its line end that are still to come.
    pub(super) body_left: usize,
    pub(super) body_len: usize,
    /// The item whose body is being read.
    pub(super) item: u32,
    /// Of the keys asked for: the place behind the one that came last.
    pub(super) next: u32,
    /// A bit for each of them, set when it comes.
    came: Box<[u64]>,
    /// How many came.
    count: u32,
    pub(super) bytes: u32,
    /// What is wrong with it so far.
    pub(super) flaw: Option<Outcome>,
}

impl Partial {
    /// A reply that has not begun, of at most `keys` values.
    pub(super) fn of(keys: u32) -> Self {
        let came = vec![0; keys.div_ceil(u64::BITS) as usize].into_boxed_slice();
        Self { came, ..Self::default() }
    }

    /// The next reply begins, in the same memory.
    pub(super) fn clear(&mut self) {
        let mut came = std::mem::take(&mut self.came);
        came.fill(0);
        *self = Self { came, ..Self::default() };
    }

    /// The item called `key`: one of the `keys` asked for from `first` on, which has not come before.
    pub(super) fn take(
        &mut self,
        content: &Content,
        (first, keys): (u32, u32),
        key: &[u8],
    ) -> Option<u32> {
        let expected = nth_key(first, self.next, content.items());
        let is_expected =
            self.next < keys && content.after_key(expected, key).is_some_and(<[u8]>::is_empty);
        let (place, item) = if is_expected {
            (self.next, expected)
        } else {
            let item = content.item_of(key)?;
            (place_of(first, item, content.items()), item)
        };
        if place >= keys {
            return None;
        }
        let (word, bit) = (self.came.get_mut((place / u64::BITS) as usize)?, place % u64::BITS);
        if (*word >> bit) & 1 == 1 {
            return None;
        }
        *word |= 1 << bit;
        self.next = place + 1;
        Some(item)
    }
}

/// A value of `item` follows, `length` bytes long.
pub(super) fn begin_body(reply: &mut Partial, content: &Content, item: u32, length: u32) {
    reply.item = item;
    reply.count += 1;
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
        None if reply.count < wanted => Outcome::Miss,
        None => Outcome::Hit,
    }
}

/// Whether the server says so that it refuses the request.
pub(super) fn is_error(line: &[u8]) -> bool {
    let errors: [&[u8]; 4] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR", b"NOT_STORED"];
    errors.iter().any(|error| line.starts_with(error))
}
