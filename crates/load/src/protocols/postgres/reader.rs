//! Replies as they come, at any split: rows are counted and passed over, complaints are stored.
//!
//! A reply ends with `ReadyForQuery`. What it has is counted by its values: of each row the bytes of its
//! columns; of a command that gives no rows the bytes of its tag, unless the tag says that nothing was
//! touched (`UPDATE 0`). So a reply of 0 bytes found and did nothing.

use std::sync::Arc;

use super::message::{Complaint, HEAD, body_len};
use crate::protocols::Outcome;
use crate::protocols::sampled::{Body, Numbers, Sampled};
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::{Asked, Decoder, Reply, Step};

/// Bytes retained of a complaint, and of a command's tag.
const COMPLAINT_MAX: usize = 2048;
const TAG_MAX: usize = 128;
/// Bytes retained of a row that is looked at after the run.
const ROW_MAX: usize = 1 << 20;
/// Of any other row: the number of its columns.
const COLUMNS: usize = 2;
/// Types of messages that say nothing about the reply: what was parsed, bound, described, noticed or set.
const PASSED_OVER: &[u8] = b"123nstTSANIHcV";

/// What is the same for every connection.
#[derive(Clone)]
pub(super) struct Wish {
    /// Bytes that a reply must have; 0: any.
    pub(super) bytes: u64,
    /// Where replies go that are looked at after the run.
    pub(super) sampled: Option<Arc<Sampled>>,
    pub(super) notices: Arc<ServerNotices>,
}

/// The reply so far.
#[derive(Default)]
struct Partial {
    has_begun: bool,
    has_failed: bool,
    bytes: u64,
    rows: u64,
    /// Rows of the command that is being answered.
    rows_here: u64,
    /// What it holds, if it is one of the sample.
    retained: Option<Body>,
}

/// Reads the replies of one connection.
pub(super) struct Reader {
    wish: Wish,
    head: [u8; HEAD],
    /// Bytes of the head that have come.
    have: usize,
    /// Bytes of the body, and how many of them are still to come.
    length: usize,
    left: usize,
    /// How the body begins, as far as it is needed.
    body: Vec<u8>,
    body_max: usize,
    reply: Partial,
    numbers: Numbers,
}

impl Decoder for Reader {
    fn read(&mut self, _: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        while used < bytes.len() {
            if self.have < HEAD {
                used += self.read_head(&bytes[used..]);
                if self.have < HEAD {
                    break;
                }
                if !self.begin_message() {
                    return Step::end(bytes.len(), Outcome::Garbled, 0);
                }
            } else {
                used += self.read_body(&bytes[used..]);
            }
            if self.left == 0 {
                self.have = 0;
                if let Some(outcome) = self.end_message() {
                    return self.end(used, outcome);
                }
            }
        }
        Step::more(used)
    }

    /// A server that goes says why, and ends the connection instead of the reply.
    fn ended(&mut self, _: Asked) -> Option<Reply> {
        if self.reply.has_failed { self.end(0, Outcome::Status).reply } else { None }
    }

    fn reset(&mut self) {
        self.have = 0;
        self.left = 0;
        let reply = std::mem::take(&mut self.reply);
        if let (Some(body), Some(sampled)) = (reply.retained, &self.wish.sampled) {
            sampled.give_back(body);
        }
    }
}

impl Reader {
    pub(super) fn new(wish: Wish) -> Self {
        let body = Vec::with_capacity(COMPLAINT_MAX);
        let (head, reply, numbers) = ([0; HEAD], Partial::default(), Numbers::default());
        Self { wish, head, have: 0, length: 0, left: 0, body, body_max: 0, reply, numbers }
    }

    fn read_head(&mut self, bytes: &[u8]) -> usize {
        let run = bytes.len().min(HEAD - self.have);
        self.head[self.have..self.have + run].copy_from_slice(&bytes[..run]);
        self.have += run;
        run
    }

    /// The head is there; whether it is one of a message that may come now.
    fn begin_message(&mut self) -> bool {
        let Some(length) = body_len(&self.head) else { return false };
        (self.length, self.left) = (length, length);
        self.body.clear();
        if !self.reply.has_begun {
            self.reply.has_begun = true;
            let sampled = self.wish.sampled.as_ref();
            self.reply.retained = sampled.and_then(|it| it.begin(&mut self.numbers));
        }
        self.body_max = match self.head[0] {
            b'D' | b'd' if self.reply.retained.is_some() => ROW_MAX,
            b'D' if length >= COLUMNS => COLUMNS,
            b'E' => COMPLAINT_MAX,
            b'C' => TAG_MAX,
            b'Z' if length == 1 => 1,
            b'd' => 0,
            kind if PASSED_OVER.contains(&kind) => 0,
            _ => return false,
        };
        true
    }

    fn read_body(&mut self, bytes: &[u8]) -> usize {
        let run = bytes.len().min(self.left);
        let room = self.body_max.saturating_sub(self.body.len()).min(run);
        self.body.extend_from_slice(&bytes[..room]);
        self.left -= run;
        run
    }

    /// A message is whole; the outcome if the reply is.
    fn end_message(&mut self) -> Option<Outcome> {
        match self.head[0] {
            b'D' => self.end_row(),
            b'd' => {
                self.count_row(self.length as u64);
                self.keep_row(Body::push);
            }
            b'C' => self.end_command(),
            b'E' => self.complain(),
            b'Z' => return Some(self.outcome()),
            _ => {}
        }
        None
    }

    /// The values' bytes are the body's without the number of columns and the length of each.
    fn end_row(&mut self) {
        let columns = self.body.first_chunk().map_or(0, |count| u16::from_be_bytes(*count));
        let around = COLUMNS + 4 * usize::from(columns);
        self.count_row(self.length.saturating_sub(around) as u64);
        self.keep_row(push_values);
    }

    fn count_row(&mut self, bytes: u64) {
        self.reply.rows += 1;
        self.reply.rows_here += 1;
        self.reply.bytes += bytes;
    }

    /// Rows of the sample stand one to a line.
    fn keep_row(&mut self, push: impl FnOnce(&mut Body, &[u8])) {
        if let Some(retained) = &mut self.reply.retained {
            if self.reply.rows > 1 {
                retained.push(b"\n");
            }
            if self.body.len() < self.length {
                retained.cut();
            }
            push(retained, &self.body);
        }
    }

    fn end_command(&mut self) {
        let tag = self.body.strip_suffix(b"\0").unwrap_or(&self.body);
        let rows = std::mem::take(&mut self.reply.rows_here);
        if rows == 0 && !tag.ends_with(b" 0") {
            self.reply.bytes += tag.len() as u64;
            if let Some(retained) = &mut self.reply.retained {
                retained.push(tag);
            }
        }
    }

    #[cold]
    fn complain(&mut self) {
        self.reply.has_failed = true;
        let complaint = Complaint::read(&self.body);
        self.wish.notices.complain(&complaint.code, &complaint.text);
    }

    fn outcome(&self) -> Outcome {
        let Partial { has_failed, bytes, .. } = self.reply;
        match self.wish.bytes {
            _ if !b"ITE".contains(self.body.first().unwrap_or(&0)) => Outcome::Garbled,
            _ if has_failed => Outcome::Status,
            wanted if wanted > 0 && bytes != wanted => Outcome::Length,
            _ => Outcome::Hit,
        }
    }

    fn end(&mut self, used: usize, outcome: Outcome) -> Step {
        let reply = std::mem::take(&mut self.reply);
        if reply.rows > 0 {
            self.wish.notices.add_rows(reply.rows);
        }
        if let (Some(body), Some(sampled)) = (reply.retained, &self.wish.sampled) {
            match outcome {
                Outcome::Hit => sampled.keep(body, None),
                _ => sampled.give_back(body),
            }
        }
        let mut step = Step::end(used, outcome, reply.bytes.min(u64::from(u32::MAX)) as u32);
        if let Some(ended) = &mut step.reply {
            // A transaction that failed refuses all that follows: the connection is replaced.
            ended.last = self.body.first() == Some(&b'E');
        }
        step
    }
}

/// Appends the columns of a row with a tabulator between them; NULL is nothing.
fn push_values(body: &mut Body, row: &[u8]) {
    let mut rest = &row[COLUMNS.min(row.len())..];
    let mut is_first = true;
    while let Some((length, more)) = rest.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length).max(0) as usize;
        let value = &more[..length.min(more.len())];
        if !std::mem::take(&mut is_first) {
            body.push(b"\t");
        }
        body.push(value);
        rest = &more[value.len()..];
    }
}

#[cfg(test)]
mod tests {
    use super::ROW_MAX;
    use crate::protocols::tests::{asked, set_up};
    use crate::protocols::{GET, Outcome};

    #[test]
    fn a_row_that_is_too_long_is_reported_and_not_checked() {
        let protocol = set_up("postgres://h/d", |job| job.expect_regex = "x$".into());
        let value = ROW_MAX as u32;
        let mut bytes = b"D".to_vec();
        bytes.extend_from_slice(&(value + 10).to_be_bytes());
        bytes.extend_from_slice(&1_u16.to_be_bytes());
        bytes.extend_from_slice(&value.to_be_bytes());
        bytes.resize(bytes.len() + ROW_MAX - 1, b'-');
        bytes.extend_from_slice(b"xC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
        let reply = protocol.decoder().read(asked(GET, 0), &bytes).reply.unwrap();
        assert_eq!((reply.outcome, reply.body_bytes), (Outcome::Hit, value));
        let looked = protocol.sampled().unwrap().look();
        assert_eq!((looked.checked, looked.too_long), (0, 1), "{looked:?}");
    }
}
