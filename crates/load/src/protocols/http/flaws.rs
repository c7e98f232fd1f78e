//! Why a reply was refused: what a server sent that no reply of HTTP may have.

use crate::protocols::status_counts::REFUSED;

/// What was wrong with a reply; its number is its place among [`words`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocols) enum Flaw {
    StatusLine,
    Header,
    Length,
    LongHead,
    ManyHeaders,
    Chunk,
    OtherLength,
    Frame,
    NoMessage,
    CutMessage,
    Messages,
    NoStatus,
}

/// The words for each.
const ALL: [(Flaw, &str); 12] = [
    (Flaw::StatusLine, "a status line that is none"),
    (Flaw::Header, "a head with bytes that no header may have"),
    (Flaw::Length, "a Content-Length that is not a number, or two that differ"),
    (Flaw::LongHead, "a head of more than 256 KiB"),
    (Flaw::ManyHeaders, "a head of more than 4096 headers"),
    (Flaw::Chunk, "a chunk (Transfer-Encoding) without a size or an end that can be read"),
    (Flaw::OtherLength, "a body of another length than its content-length"),
    (Flaw::Frame, "a frame that a server of HTTP/2 may not send"),
    (Flaw::NoMessage, "grpc-status 0 without a message"),
    (Flaw::CutMessage, "a gRPC message shorter than its prefix says"),
    (Flaw::Messages, "more than one gRPC message (the method is a stream)"),
    (Flaw::NoStatus, "a reply without grpc-status"),
];

/// How each is counted, in the order of their numbers.
pub(in crate::protocols) fn words() -> impl Iterator<Item = String> {
    ALL.iter().map(|(_, words)| format!("{REFUSED}{words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flaw_has_the_words_at_its_place() {
        assert!(ALL.iter().zip(0..).all(|((flaw, _), place)| *flaw as usize == place));
        assert!(words().all(|it| it.starts_with(REFUSED) && it.len() > REFUSED.len()));
    }
}
