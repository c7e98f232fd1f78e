//! The meta commands of memcache: shorter replies, and keys only where they are needed.
//!
//! `mg KEY v` is answered by `VA LENGTH`, the value and a line's end, or `EN`; `ms KEY LENGTH` by `HD`. A
//! multi-GET is a quiet `mg KEY k v q` for each key, which is answered where there is a value, and `mn`,
//! which is answered by `MN` behind them all. Source: memcached, doc/protocol.txt, "Meta Commands".

use super::partial::{Partial, begin_body, ending, is_error};
use crate::protocols::content::{Content, KEY_MAX};
use crate::protocols::key_value::{MULTIGET, SET, nth_key};
use crate::protocols::line::{number, push_number};
use crate::protocols::{Asked, GET, Outcome};

/// Appends the request for `keys` items from that of `asked` on.
pub(super) fn push(asked: Asked, content: &Content, keys: u32, out: &mut Vec<u8>) {
    match asked.op {
        SET => {
            out.extend_from_slice(b"ms ");
            content.push_key(asked.item, out);
            out.push(b' ');
            push_number(content.value_len(asked.item), out);
            out.extend_from_slice(b"\r\n");
            content.push_value(asked.item, out);
            out.extend_from_slice(b"\r\n");
        }
        MULTIGET => {
            for nth in 0..keys {
                out.extend_from_slice(b"mg ");
                content.push_key(nth_key(asked.item, nth, content.items()), out);
                out.extend_from_slice(b" k v q\r\n");
            }
            out.extend_from_slice(b"mn\r\n");
        }
        _ => {
            out.extend_from_slice(b"mg ");
            content.push_key(asked.item, out);
            out.extend_from_slice(b" v\r\n");
        }
    }
}

/// Upper bound on the bytes of a request for `keys` values.
pub(super) fn get_bytes_max(keys: u32) -> usize {
    (KEY_MAX + 11) * keys as usize + 4
}

/// The outcome if the reply ended with this line; a value's own bytes may follow it.
pub(super) fn read_line(
    reply: &mut Partial,
    content: &Content,
    asked: Asked,
    keys: u32,
    line: &[u8],
) -> Option<Outcome> {
    match (asked.op, line.trim_ascii_end()) {
        (SET, b"HD") => Some(Outcome::Hit),
        (SET, b"NS") => Some(Outcome::Status),
        (GET, b"EN") => Some(Outcome::Miss),
        (MULTIGET, b"MN") => Some(ending(reply, keys)),
        (GET | MULTIGET, [b'V', b'A', b' ', rest @ ..]) => {
            let begun = begin_value(reply, content, asked, keys, rest);
            begun.is_none().then_some(Outcome::Garbled)
        }
        (_, line) if is_error(line) => Some(Outcome::Status),
        _ => Some(Outcome::Garbled),
    }
}

/// Reads `LENGTH`, and of several values `LENGTH kKEY`, in the order asked for.
fn begin_value(
    reply: &mut Partial,
    content: &Content,
    asked: Asked,
    keys: u32,
    rest: &[u8],
) -> Option<()> {
    let mut words = rest.split(|&byte| byte == b' ');
    let length = number(words.next()?)?;
    if asked.op == GET {
        begin_body(reply, content, asked.item, length);
        return Some(());
    }
    let key = words.find_map(|word| word.strip_prefix(b"k"))?;
    let before = reply.next;
    let item = reply.take(content, (asked.item, keys), key)?;
    if reply.next <= before {
        return None; // each key is a command of its own, and commands are answered in order
    }
    begin_body(reply, content, item, length);
    Some(())
}
