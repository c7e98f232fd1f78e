//! What the service understands: requests out of bytes, replies into bytes. No sockets, no clocks.
//!
//! One file per protocol; `KINDS` is the table.

mod echo;
mod memcache;

use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind};

use crate::store::Store;

/// Most bytes of one reply, and of all that wait for a client.
pub const REPLY_MAX: usize = 256 << 20;

/// What a request asks of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Takes a service time: a read.
    Read,
    /// Takes a service time unless the service was told otherwise: a write.
    Write,
    /// Takes none: version, errors.
    Admin,
}

/// What the bytes at hand are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// The beginning of a request.
    More,
    /// A whole request of so many bytes; its reply, if any, was appended.
    Request {
        /// Bytes used.
        used: usize,
        /// What it asks.
        work: Work,
    },
    /// The client says goodbye, or cannot be understood any more.
    Close,
}

/// Reads the first request in `input` and appends its reply.
pub type Parse = fn(input: &[u8], store: &mut Store, reply: &mut Vec<u8>) -> Parsed;

/// One entry of the table.
#[derive(Clone, Copy)]
pub struct ProtocolKind {
    /// Name, parameters, usage.
    pub kind: Kind,
    /// How it reads. Stateless: what is not complete is read again with more bytes.
    pub parse: Parse,
}

impl AsRef<Kind> for ProtocolKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every protocol, in reading order.
pub const KINDS: &[ProtocolKind] = &[memcache::KIND, echo::KIND];

/// The protocol called `name`, or a fault with the names there are.
pub fn find(name: &str) -> Result<&'static ProtocolKind, Fault> {
    kind::find(KINDS, name, "protocol", "protocol")
}

#[cfg(test)]
pub(crate) mod suite {
    //! What every protocol must do, whatever it says.

    use super::*;

    /// Feeds `input` in all splits in two; replies must not depend on the split.
    pub fn replies(kind: &ProtocolKind, input: &[u8]) -> Vec<u8> {
        let whole = feed(kind, &[input]);
        for at in 0..input.len() {
            let (head, tail) = input.split_at(at);
            assert_eq!(feed(kind, &[head, tail]), whole, "split at {at}");
        }
        whole
    }

    fn feed(kind: &ProtocolKind, parts: &[&[u8]]) -> Vec<u8> {
        let (mut store, mut input, mut reply) = (Store::default(), Vec::new(), Vec::new());
        for part in parts {
            input.extend_from_slice(part);
            while let Parsed::Request { used, .. } = (kind.parse)(&input, &mut store, &mut reply) {
                input.drain(..used);
            }
        }
        reply
    }

    #[test]
    fn no_bytes_make_a_protocol_panic_or_run_on() {
        use sojourn_base::rng::{RngExt, stream};
        let mut rng = stream(1, "fuzz", 0);
        let words = ["get ", "set ", "a 0 0 3\r\n", "\r\n", "abc", " ", "noreply", "\0\0\0\0"];
        for kind in KINDS {
            for _ in 0..20_000 {
                let mut input = Vec::new();
                for _ in 0..rng.random_range(1..8) {
                    input.extend_from_slice(words[rng.random_range(0..words.len())].as_bytes());
                }
                let (mut store, mut reply) = (Store::default(), Vec::new());
                if let Parsed::Request { used, .. } = (kind.parse)(&input, &mut store, &mut reply) {
                    assert!(used > 0 && used <= input.len());
                }
            }
        }
    }

    #[test]
    fn a_slip_in_the_name_is_answered_with_the_nearest() {
        assert!(find("memcached").err().unwrap().fix.contains("memcache"));
    }
}
