//! How a connection over TLS begins and ends: handshakes, and bytes that came before anybody asked.

use std::time::{Duration, Instant};

use rustls::ClientConnection;
use sojourn_base::Fault;

use super::link::{Link, State};
use super::{HANDSHAKE_WITHIN, Secure, Secured, faults};
use crate::transports::{Event, Patience, Transport};

/// Between two looks while handshakes go on before the run.
const LOOK_NS: u64 = 10_000_000;
/// How long a server may take to refuse a client's certificate, or one without, after its last message.
const REFUSED_WITHIN: Duration = Duration::from_secs(1);

impl Secured {
    /// Waits until the handshake of every connection is over.
    pub(super) fn shake_all(&mut self, place: &str) -> Result<(), Fault> {
        let start = Instant::now();
        while self.each.iter().any(|link| link.state != State::Ready) {
            self.check_none_failed(place)?;
            if start.elapsed() > HANDSHAKE_WITHIN {
                return Err(faults::silent(place, self.secure.scheme.name));
            }
            self.poll(Patience::for_first(LOOK_NS), &mut |_| {});
        }
        self.poll(Patience::NONE, &mut |_| {}); // the last message of each is on its way
        self.check_none_failed(place)
    }

    /// In TLS 1.3 a client's handshake is over before the server has seen its certificate, or that it has
    /// none. So a server that asks for one is given time to refuse. Whatever it says else after the
    /// handshake, such as a session ticket, shows that it does not.
    pub(super) fn wait_for_refusal(&mut self, place: &str) -> Result<(), Fault> {
        let start = Instant::now();
        while self.secure.was_asked()
            && self.each.iter().any(Link::may_be_refused)
            && start.elapsed() < REFUSED_WITHIN
        {
            self.poll(Patience::for_first(LOOK_NS), &mut |_| {});
            self.check_none_failed(place)?;
        }
        Ok(())
    }

    fn check_none_failed(&self, place: &str) -> Result<(), Fault> {
        if self.each.iter().any(|link| link.state == State::Failed) {
            return Err(faults::fault(self.error.as_ref(), place, &self.secure));
        }
        Ok(())
    }

    /// The handshake of `connection` is over, and it may be used.
    pub(super) fn opened(&mut self, connection: u32) {
        let link = &mut self.each[connection as usize];
        link.state = State::Open;
        if !link.early.is_empty() || link.has_ended {
            self.early.push(connection);
        }
    }

    /// What came on `connection` before anybody knew that its handshake is over.
    pub(super) fn tell_early(&mut self, connection: u32, on: &mut dyn FnMut(Event<'_>)) {
        let link = &mut self.each[connection as usize];
        let bytes = std::mem::take(&mut link.early);
        if link.state != State::Open {
            return;
        }
        if !bytes.is_empty() {
            on(Event::Bytes(connection, &bytes));
        }
        if self.each[connection as usize].end(&mut self.seen) {
            on(Event::Ended(connection));
            on(Event::Closed(connection));
            self.close(connection);
        }
    }

    /// Ends this side of the stream in order, where there is still somebody to hear it.
    pub(super) fn say_goodbye(&mut self, connection: u32) {
        let Link { session: Some(session), .. } = &mut self.each[connection as usize] else {
            return;
        };
        if !session.is_handshaking() {
            session.send_close_notify();
        }
        self.flush(connection); // an alert that says what was wrong, too
    }

    /// Begins the handshake on a connection that is open.
    pub(super) fn shake(&mut self, connection: u32) {
        let Secure { config, name, .. } = &self.secure;
        let link = &mut self.each[connection as usize];
        link.begin();
        match ClientConnection::new(config.clone(), name.clone()) {
            Ok(mut session) => {
                session.set_buffer_limit(None);
                link.session = Some(session);
                if !self.flush(connection) {
                    self.broken.push(connection);
                }
            }
            Err(error) => {
                link.fail(&mut self.seen);
                self.error.get_or_insert(error);
            }
        }
    }

    /// Hands what the session has to send to the transport; whether it can be sent.
    pub(super) fn flush(&mut self, connection: u32) -> bool {
        let Some(session) = &mut self.each[connection as usize].session else { return true };
        self.out.clear();
        while session.wants_write() {
            if session.write_tls(&mut self.out).is_err() {
                return false;
            }
        }
        if self.out.len() > self.out_max {
            return false; // the transport has no room for so long a hello
        }
        if !self.out.is_empty() {
            self.inner.send(connection, &self.out);
        }
        true
    }
}
