//! memcache text: `get`, `set` and multi-key `get`.
//!
//! Life of a GET's reply: `VALUE <key> <flags> <bytes>`, that many bytes, an empty line's end,
//! and so on for each key that was found, then `END`. A SET's reply is `STORED`.
//! With the option `meta` the same is asked by meta commands ([`meta`]).
//! Source: memcached, doc/protocol.txt.

mod meta;
mod partial;
mod reader;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_workload::plan::Op;

use super::key_value::{MULTIGET, OPERATIONS, SET, keys_per_multiget, nth_key, with_own};
use super::line::push_number;
use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind};
use crate::job::Job;
use crate::job::target::{Carrier, Scheme, Target};
use crate::protocols::content::{Content, KEY_MAX};
use crate::protocols::server_notices::ServerNotices;
use reader::Reader;

const META: &str = "meta";

struct Memcache {
    content: Arc<Content>,
    keys_per_multiget: u32,
    is_meta: bool,
    notices: Arc<ServerNotices>,
}

impl Protocol for Memcache {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        if self.is_meta {
            meta::push(asked, &self.content, self.keys_per_multiget, out);
            return;
        }
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
        let (content, notices) = (Arc::clone(&self.content), Arc::clone(&self.notices));
        Box::new(Reader::new(content, self.keys_per_multiget, self.is_meta, notices))
    }

    fn request_bytes_max(&self) -> usize {
        let keys = self.keys_per_multiget;
        let plain = 8 + (KEY_MAX + 1) * keys as usize;
        let get = if self.is_meta { meta::get_bytes_max(keys) } else { plain };
        let set = 64 + KEY_MAX + self.content.value_len_max() as usize;
        get.max(set)
    }

    fn notices(&self) -> Option<&ServerNotices> {
        Some(&self.notices)
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

fn keys_of(op: Op, keys_per_multiget: u32) -> u32 {
    if op == MULTIGET { keys_per_multiget } else { 1 }
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "memcache",
        about: "memcache text over TCP or UDP: get, set, multi-key get; every value is checked",
        usage: "memcache://HOST:PORT, memcache://unix:/SOCKET or memcache+udp://HOST:PORT; of several, HOST:PORT,HOST:PORT, each holds the keys that hash to it",
        params: &with_own(Param {
            name: META,
            unit: "",
            about: "use meta commands (mg, ms, mn), over TCP or a unix socket",
            default: "false",
            range: "true or false",
        }),
        needs: &[],
        source: "memcached doc/protocol.txt",
    },
    schemes: &[
        Scheme::stream("memcache", 11211),
        Scheme {
            name: "memcache+udp",
            port: 11211,
            carrier: Carrier::Datagrams,
            alpn: "",
            if_silent: "memcached opens it with -U only",
        },
    ],
    operations: OPERATIONS,
    shards: true,
    has_path: false,
    options: &[META],
    build,
    ..PLAIN
};

fn build(job: &Job, target: &Target, content: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let keys_per_multiget = keys_per_multiget(job)?;
    let is_meta = match KIND.option(job, META) {
        "true" if target.is_datagram() => {
            let what = "meta commands are not asked over UDP";
            return Err(Fault::usage(what, "option meta", "use a target of memcache://"));
        }
        "true" => true,
        "false" => false,
        other => {
            let what = format!("meta is '{other}'");
            return Err(Fault::usage(what, "option meta", "give true or false"));
        }
    };
    let (content, notices) = (Arc::clone(content), Arc::default());
    Ok(Arc::new(Memcache { content, keys_per_multiget, is_meta, notices }))
}
