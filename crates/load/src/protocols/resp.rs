//! RESP, as Redis speaks it: `GET` and `SET`.
//!
//! A reply is one of `+text`, `-error`, `$length` with as many bytes and a line's end, and `$-1` or
//! `_` for what is not there. Source: redis.io, "Redis serialization protocol specification".

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_workload::plan::Op;

use super::line::{Found, Lines, number, push_number};
use super::{Asked, Decoder, GET, Operation, PLAIN, Protocol, ProtocolKind, Step};
use crate::content::{Content, KEY_MAX};
use crate::job::Job;
use crate::marks::Outcome;
use crate::target::{Scheme, Target};

const SET: Op = Op(1);

const LINE_MAX: usize = 512; // an error's text

struct Resp {
    content: Arc<Content>,
}

impl Protocol for Resp {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        let is_set = asked.op == SET;
        out.extend_from_slice(if is_set {
            b"*3\r\n$3\r\nSET\r\n$"
        } else {
            b"*2\r\n$3\r\nGET\r\n$"
        });
        push_number(self.content.key_len(asked.item), out);
        out.extend_from_slice(b"\r\n");
        self.content.push_key(asked.item, out);
        out.extend_from_slice(b"\r\n");
        if is_set {
            out.push(b'$');
            push_number(self.content.value_len(asked.item), out);
            out.extend_from_slice(b"\r\n");
            self.content.push_value(asked.item, out);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader {
            content: Arc::clone(&self.content),
            lines: Lines::new(LINE_MAX),
            body: None,
        })
    }

    fn request_bytes_max(&self) -> usize {
        64 + KEY_MAX + self.content.value_len_max() as usize
    }
}

struct Reader {
    content: Arc<Content>,
    lines: Lines,
    body: Option<Body>,
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
        let mut used = 0;
        if self.body.is_none() {
            let (line, taken) = match self.lines.find(bytes) {
                Found::Line(line, taken) => (line, taken),
                Found::Part => return Step::more(bytes.len()),
                Found::TooLong => return Step::end(bytes.len(), Outcome::Garbled, 0),
            };
            used = taken;
            let ended = match (asked.op, line) {
                (SET, b"+OK") => Some(Outcome::Hit),
                (GET, b"$-1" | b"_") => Some(Outcome::Miss),
                (_, [b'-', ..]) => Some(Outcome::Status),
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

    fn reset(&mut self) {
        self.lines.clear();
        self.body = None;
    }
}

impl Reader {
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

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "resp",
        about: "RESP, as Redis and Valkey speak it: GET and SET; every value is checked",
        usage: "resp://HOST:PORT",
        params: &[
            Param {
                name: "items",
                unit: "",
                about: "distinct keys",
                default: "10000",
                range: ">= 1",
            },
            Param {
                name: "key_size",
                unit: "bytes",
                about: "distribution",
                default: "30",
                range: "1..250",
            },
            Param {
                name: "value_size",
                unit: "bytes",
                about: "distribution",
                default: "200",
                range: ">= 0",
            },
            Param {
                name: "set_share",
                unit: "ratio",
                about: "requests that are SETs",
                default: "0",
                range: "0..1",
            },
        ],
        needs: &[],
        source: "redis.io, RESP specification",
    },
    schemes: &[Scheme::stream("resp", 6379)],
    operations: &[
        Operation { name: "get", share: "" },
        Operation { name: "set", share: "set_share" },
    ],
    build,
    ..PLAIN
};

#[expect(clippy::unnecessary_wraps, reason = "the table's form")]
fn build(_: &Job, _: &Target, content: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    Ok(Arc::new(Resp { content: Arc::clone(content) }))
}
