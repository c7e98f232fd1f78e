//! Replies as they come, at any split; every value is compared with what its item holds.

use std::sync::Arc;

use super::LINE_MAX;
use crate::protocols::content::Content;
use crate::protocols::key_value::{MULTIGET, SET, nth_key};
use crate::protocols::line::{Lines, Scan, number};
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::{Asked, Decoder, GET, Outcome, Step};

/// Reads the replies of one connection.
pub(super) struct Reader {
    content: Arc<Content>,
    keys_per_multiget: u32,
    notices: Arc<ServerNotices>,
    lines: Lines,
    body: Option<Body>,
    several: Several,
}

/// Values of an MGET, as far as they have been read.
#[derive(Default)]
struct Several {
    /// How many are still to come; 0: the reply has not begun.
    left: u32,
    is_any_missing: bool,
    bytes: u32,
    flaw: Option<Outcome>,
}

/// A bulk string being read.
struct Body {
    len: usize,
    /// Bytes read of it and of its line end.
    read: usize,
    flaw: Option<Outcome>,
}

impl Decoder for Reader {
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        if asked.op == MULTIGET {
            return self.read_several(asked, bytes);
        }
        self.read_one(asked, bytes)
    }

    fn reset(&mut self) {
        self.lines.clear();
        self.body = None;
        self.several = Several::default();
    }
}

impl Reader {
    pub(super) fn new(
        content: Arc<Content>,
        keys_per_multiget: u32,
        notices: Arc<ServerNotices>,
    ) -> Self {
        let (lines, several) = (Lines::new(LINE_MAX), Several::default());
        Self { content, keys_per_multiget, notices, lines, body: None, several }
    }

    /// The values of an MGET, each read as the reply to a GET.
    fn read_several(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        while used < bytes.len() {
            if self.several.left == 0 {
                let (taken, outcome) = self.begin_several(&bytes[used..]);
                used += taken;
                if let Some(outcome) = outcome {
                    return Step::end(used, outcome, 0);
                }
                continue;
            }
            let nth = self.keys_per_multiget - self.several.left;
            let item = nth_key(asked.item, nth, self.content.items());
            let step = self.read_one(Asked { op: GET, item, ..asked }, &bytes[used..]);
            used += step.used;
            let Some(reply) = step.reply else { continue };
            let several = &mut self.several;
            several.left -= 1;
            several.bytes = several.bytes.saturating_add(reply.body_bytes);
            match reply.outcome {
                Outcome::Hit => {}
                Outcome::Miss => several.is_any_missing = true,
                Outcome::Garbled => return Step::end(used, Outcome::Garbled, several.bytes),
                flaw => several.flaw = several.flaw.or(Some(flaw)),
            }
            if several.left == 0 {
                let whole = std::mem::take(several);
                let missing = whole.is_any_missing.then_some(Outcome::Miss);
                let outcome = whole.flaw.or(missing).unwrap_or(Outcome::Hit);
                return Step::end(used, outcome, whole.bytes);
            }
        }
        Step::more(used)
    }

    /// Reads `*count`; bytes used, and the outcome if the reply ended with this line.
    fn begin_several(&mut self, bytes: &[u8]) -> (usize, Option<Outcome>) {
        let (line, taken) = match self.lines.find(bytes) {
            Scan::Line(line, taken) => (line, taken),
            Scan::Part => return (bytes.len(), None),
            Scan::TooLong => return (bytes.len(), Some(Outcome::Garbled)),
        };
        let outcome = match line {
            [b'*', count @ ..] if number(count) == Some(self.keys_per_multiget) => {
                self.several.left = self.keys_per_multiget;
                None
            }
            [b'-', ..] => {
                self.notices.refused(line);
                Some(Outcome::Status)
            }
            _ => Some(Outcome::Garbled),
        };
        self.lines.clear();
        (taken, outcome)
    }

    fn read_one(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        if self.body.is_none() {
            let (line, taken) = match self.lines.find(bytes) {
                Scan::Line(line, taken) => (line, taken),
                Scan::Part => return Step::more(bytes.len()),
                Scan::TooLong => return Step::end(bytes.len(), Outcome::Garbled, 0),
            };
            used = taken;
            let ended = match (asked.op, line) {
                (SET, b"+OK") => Some(Outcome::Hit),
                (GET, b"$-1" | b"_") => Some(Outcome::Miss),
                (_, [b'-', ..]) => {
                    self.notices.refused(line);
                    Some(Outcome::Status)
                }
                (GET, [b'$', len @ ..]) => match number(len) {
                    Some(len) => {
                        let is_right = len == self.content.value_len(asked.item);
                        let flaw = (!is_right).then_some(Outcome::Length);
                        self.body = Some(Body { len: len as usize, read: 0, flaw });
                        None
                    }
                    None => Some(Outcome::Garbled),
                },
                _ => Some(Outcome::Garbled),
            };
            self.lines.clear();
            if let Some(outcome) = ended {
                return Step::end(used, outcome, 0);
            }
        }
        self.read_body(asked, bytes, used)
    }

    fn read_body(&mut self, asked: Asked, bytes: &[u8], used: usize) -> Step {
        let Some(body) = &mut self.body else { return Step::more(used) };
        let bytes = &bytes[used..];
        let run = bytes.len().min(body.len + 2 - body.read);
        let content = run.min(body.len.saturating_sub(body.read));
        if body.flaw.is_none() && !self.content.holds(asked.item, body.read, &bytes[..content]) {
            body.flaw = Some(Outcome::Content);
        }
        let line_end = &b"\r\n"[(body.read + content).saturating_sub(body.len)..];
        let is_garbled = !line_end.starts_with(&bytes[content..run]);
        body.read += run;
        let len = body.len as u32;
        if is_garbled {
            return Step::end(used + run, Outcome::Garbled, len);
        }
        if body.read < body.len + 2 {
            return Step::more(used + run);
        }
        let outcome = body.flaw.unwrap_or(Outcome::Hit);
        self.body = None;
        Step::end(used + run, outcome, len)
    }
}
