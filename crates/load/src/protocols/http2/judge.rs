//! What a reply is that has ended: a hit, or why it is none.

use std::sync::Arc;

use super::frames::ERRORS;
use super::streams::Stream;
use crate::protocols::Outcome;
use crate::protocols::http::Wish;
use crate::protocols::http::flaws::{self, Flaw};
use crate::protocols::status_counts::StatusCounts;

/// What a call came to, by its number. Source: gRPC, Status codes and their use in gRPC.
pub(crate) const CALLS: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
/// A number that no call comes to.
const OTHER_CALL: usize = CALLS.len();
const RESETS: usize = OTHER_CALL + 1;
const OTHER_RESET: usize = RESETS + ERRORS.len();
const AWAYS: usize = OTHER_RESET + 1;
const OTHER_AWAY: usize = AWAYS + ERRORS.len();
const STATUSES: usize = OTHER_AWAY + 1;
const FLAWS: usize = STATUSES + 1000;

/// Every word that [`Judge`] may count.
pub(in crate::protocols) fn words() -> Vec<String> {
    let mut words: Vec<String> = CALLS.iter().map(|&name| name.into()).collect();
    words.push("another grpc-status".into());
    words.extend(ERRORS.iter().map(|name| format!("RST_STREAM {name}")));
    words.push("RST_STREAM of another number".into());
    words.extend(ERRORS.iter().map(|name| format!("GOAWAY {name}")));
    words.push("GOAWAY of another number".into());
    words.extend((0..FLAWS - STATUSES).map(|status| format!("HTTP {status}")));
    words.extend(flaws::words());
    words
}

/// What a reply must be, and who counts those that are not.
#[derive(Clone)]
pub(in crate::protocols) struct Judge {
    pub(in crate::protocols) wish: Wish,
    /// Replies are those of gRPC calls.
    pub(in crate::protocols) are_calls: bool,
    pub(in crate::protocols) statuses: Arc<StatusCounts>,
}

impl Judge {
    /// The reply has ended in order.
    pub(super) fn outcome(&self, stream: &Stream) -> Outcome {
        if self.are_calls { self.call(stream) } else { self.plain(stream) }
    }

    fn plain(&self, stream: &Stream) -> Outcome {
        let (wish, status) = (&self.wish, stream.status);
        if wish.statuses.hold(status) {
            let has_body = !wish.is_head && status != 304;
            if has_body && stream.length.is_some_and(|bytes| bytes != stream.body.bytes()) {
                return self.refuse(Flaw::OtherLength); // cut off: RFC 9113, 8.1.1
            }
            return self.length(stream);
        }
        self.statuses.add(STATUSES + usize::from(status));
        if matches!(status, 404 | 410) { Outcome::Miss } else { Outcome::Status }
    }

    /// A call's own status counts, and where a proxy answered in its server's stead, HTTP's.
    fn call(&self, stream: &Stream) -> Outcome {
        match stream.call {
            Some(0) => match stream.body.flaw() {
                None => self.length(stream),
                Some(flaw) => self.refuse(flaw), // OK without the one message that it promises
            },
            Some(code) => {
                self.statuses.add(usize::from(code).min(OTHER_CALL));
                Outcome::Status
            }
            None if stream.status == 200 => self.refuse(Flaw::NoStatus),
            None => {
                self.statuses.add(STATUSES + usize::from(stream.status));
                Outcome::Status
            }
        }
    }

    fn length(&self, stream: &Stream) -> Outcome {
        let is_right = self.wish.has_length(stream.asked.item, stream.body.bytes());
        if is_right { Outcome::Hit } else { Outcome::Length }
    }

    /// The server ended one stream with this error.
    pub(super) fn reset(&self, error: u32) -> Outcome {
        self.statuses.add(RESETS + (error as usize).min(ERRORS.len()));
        Outcome::Status
    }

    /// The server goes away, because of this error if it is one; what it has not looked at is sent again.
    pub(super) fn away(&self, error: u32) {
        if error != 0 {
            self.statuses.add(AWAYS + (error as usize).min(ERRORS.len()));
        }
    }

    /// The reply is none that a server may send.
    #[cold]
    pub(super) fn refuse(&self, flaw: Flaw) -> Outcome {
        self.statuses.add(FLAWS + flaw as usize);
        Outcome::Garbled
    }
}
