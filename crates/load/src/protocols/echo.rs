//! Frames that come back as they went: the synthetic services' own protocol.
//!
//! A request is a 12-byte header and a body:
//!
//! ```text
//!  0               8           12
//!  | id (u64, BE)  | len (u32, BE) | len bytes of body |
//! ```
//!
//! The reply is the same frame: same id, same length, same body. Replies come in the order of the
//! requests of the connection. `id` is the number of the request, `body` is the item's value
//! (`value_size`, 0 allowed), at most 64 MiB.

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::{Asked, Decoder, PLAIN, Protocol, ProtocolKind, Step};
use crate::job::Job;
use crate::job::target::{Scheme, Target};
use crate::protocols::Outcome;
use crate::protocols::content::Content;

/// Bytes before the body of a frame.
pub const HEADER: usize = sojourn_base::echo::HEADER_BYTES;

struct Echo {
    content: Arc<Content>,
}

impl Protocol for Echo {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        out.extend_from_slice(&u64::from(asked.id).to_be_bytes());
        out.extend_from_slice(&self.content.value_len(asked.item).to_be_bytes());
        self.content.push_value(asked.item, out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader {
            content: Arc::clone(&self.content),
            header: [0; HEADER],
            read: 0,
            flaw: None,
        })
    }

    fn request_bytes_max(&self) -> usize {
        HEADER + self.content.value_len_max() as usize
    }
}

struct Reader {
    content: Arc<Content>,
    header: [u8; HEADER],
    /// Bytes of the frame read so far.
    read: usize,
    flaw: Option<Outcome>,
}

impl Decoder for Reader {
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        if self.read < HEADER {
            used = bytes.len().min(HEADER - self.read);
            self.header[self.read..self.read + used].copy_from_slice(&bytes[..used]);
            self.read += used;
            if self.read < HEADER {
                return Step::more(used);
            }
            if !self.check_header(asked) {
                return Step::end(used, Outcome::Garbled, 0);
            }
        }
        let length = self.body_len();
        let offset = self.read - HEADER;
        let body = (bytes.len() - used).min(length - offset);
        if self.flaw.is_none() && !self.content.holds(asked.item, offset, &bytes[used..used + body])
        {
            self.flaw = Some(Outcome::Content);
        }
        self.read += body;
        used += body;
        if self.read < HEADER + length {
            return Step::more(used);
        }
        let outcome = self.flaw.unwrap_or(Outcome::Hit);
        self.reset();
        Step::end(used, outcome, length as u32)
    }

    fn reset(&mut self) {
        self.read = 0;
        self.flaw = None;
    }
}

impl Reader {
    /// Another id means that the order was broken; another length is counted as such.
    fn check_header(&mut self, asked: Asked) -> bool {
        let wanted = self.content.value_len(asked.item) as usize;
        if self.body_len() != wanted {
            self.flaw = Some(Outcome::Length);
        }
        self.header[..8] == u64::from(asked.id).to_be_bytes() && self.body_len() <= 64 << 20
    }

    fn body_len(&self) -> usize {
        let [.., a, b, c, d] = self.header;
        u32::from_be_bytes([a, b, c, d]) as usize
    }
}

pub(super) const KIND: ProtocolKind = ProtocolKind {
    kind: Kind {
        name: "echo",
        about: "frames that come back as they went, as sojourn-serve speaks them",
        usage: "echo://HOST:PORT",
        params: &[Param {
            name: "value_size",
            unit: "bytes",
            about: "body, distribution",
            default: "200",
            range: ">= 0",
        }],
        needs: &[],
        source: "",
    },
    schemes: &[Scheme::stream("echo", 7007)],
    has_path: false,
    build,
    ..PLAIN
};

#[expect(clippy::unnecessary_wraps, reason = "the table's form")]
fn build(_: &Job, _: &Target, content: &Arc<Content>) -> Result<Arc<dyn Protocol>, Fault> {
    Ok(Arc::new(Echo { content: Arc::clone(content) }))
}
