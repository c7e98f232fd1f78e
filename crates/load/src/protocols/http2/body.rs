//! The body of a reply: bytes, or the one message of a gRPC call, without what frames it. A message may be
//! compressed: then it is judged by its length, as bodies of HTTP are, and not decoded.

use crate::protocols::http::flaws::Flaw;
use crate::protocols::sampled;

/// Bytes before a message: whether it is compressed, and its length. Source: gRPC over HTTP/2,
/// Length-Prefixed-Message.
pub(crate) const PREFIX: usize = 5;

/// A body as far as it has come.
#[derive(Debug)]
pub(super) enum Body {
    /// So many bytes.
    Plain(u64),
    Message(Message),
}

/// A message as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Message {
    prefix: [u8; PREFIX],
    /// Bytes read, the prefix included.
    read: u64,
}

impl Body {
    /// Reads on; what is of the body itself goes to `keep` too.
    pub(super) fn read(&mut self, bytes: &[u8], keep: Option<&mut sampled::Body>) {
        let own = match self {
            Self::Plain(read) => {
                *read += bytes.len() as u64;
                bytes
            }
            Self::Message(message) => message.read(bytes),
        };
        if let Some(keep) = keep {
            keep.push(own);
        }
    }

    /// Bytes of the body itself.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Plain(read) => *read,
            Self::Message(message) => message.read.saturating_sub(PREFIX as u64),
        }
    }

    /// Why it may not end here; `None`: it may.
    pub(super) fn flaw(&self) -> Option<Flaw> {
        match self {
            Self::Plain(_) => None,
            Self::Message(message) => message.flaw(),
        }
    }
}

impl Message {
    /// What of `bytes` is the message itself.
    fn read<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let at = self.read.min(PREFIX as u64) as usize;
        let (prefix, own) = bytes.split_at(bytes.len().min(PREFIX - at));
        self.prefix[at..at + prefix.len()].copy_from_slice(prefix);
        self.read += bytes.len() as u64;
        own
    }

    /// It is not there, or not in full, or something follows it.
    fn flaw(&self) -> Option<Flaw> {
        let [compressed, length @ ..] = self.prefix;
        let all = PREFIX as u64 + u64::from(u32::from_be_bytes(length));
        match self.read {
            0 => Some(Flaw::NoMessage),
            _ if compressed > 1 || self.read < all => Some(Flaw::CutMessage),
            read if read > all => Some(Flaw::Messages),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_when_it_is_as_long_as_its_prefix_says() {
        let bytes = [0, 0, 0, 0, 2, b'h', b'i'];
        for cut in 0..=bytes.len() {
            let mut body = Body::Message(Message::default());
            let mut retained = sampled::Body::default();
            body.read(&bytes[..cut], Some(&mut retained));
            let cut_off = if cut == 0 { Flaw::NoMessage } else { Flaw::CutMessage };
            assert_eq!(body.flaw(), (cut < bytes.len()).then_some(cut_off), "{cut}");
            body.read(&bytes[cut..], Some(&mut retained));
            assert_eq!((body.flaw(), body.bytes()), (None, 2), "{cut}");
            assert!(format!("{retained:?}").contains("[104, 105]"), "{retained:?}");
            body.read(b"!", None);
            assert_eq!(body.flaw(), Some(Flaw::Messages), "one byte too many");
        }
    }

    #[test]
    fn a_compressed_message_is_whole_by_its_length_and_no_other_flag_is_known() {
        for (flag, flaw) in [(0, None), (1, None), (2, Some(Flaw::CutMessage))] {
            let mut body = Body::Message(Message::default());
            body.read(&[flag, 0, 0, 0, 1, 0x1f], None);
            assert_eq!((body.flaw(), body.bytes()), (flaw, 1), "{flag}");
        }
    }
}
