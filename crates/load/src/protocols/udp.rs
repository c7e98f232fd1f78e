//! memcache's UDP frame: 8 bytes before each datagram, around any protocol.
//!
//! ```text
//!  0             2            4                     6            8
//!  | request id  | sequence   | datagrams in reply  | reserved 0 |   all 16 bit, network order
//! ```
//!
//! A reply to another request is not read. A reply of several datagrams must come in order, which it
//! does on one machine, and not interleaved with another on the same connection, as a server with
//! several threads may send it; else it is incomplete, like one that lost a datagram, and never ends.
//! Source: memcached doc/protocol.txt, "UDP protocol".

use std::sync::Arc;

use super::{Asked, Decoder, Protocol, Step};
use crate::protocols::server_notices::ServerNotices;

const HEADER: usize = 8;

/// The id of the request that a datagram answers; `None` if it is too short to have one.
pub(crate) fn id_of(datagram: &[u8]) -> Option<u16> {
    (datagram.len() > HEADER).then(|| u16::from_be_bytes([datagram[0], datagram[1]]))
}

/// `inner`, one request a datagram.
pub(super) struct Udp {
    pub(super) inner: Arc<dyn Protocol>,
}

impl Protocol for Udp {
    fn encode(&self, asked: Asked, out: &mut Vec<u8>) {
        out.extend_from_slice(&(asked.id as u16).to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 1, 0, 0]);
        self.inner.encode(asked, out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Reader { inner: self.inner.decoder(), id: 0, next_sequence: 0 })
    }

    fn request_bytes_max(&self) -> usize {
        HEADER + self.inner.request_bytes_max()
    }

    fn notices(&self) -> Option<&ServerNotices> {
        self.inner.notices()
    }
}

struct Reader {
    inner: Box<dyn Decoder>,
    /// Which reply is being read, and its next datagram.
    id: u16,
    next_sequence: u16,
}

impl Decoder for Reader {
    /// `bytes` is one datagram; all of it is used.
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let all = bytes.len();
        if id_of(bytes) != Some(asked.id as u16) {
            return Step::more(all);
        }
        if self.id != asked.id as u16 {
            self.reset();
            self.id = asked.id as u16;
        }
        let sequence = u16::from_be_bytes([bytes[2], bytes[3]]);
        // memcached answers a GET of many keys with a whole reply per key, each the first of one.
        let is_whole = sequence == 0 && bytes[4..6] == [0, 1];
        if sequence != self.next_sequence && !is_whole {
            return Step::more(all); // the one before it was lost
        }
        let step = self.inner.read(asked, &bytes[HEADER..]);
        match step.reply {
            None => {
                self.next_sequence = if is_whole { 0 } else { self.next_sequence.wrapping_add(1) };
                Step::more(all)
            }
            Some(reply) => {
                self.reset();
                Step { used: all, request: None, reply: Some(reply) }
            }
        }
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.next_sequence = 0;
    }
}
