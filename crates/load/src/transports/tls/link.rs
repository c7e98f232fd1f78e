//! One connection under TLS: its session, how far it has come, and what it makes of bytes.

use std::io::Read;
use std::time::Instant;

use rustls::{AlertDescription, ClientConnection, Error, ProtocolVersion};

use super::Seen;
use super::unready::Unready;

/// Most bytes that a server may send before anybody asks: HTTP/2's settings are some hundred.
const EARLY_MAX: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// Its handshake goes on since then.
    Shaking(Instant),
    /// Its handshake is over, which is not reported yet.
    Ready,
    Open,
    Failed,
}

pub(super) struct Link {
    pub(super) session: Option<ClientConnection>,
    pub(super) state: State,
    /// What the server sent before the end of its handshake was reported: HTTP/2 lets it speak first.
    pub(super) early: Vec<u8>,
    /// Something came after its handshake that was no refusal.
    pub(super) was_heard: bool,
    /// The server has announced that no more comes (`close_notify`).
    pub(super) has_ended: bool,
    unready: Unready,
}

impl Link {
    pub(super) fn closed() -> Self {
        Self {
            session: None,
            state: State::Closed,
            early: Vec::new(),
            was_heard: false,
            has_ended: false,
            unready: Unready::default(),
        }
    }

    /// Its handshake begins.
    pub(super) fn begin(&mut self) {
        self.state = State::Shaking(Instant::now());
        (self.was_heard, self.has_ended) = (false, false);
        self.early.clear();
        self.unready = Unready::default();
    }

    /// Takes `bytes` in and hands on what they say; whether there is something to answer. A handshake that
    /// agreed on no protocol though it `must_agree` has failed.
    pub(super) fn read(
        &mut self,
        mut bytes: &[u8],
        plain: &mut [u8],
        seen: &mut Seen,
        must_agree: bool,
        tell: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, Error> {
        let Some(session) = &mut self.session else { return Ok(false) };
        let was_shaking = matches!(self.state, State::Shaking(_));
        if was_shaking && self.unready.ends_in(bytes) {
            return Err(Error::AlertReceived(AlertDescription::CloseNotify));
        }
        while !bytes.is_empty() {
            let taken = session.read_tls(&mut bytes);
            let state = session.process_new_packets()?;
            if taken.is_err() && state.plaintext_bytes_to_read() == 0 {
                return Err(Error::General("it sent more than a record may hold".into()));
            }
            while let Ok(read @ 1..) = session.reader().read(plain) {
                if self.state == State::Open {
                    tell(&plain[..read]);
                } else if self.early.len() + read > EARLY_MAX {
                    let why = "it sent more than 1 MiB before it was asked";
                    return Err(Error::General(why.into()));
                } else {
                    self.early.extend_from_slice(&plain[..read]);
                }
            }
            if state.peer_has_closed() {
                self.has_ended = true;
                break; // nothing after it is to be read
            }
        }
        if let State::Shaking(since) = self.state
            && !session.is_handshaking()
        {
            if must_agree && session.alpn_protocol().is_none() {
                return Err(Error::NoApplicationProtocol);
            }
            seen.note(session, since);
            self.state = State::Ready;
        }
        self.was_heard |= !was_shaking;
        Ok(session.wants_write())
    }

    /// Whether the server has ended a stream that is open, which is closed then. One that ended during
    /// its handshake has failed, and one that is not used yet ends when it is.
    pub(super) fn end(&mut self, seen: &mut Seen) -> bool {
        if !self.has_ended {
            return false;
        }
        match self.state {
            State::Open => {
                self.state = State::Closed;
                true
            }
            State::Shaking(_) => {
                self.fail(seen);
                false
            }
            _ => false,
        }
    }

    /// Whether the server may still refuse it for want of a certificate, after its handshake.
    pub(super) fn may_be_refused(&self) -> bool {
        let version = self.session.as_ref().and_then(|session| session.protocol_version());
        version == Some(ProtocolVersion::TLSv1_3) && !self.was_heard && !self.has_ended
    }

    /// A handshake that goes on has failed.
    pub(super) fn fail(&mut self, seen: &mut Seen) {
        if matches!(self.state, State::Shaking(_) | State::Ready) {
            seen.failed += 1;
            self.state = State::Failed;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustls::ServerConnection;

    use super::super::RECORD;
    use super::super::known::{CLIENT, SERVER};
    use super::*;

    /// What the client makes of all that the server has to say.
    fn hear(link: &mut Link, server: &mut ServerConnection) -> Result<bool, Error> {
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        link.read(&wire, &mut [0; RECORD], &mut Seen::default(), false, &mut |_| ())
    }

    /// Both ends in memory, after their handshake.
    fn ready() -> (Link, ServerConnection) {
        let mut link = Link::closed();
        link.session = Some(CLIENT.session().unwrap());
        link.begin();
        let mut server = ServerConnection::new(SERVER.clone()).unwrap();
        while link.state != State::Ready || server.is_handshaking() {
            let mut wire = Vec::new();
            link.session.as_mut().unwrap().write_tls(&mut wire).unwrap();
            let mut wire = wire.as_slice();
            while !wire.is_empty() {
                server.read_tls(&mut wire).unwrap();
                server.process_new_packets().unwrap();
            }
            hear(&mut link, &mut server).unwrap();
        }
        server.set_buffer_limit(None);
        (link, server)
    }

    #[test]
    fn what_comes_before_anybody_asks_is_stored_and_bounded() {
        let (mut link, mut server) = ready();
        server.writer().write_all(&vec![7; EARLY_MAX]).unwrap();
        hear(&mut link, &mut server).unwrap();
        assert_eq!(link.early.len(), EARLY_MAX);
        server.writer().write_all(b"x").unwrap();
        assert!(hear(&mut link, &mut server).is_err());
    }
}
