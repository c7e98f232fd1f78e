//! RESP, as Redis speaks it: `GET`, `SET` and `MGET`.
//!
//! A reply is one of `+text`, `-error`, `$length` with as many bytes and a line's end, and `$-1` or
//! `_` for what is not there; that of an MGET is `*count` and as many of the last three. The text of an
//! error is kept, the first of each kind. Source: redis.io, "Redis serialization protocol specification".

mod greeting;
mod reader;

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::key_value::{MULTIGET, OPERATIONS, SET, keys_per_multiget, nth_key, with_own};
use super::line::push_number;
use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::content::{Content, KEY_MAX};
use crate::protocols::server_notices::ServerNotices;
use crate::transports::hello::Greeting;
use reader::Reader;

const LINE_MAX: usize = 512; // an error's text

struct Resp {
    content: Arc<Content>,
    keys_per_multiget: u32,
    greeting: Greeting,
    notices: Arc<ServerNotices>,
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
        let (content, notices) = (Arc::clone(&self.content), Arc::clone(&self.notices));
        Box::new(Reader::new(content, self.keys_per_multiget, notices))
    }

    fn request_bytes_max(&self) -> usize {
        let multiget = 32 + (KEY_MAX + 8) * self.keys_per_multiget as usize;
        multiget.max(64 + KEY_MAX + self.content.value_len_max() as usize)
    }

    fn hello(&self) -> Greeting {
        self.greeting.clone()
    }

    fn notices(&self) -> Option<&ServerNotices> {
        Some(&self.notices)
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

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "resp",
        about: "RESP, as Redis and Valkey speak it: GET, SET and MGET; every value is checked; depth is its pipeline",
        usage: "resp://HOST:PORT/DATABASE, redis:// or valkey:// (over TLS rediss://, valkeys://), of a user USER@HOST; of a unix socket resp://unix:/SOCKET:/DATABASE",
        params: &with_own(Param {
            name: "auth",
            unit: "",
            about: "password:, and where it is: file:PATH or env:NAME; of the target's user, or the server's own",
            default: "",
            range: "",
        }),
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
    operations: OPERATIONS,
    build,
    ..PLAIN
};

fn build(job: &Job, target: &Target, content: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    let keys_per_multiget = keys_per_multiget(job)?;
    let notices = Arc::new(ServerNotices::default());
    let greeting = greeting::greeting(job, target, &notices)?;
    Ok(Arc::new(Resp { content: Arc::clone(content), keys_per_multiget, greeting, notices }))
}
