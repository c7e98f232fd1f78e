//! memcache's UDP frame: 8 bytes before each datagram, around any protocol.
//!
//! ```text
//!  0             2            4                     6            8
//!  | request id  | sequence   | datagrams in reply  | reserved 0 |   all 16 bit, network order
//! ```
//!
//! A reply to an older request (it was given up) is not read. A reply of several datagrams must
//! come in order, which it does on one machine; else it is `Garbled`. Source: memcached
//! doc/protocol.txt, "UDP protocol".

use std::sync::Arc;

use super::{Asked, Decoder, Protocol, Step};
use crate::marks::Outcome;

const HEADER: usize = 8;

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
        Box::new(Reader { inner: self.inner.decoder(), next_sequence: 0 })
    }

    fn request_bytes_max(&self) -> usize {
        HEADER + self.inner.request_bytes_max()
    }
}

struct Reader {
    inner: Box<dyn Decoder>,
    next_sequence: u16,
}

impl Decoder for Reader {
    /// `bytes` is one datagram; all of it is used.
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let all = bytes.len();
        if all < HEADER || bytes[..2] != (asked.id as u16).to_be_bytes() {
            return Step::more(all);
        }
        let sequence = u16::from_be_bytes([bytes[2], bytes[3]]);
        // memcached answers a GET of many keys with a whole reply per key, each the first of one.
        let is_whole = sequence == 0 && bytes[4..6] == [0, 1];
        if (sequence != self.next_sequence && !is_whole) || all == HEADER {
            self.reset();
            return Step::end(all, Outcome::Garbled, 0);
        }
        let step = self.inner.read(asked, &bytes[HEADER..]);
        match step.reply {
            None => {
                self.next_sequence = if is_whole { 0 } else { self.next_sequence + 1 };
                Step::more(all)
            }
            Some(reply) => {
                self.reset();
                Step { used: all, reply: Some(reply) }
            }
        }
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.next_sequence = 0;
    }
}
