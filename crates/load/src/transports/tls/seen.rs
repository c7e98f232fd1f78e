//! What handshakes came to: how many, how long, and on what they agreed.

use std::time::Instant;

use rustls::{ClientConnection, HandshakeKind};

use super::faults;

/// How many TLS handshakes came to an end, by how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Handshakes that succeeded, those before the run included.
    pub handshakes: u64,
    /// Of these, how many took a session up again.
    pub resumed: u64,
    /// Handshakes that failed during the run.
    pub failed: u64,
    /// Time of all that succeeded, ns.
    pub total_ns: u64,
    /// Longest of them, ns.
    pub longest_ns: u64,
    /// Version and cipher suite of the first one.
    pub cipher: String,
    /// Protocol that the first one agreed on; empty: none.
    pub alpn: String,
    /// Why the first connection that went wrong during the run did, and what helps; empty: none did.
    pub wrong: String,
}

impl Seen {
    /// Counts a handshake that began at `since` and is over.
    pub(super) fn note(&mut self, session: &ClientConnection, since: Instant) {
        let took_ns = since.elapsed().as_nanos() as u64;
        self.handshakes += 1;
        self.resumed += u64::from(session.handshake_kind() == Some(HandshakeKind::Resumed));
        self.total_ns += took_ns;
        self.longest_ns = self.longest_ns.max(took_ns);
        if self.cipher.is_empty() {
            let version = session.protocol_version().and_then(|it| it.as_str());
            let suite = session.negotiated_cipher_suite().and_then(|it| it.suite().as_str());
            self.cipher = [version, suite].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let alpn = session.alpn_protocol().unwrap_or_default();
            self.alpn = String::from_utf8_lossy(alpn).into_owned();
        }
    }

    /// A connection went wrong; `words` says why.
    #[cold]
    pub(super) fn wrong(&mut self, words: impl FnOnce() -> String) {
        if self.wrong.is_empty() {
            self.wrong = words();
        }
    }

    /// Adds why a reply of unknown length was cut off, if TCP's end alone did that (`is_torn`).
    pub(crate) fn explain(mut self, is_torn: bool) -> Self {
        if is_torn {
            self.wrong(|| faults::UNANNOUNCED.into());
        }
        self
    }

    /// Adds those of another thread.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.wrong.is_empty() {
            self.wrong.clone_from(&other.wrong);
        }
        self.handshakes += other.handshakes;
        self.resumed += other.resumed;
        self.failed += other.failed;
        self.total_ns += other.total_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        if self.cipher.is_empty() {
            self.cipher.clone_from(&other.cipher);
            self.alpn.clone_from(&other.alpn);
        }
    }
}
