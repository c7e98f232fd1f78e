//! Replies as they come, at any split; every value is compared with what its item holds.

use std::sync::Arc;

use super::partial::{Partial, begin_body, ending, is_error};
use super::{keys_of, meta};
use crate::protocols::Outcome;
use crate::protocols::content::{Content, KEY_MAX};
use crate::protocols::key_value::{MULTIGET, SET, nth_key};
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
                    let reply = std::mem::take(&mut self.reply);
                    return Step::end(used, ending(&reply, 1), reply.bytes); // nothing follows it
                }
                continue;
            }
            let (taken, outcome) = self.read_line(asked, &bytes[used..]);
            used += taken;
            if let Some(outcome) = outcome {
                let body_bytes = self.reply.bytes;
                self.reply = Partial::default();
                return Step::end(used, outcome, body_bytes);
            }
        }
        Step::more(used)
    }

    fn reset(&mut self) {
        self.lines.clear();
        self.reply = Partial::default();
    }
}

impl Reader {
    pub(super) fn new(
        content: Arc<Content>,
        keys_per_multiget: u32,
        is_meta: bool,
        notices: Arc<ServerNotices>,
    ) -> Self {
        let (lines, reply) = (Lines::new(LINE_MAX), Partial::default());
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
        reply.bytes += body as u32;
        reply.body_left -= run;
        run
    }
}

/// Reads `<key> <flags> <bytes>`. The keys found come in the order asked for; others are garbage.
fn begin_value(
    reply: &mut Partial,
    content: &Content,
    first: u32,
    keys: u32,
    rest: &[u8],
) -> Option<()> {
    while reply.keys_seen < keys {
        let item = nth_key(first, reply.keys_seen, content.items());
        reply.keys_seen += 1;
        if let Some([b' ', notices @ ..]) = content.after_key(item, rest) {
            let mut words = notices.split(|&byte| byte == b' ');
            let (_flags, length) = (words.next()?, number(words.next()?)?);
            begin_body(reply, content, item, length);
            return Some(());
        }
    }
    None
}
