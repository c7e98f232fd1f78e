//! RESP, as Redis speaks it: `GET`, `SET` and `MGET`.
//!
//! A reply is one of `+text`, `-error`, `$length` with as many bytes and a line's end, and `$-1` or
//! `_` for what is not there; that of an MGET is `*count` and as many of the last three. The text of an
//! error is kept, the first of each kind. Source: redis.io, "Redis serialization protocol specification".

mod greeting;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_workload::plan::Op;

use super::line::{Found, Lines, number, push_number};
use super::memcache::{keys_per_multiget, nth_key};
use super::{Asked, Decoder, GET, Operation, PLAIN, Protocol, ProtocolKind, Step};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::Outcome;
use crate::protocols::content::{Content, KEY_MAX};
use crate::protocols::server_notices::Told;
use crate::transports::hello::Greeting;

const SET: Op = Op(1);
const MULTIGET: Op = Op(2);

const LINE_MAX: usize = 512; // an error's text

struct Resp {
    content: Arc<Content>,
    keys_per_multiget: u32,
    greeting: Greeting,
    told: Arc<Told>,
}

impl Protocol for Resp {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        if asked.op == MULTIGET {
            self.encode_multiget(asked.item, out);
            return;
        }
        let is_set = asked.op == SET;
        out.extend_from_slice(if is_set {
            b"*3\r\n$3\r\nSET\r\n$"
        } else {
            b"*2\r\n$3\r\nGET\r\n$"
        });
        self.push_key(asked.item, out);
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
            keys_per_multiget: self.keys_per_multiget,
            told: Arc::clone(&self.told),
            lines: Lines::new(LINE_MAX),
            body: None,
            several: Several::default(),
        })
    }

    fn request_bytes_max(&self) -> usize {
        let multiget = 32 + (KEY_MAX + 8) * self.keys_per_multiget as usize;
        multiget.max(64 + KEY_MAX + self.content.value_len_max() as usize)
    }

    fn hello(&self) -> Greeting {
        self.greeting.clone()
    }

    fn told(&self) -> Option<&Told> {
        Some(&self.told)
    }
}

impl Resp {
    fn encode_multiget(&self, first: u32, out: &mut Vec<u8>) {
        out.push(b'*');
        push_number(self.keys_per_multiget + 1, out);
        out.extend_from_slice(b"\r\n$4\r\nMGET\r\n");
        for nth in 0..self.keys_per_multiget {
            out.push(b'$');
            self.push_key(nth_key(first, nth, self.content.items()), out);
        }
    }

    /// The length of a key after its `$`, and the key.
    fn push_key(&self, item: u32, out: &mut Vec<u8>) {
        push_number(self.content.key_len(item), out);
        out.extend_from_slice(b"\r\n");
        self.content.push_key(item, out);
        out.extend_from_slice(b"\r\n");
    }
}

struct Reader {
    content: Arc<Content>,
    keys_per_multiget: u32,
    told: Arc<Told>,
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
            several.bytes += reply.body_bytes;
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
            Found::Line(line, taken) => (line, taken),
            Found::Part => return (bytes.len(), None),
            Found::TooLong => return (bytes.len(), Some(Outcome::Garbled)),
        };
        let outcome = match line {
            [b'*', count @ ..] if number(count) == Some(self.keys_per_multiget) => {
                self.several.left = self.keys_per_multiget;
                None
            }
            [b'-', ..] => {
                self.told.refused(line);
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
                Found::Line(line, taken) => (line, taken),
                Found::Part => return Step::more(bytes.len()),
                Found::TooLong => return Step::end(bytes.len(), Outcome::Garbled, 0),
            };
            used = taken;
            let ended = match (asked.op, line) {
                (SET, b"+OK") => Some(Outcome::Hit),
                (GET, b"$-1" | b"_") => Some(Outcome::Miss),
                (_, [b'-', ..]) => {
                    self.told.refused(line);
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

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "resp",
        about: "RESP, as Redis and Valkey speak it: GET, SET and MGET; every value is checked; depth is its pipeline",
        usage: "resp://HOST:PORT/DATABASE, redis:// or valkey:// (over TLS rediss://, valkeys://), of a user USER@HOST; of a unix socket resp://unix:/SOCKET:/DATABASE",
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
            Param {
                name: "multiget_share",
                unit: "ratio",
                about: "requests that are MGETs",
                default: "0",
                range: "0..1",
            },
            Param {
                name: "multiget_keys",
                unit: "",
                about: "keys per MGET",
                default: "10",
                range: "1..1000",
            },
            Param {
                name: "auth",
                unit: "",
                about: "password:, and where it is: file:PATH or env:NAME; of the target's user, or the server's own",
                default: "",
                range: "",
            },
        ],
        needs: &[],
        source: "redis.io, RESP specification",
    },
    schemes: &[
        Scheme::stream("resp", 6379),
        Scheme::stream("redis", 6379),
        Scheme::stream("valkey", 6379),
        Scheme::secured("rediss", 6379, ""),
        Scheme::secured("valkeys", 6379, ""),
    ],
    has_user: true,
    wishes: &["auth"],
    operations: &[
        Operation { name: "get", share: "" },
        Operation { name: "set", share: "set_share" },
        Operation { name: "multiget", share: "multiget_share" },
    ],
    build,
    ..PLAIN
};

fn build(job: &Job, target: &Target, content: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let keys_per_multiget = keys_per_multiget(job)?;
    let told = Arc::new(Told::default());
    let greeting = greeting::greeting(job, target, &told)?;
    Ok(Arc::new(Resp { content: Arc::clone(content), keys_per_multiget, greeting, told }))
}
