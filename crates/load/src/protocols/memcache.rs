//! memcache text: `get`, `set` and multi-key `get`.
//!
//! Life of a GET's reply: `VALUE <key> <flags> <bytes>`, that many bytes, an empty line's end,
//! and so on for each key that was found, then `END`. A SET's reply is `STORED`.
//! Source: memcached, doc/protocol.txt.

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_workload::plan::Op;

use super::line::{Found, Lines, number, push_number};
use super::{Asked, Decoder, GET, Operation, PLAIN, Protocol, ProtocolKind, Step};
use crate::content::{Content, KEY_MAX};
use crate::job::Job;
use crate::marks::Outcome;
use crate::target::{Carrier, Scheme, Target};

pub(super) const SET: Op = Op(1);
pub(super) const MULTIGET: Op = Op(2);

const LINE_MAX: usize = KEY_MAX + 64; // "VALUE ", key, flags, bytes, cas

struct Memcache {
    content: Arc<Content>,
    keys_per_multiget: u32,
}

impl Protocol for Memcache {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        if asked.op == SET {
            self.encode_set(asked.item, out);
            return;
        }
        out.extend_from_slice(b"get");
        for nth in 0..keys_of(asked.op, self.keys_per_multiget) {
            out.push(b' ');
            self.content.push_key(nth_key(asked.item, nth, self.content.items()), out);
        }
        out.extend_from_slice(b"\r\n");
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader {
            content: Arc::clone(&self.content),
            keys_per_multiget: self.keys_per_multiget,
            lines: Lines::new(LINE_MAX),
            reply: Partial::default(),
        })
    }

    fn request_bytes_max(&self) -> usize {
        let get = 8 + (KEY_MAX + 1) * self.keys_per_multiget as usize;
        let set = 64 + KEY_MAX + self.content.value_len_max() as usize;
        get.max(set)
    }
}

impl Memcache {
    fn encode_set(&self, item: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"set ");
        self.content.push_key(item, out);
        out.extend_from_slice(b" 0 0 ");
        push_number(self.content.value_len(item), out);
        out.extend_from_slice(b"\r\n");
        self.content.push_value(item, out);
        out.extend_from_slice(b"\r\n");
    }
}

/// What was read of one reply so far.
#[derive(Default)]
struct Partial {
    /// Bytes of the body and its line end that are still to come.
    body_left: usize,
    body_len: usize,
    /// The item whose body is being read.
    item: u32,
    /// How many of the keys asked for have been looked for in the reply.
    keys_seen: u32,
    keys_found: u32,
    bytes: u32,
    /// What is wrong with it so far.
    flaw: Option<Outcome>,
}

struct Reader {
    content: Arc<Content>,
    keys_per_multiget: u32,
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
    /// Bytes used, and the outcome if the reply ended with this line.
    fn read_line(&mut self, asked: Asked, bytes: &[u8]) -> (usize, Option<Outcome>) {
        let (line, used) = match self.lines.find(bytes) {
            Found::Line(line, used) => (line, used),
            Found::Part => return (bytes.len(), None),
            Found::TooLong => return (bytes.len(), Some(Outcome::Garbled)),
        };
        let outcome = match (asked.op, line) {
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
        if let Some([b' ', told @ ..]) = content.after_key(item, rest) {
            let mut words = told.split(|&byte| byte == b' ');
            let (_flags, length) = (words.next()?, number(words.next()?)?);
            reply.item = item;
            reply.keys_found += 1;
            reply.body_len = length as usize;
            reply.body_left = length as usize + 2;
            if length != content.value_len(item) {
                reply.flaw.get_or_insert(Outcome::Length);
            }
            return Some(());
        }
    }
    None
}

fn ending(reply: &Partial, wanted: u32) -> Outcome {
    match reply.flaw {
        Some(flaw) => flaw,
        None if reply.keys_found < wanted => Outcome::Miss,
        None => Outcome::Hit,
    }
}

fn is_error(line: &[u8]) -> bool {
    let errors: [&[u8]; 4] = [b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR", b"NOT_STORED"];
    errors.iter().any(|error| line.starts_with(error))
}

fn keys_of(op: Op, keys_per_multiget: u32) -> u32 {
    if op == MULTIGET { keys_per_multiget } else { 1 }
}

/// A multi-GET asks for items that follow one another, and begins again after the last.
fn nth_key(first: u32, nth: u32, items: u32) -> u32 {
    if nth == 0 {
        return first; // a GET of one key needs no division
    }
    ((u64::from(first) + u64::from(nth)) % u64::from(items)) as u32
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "memcache",
        about: "memcache text over TCP or UDP: get, set, multi-key get; every value is checked",
        usage: "memcache://HOST:PORT or memcache+udp://HOST:PORT; of several, HOST:PORT,HOST:PORT, each holds the keys that hash to it",
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
                about: "requests that are multi-GETs",
                default: "0",
                range: "0..1",
            },
            Param {
                name: "multiget_keys",
                unit: "",
                about: "keys per multi-GET",
                default: "10",
                range: "1..1000",
            },
        ],
        needs: &[],
        source: "memcached doc/protocol.txt",
    },
    schemes: &[
        Scheme::stream("memcache", 11211),
        Scheme {
            name: "memcache+udp",
            port: 11211,
            carrier: Carrier::Datagrams,
            if_silent: "memcached opens it with -U only",
        },
    ],
    operations: &[
        Operation { name: "get", share: "" },
        Operation { name: "set", share: "set_share" },
        Operation { name: "multiget", share: "multiget_share" },
    ],
    shards: true,
    build,
    ..PLAIN
};

fn build(job: &Job, _: &Target, content: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    if job.multiget_share > 0.0 && u64::from(job.multiget_keys) > job.items {
        return Err(Fault::usage(
            format!("a multi-GET asks for {} of {} keys", job.multiget_keys, job.items),
            "multiget_keys",
            "ask for at most as many keys as there are items",
        ));
    }
    let keys_per_multiget = if job.multiget_share > 0.0 { job.multiget_keys } else { 1 };
    Ok(Arc::new(Memcache { content: Arc::clone(content), keys_per_multiget }))
}
