//! Replies as they come, at any split; every value is compared with what its item holds.

use std::sync::Arc;

use super::partial::{Partial, begin_body, ending, is_error};
use super::{keys_of, meta};
use crate::protocols::Outcome;
use crate::protocols::content::{Content, KEY_MAX};
use crate::protocols::key_value::{MULTIGET, SET};
use crate::protocols::line::{Lines, Scan, number};
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::{Asked, Decoder, GET, Step};

const LINE_MAX: usize = KEY_MAX + 64; // "VALUE ", key, flags, bytes, cas

/// Reads the replies of one connection.
pub(super) struct Reader {
    content: Arc<Content>,
    keys_per_multiget: u32,
    is_meta: bool,
    notices: Arc<ServerNotices>,
    lines: Lines,
    reply: Partial,
}

impl Decoder for Reader {
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        while used < bytes.len() {
            if self.reply.body_left > 0 {
                used += self.read_body(&bytes[used..]);
                if self.reply.flaw == Some(Outcome::Garbled) {
                    return Step::end(used, Outcome::Garbled, self.reply.bytes);
                }
                if self.is_meta && asked.op == GET && self.reply.body_left == 0 {
                    let (outcome, bytes) = (ending(&self.reply, 1), self.reply.bytes);
                    self.reply.clear();
                    return Step::end(used, outcome, bytes); // nothing follows it
                }
                continue;
            }
            let (taken, outcome) = self.read_line(asked, &bytes[used..]);
            used += taken;
            if let Some(outcome) = outcome {
                let body_bytes = self.reply.bytes;
                self.reply.clear();
                return Step::end(used, outcome, body_bytes);
            }
        }
        Step::more(used)
    }

    fn reset(&mut self) {
        self.lines.clear();
        self.reply.clear();
    }
}

impl Reader {
    pub(super) fn new(
        content: Arc<Content>,
        keys_per_multiget: u32,
        is_meta: bool,
        notices: Arc<ServerNotices>,
    ) -> Self {
        let (lines, reply) = (Lines::new(LINE_MAX), Partial::of(keys_per_multiget));
        Self { content, keys_per_multiget, is_meta, notices, lines, reply }
    }

    /// Bytes used, and the outcome if the reply ended with this line.
    fn read_line(&mut self, asked: Asked, bytes: &[u8]) -> (usize, Option<Outcome>) {
        let (line, used) = match self.lines.find(bytes) {
            Scan::Line(line, used) => (line, used),
            Scan::Part => return (bytes.len(), None),
            Scan::TooLong => return (bytes.len(), Some(Outcome::Garbled)),
        };
        let outcome = match (asked.op, line) {
            _ if self.is_meta => {
                let keys = keys_of(asked.op, self.keys_per_multiget);
                meta::read_line(&mut self.reply, &self.content, asked, keys, line)
            }
            (SET, b"STORED") => Some(Outcome::Hit),
            (GET | MULTIGET, b"END") => {
                let wanted = keys_of(asked.op, self.keys_per_multiget);
                Some(ending(&self.reply, wanted))
            }
            (GET | MULTIGET, line) if line.starts_with(b"VALUE ") => {
                let keys = keys_of(asked.op, self.keys_per_multiget);
                match begin_value(&mut self.reply, &self.content, asked.item, keys, &line[6..]) {
                    Some(()) => None,
                    None => Some(Outcome::Garbled),
                }
            }
            (_, line) if is_error(line) => Some(Outcome::Status),
            _ => Some(Outcome::Garbled),
        };
        if outcome == Some(Outcome::Status) {
            self.notices.refused(line);
        }
        self.lines.clear();
        (used, outcome)
    }

    /// Checks body bytes against what the item holds; answers how many it used.
    fn read_body(&mut self, bytes: &[u8]) -> usize {
        let reply = &mut self.reply;
        let run = bytes.len().min(reply.body_left);
        let offset = reply.body_len + 2 - reply.body_left;
        let body = run.min(reply.body_len.saturating_sub(offset));
        if reply.flaw.is_none() && !self.content.holds(reply.item, offset, &bytes[..body]) {
            reply.flaw = Some(Outcome::Content);
        }
        let line_end = &b"\r\n"[(offset + body).saturating_sub(reply.body_len)..];
        if !line_end.starts_with(&bytes[body..run]) {
            reply.flaw = Some(Outcome::Garbled); // the length told was not the length sent
        }
        reply.bytes = reply.bytes.saturating_add(body as u32);
        reply.body_left -= run;
        run
    }
}

/// Reads `<key> <flags> <bytes>` of one of the `keys` asked for from `first` on. They come in any order: a
/// proxy puts the replies of several servers one after another.
fn begin_value(
    reply: &mut Partial,
    content: &Content,
    first: u32,
    keys: u32,
    rest: &[u8],
) -> Option<()> {
    let (key, rest) = rest.split_at(memchr::memchr(b' ', rest)?);
    let mut words = rest[1..].split(|&byte| byte == b' ');
    let (_flags, length) = (words.next()?, number(words.next()?)?);
    let item = reply.take(content, (first, keys), key)?;
    begin_body(reply, content, item, length);
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::protocols::key_value::{MULTIGET, SET};
    use crate::protocols::tests::{asked, set_up};
    use crate::protocols::{Outcome, Protocol, Reply};

    const KEYS: u32 = 150;

    /// What a multi-GET of items 10, 11, … comes to, whose values of one byte come in this order.
    fn outcome(protocol: &dyn Protocol, order: &[u32]) -> Option<Outcome> {
        let mut bytes = Vec::new();
        for item in order {
            let mut set = Vec::new(); // "set KEY 0 0 1\r\nV\r\n"
            protocol.encode(asked(SET, *item), &mut set);
            let text = String::from_utf8(set).unwrap();
            let value = text.split("\r\n").nth(1).unwrap();
            let key = text.split(' ').nth(1).unwrap();
            bytes.extend(format!("VALUE {key} 0 1\r\n{value}\r\n").into_bytes());
        }
        bytes.extend(b"END\r\n");
        let step = protocol.decoder().read(asked(MULTIGET, 10), &bytes);
        step.reply.map(|Reply { outcome, .. }| outcome)
    }

    /// doc/protocol.txt promises no order, and twemproxy joins the replies of servers one after another.
    #[test]
    fn values_come_in_any_order_and_each_once() {
        let protocol = set_up("memcache://h", |job| {
            (job.multiget_share, job.multiget_keys) = (0.5, KEYS);
            (job.items, job.value_size) = (200, "1".into());
        });
        let of = |order: &[u32]| outcome(protocol.as_ref(), order);
        let wanted: Vec<u32> = (10..10 + KEYS).collect();
        let reversed: Vec<u32> = wanted.iter().rev().copied().collect();
        let half = |rest: u32| wanted.iter().copied().filter(move |item| item % 2 == rest);
        let even_first: Vec<u32> = half(0).chain(half(1)).collect();
        for order in [&wanted, &reversed, &even_first] {
            assert_eq!(of(order), Some(Outcome::Hit), "{order:?}");
            assert_eq!(of(&order[1..]), Some(Outcome::Miss), "one is missing: {order:?}");
            let twice = [&order[..5], &order[2..]].concat();
            assert_eq!(of(&twice), Some(Outcome::Garbled), "some come twice: {order:?}");
        }
        let mut other = reversed.clone();
        other[3] = 9;
        assert_eq!(of(&other), Some(Outcome::Garbled), "item 9 was not asked for");
    }
}
