//! TLS around any transport: bytes are encrypted on their way out and decrypted on their way in.
//!
//! Handshakes are outside of every request's stopwatch: all connections have theirs before the run, and one
//! that is opened again is open when its handshake is over. Until then requests take other connections,
//! or wait for one, which is in their sojourn time. Sessions are resumed where the server allows it.
//! The library allocates for each record; its time is part of the client's CPU per request.

mod faults;
mod seen;
mod trust;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, Error};
use sojourn_base::Fault;

pub use seen::Seen;
pub use trust::Secure;

use super::{Ends, Event, Patience, Reopen, Transport, TransportKind};

/// How long a handshake may take, and all of them before the run.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks while handshakes go on before the run.
const LOOK_NS: u64 = 10_000_000;
/// What a record adds to its bytes, at most, and how many bytes it has.
const RECORD_EXTRA: usize = 64;
const RECORD: usize = 16 * 1024;
/// Most bytes that the client sends at once in a handshake: a hello with a session ticket.
const HELLO_MAX: usize = 16 * 1024;
/// Messages of a handshake that may be on their way beside requests.
const EXTRA_DEPTH: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    /// Its handshake goes on since then.
    Shaking(Instant),
    /// Its handshake is over, and nobody knows yet.
    Ready,
    Open,
    Failed,
}

struct Link {
    session: Option<ClientConnection>,
    state: State,
    /// What the server said before anybody knew that its handshake is over: HTTP/2 lets it speak first.
    early: Vec<u8>,
}

struct Secured {
    inner: Box<dyn Transport>,
    secure: Secure,
    each: Vec<Link>,
    /// Bytes on their way out.
    out: Vec<u8>,
    /// Most of them at once.
    out_max: usize,
    /// Bytes that came in, decrypted.
    plain: Box<[u8]>,
    /// Connections with something to say to the server, and those of no use any more.
    answers: Vec<u32>,
    broken: Vec<u32>,
    /// Those that are open, of which what came early has not been told.
    early: Vec<u32>,
    seen: Seen,
    error: Option<Error>,
}

/// Opens `kind` and shakes hands on every connection of `ends`, which leads to `place`.
pub fn open(
    kind: &TransportKind,
    mut ends: Ends,
    secure: &Secure,
    place: &str,
) -> Result<Box<dyn Transport>, Fault> {
    let count = ends.connections as usize;
    let longest = ends.request_bytes_max;
    let needed = (longest + (longest / RECORD + 1) * RECORD_EXTRA).max(HELLO_MAX);
    let out_max = if ends.says_more { usize::MAX } else { needed };
    ends.request_bytes_max = needed;
    ends.depth += EXTRA_DEPTH;
    let mut this = Secured {
        inner: (kind.open)(ends)?,
        secure: secure.clone(),
        each: (0..count).map(|_| Link::closed()).collect(),
        out: Vec::with_capacity(needed),
        out_max,
        plain: vec![1; RECORD].into_boxed_slice(),
        answers: Vec::with_capacity(count),
        broken: Vec::with_capacity(count),
        early: Vec::with_capacity(count),
        seen: Seen::default(),
        error: None,
    };
    let start = Instant::now();
    (0..count as u32).for_each(|connection| this.shake(connection));
    let fault = |error: Option<&Error>| faults::fault(error, place, secure);
    while this.each.iter().any(|link| link.state != State::Ready) {
        if this.each.iter().any(|link| link.state == State::Failed) {
            return Err(fault(this.error.as_ref()));
        }
        if start.elapsed() > HANDSHAKE_WITHIN {
            let silent = Error::General("it did not answer in time".into());
            return Err(fault(Some(&silent)));
        }
        this.poll(Patience::for_first(LOOK_NS), &mut |_| {});
    }
    this.poll(Patience::NONE, &mut |_| {}); // the last message of each is on its way
    (0..count as u32).for_each(|connection| this.opened(connection));
    Ok(Box::new(this))
}

impl Transport for Secured {
    fn send(&mut self, connection: u32, bytes: &[u8]) {
        let Some(session) = &mut self.each[connection as usize].session else { return };
        let taken = session.writer().write_all(bytes);
        if taken.is_err() || !self.flush(connection) {
            self.broken.push(connection);
        }
    }

    fn poll(&mut self, patience: Patience, on: &mut dyn FnMut(Event<'_>)) {
        while let Some(connection) = self.broken.pop() {
            let was_open = self.each[connection as usize].state == State::Open;
            self.close(connection);
            if was_open {
                on(Event::Closed(connection));
            }
        }
        let patience = if self.early.is_empty() { patience } else { Patience::NONE };
        while let Some(connection) = self.early.pop() {
            let bytes = std::mem::take(&mut self.each[connection as usize].early);
            if self.each[connection as usize].state == State::Open {
                on(Event::Bytes(connection, &bytes));
            }
        }
        let must_agree = self.secure.must_agree();
        let Self { inner, each, plain, answers, broken, seen, error, .. } = self;
        inner.poll(patience, &mut |event| match event {
            Event::Bytes(connection, bytes) => {
                let link = &mut each[connection as usize];
                let mut tell = |bytes: &[u8]| on(Event::Bytes(connection, bytes));
                match link.read(bytes, plain, seen, must_agree, &mut tell) {
                    Ok(true) => answers.push(connection),
                    Ok(false) => {}
                    Err(wrong) => {
                        link.fail(seen);
                        error.get_or_insert(wrong);
                        broken.push(connection);
                    }
                }
            }
            Event::Ended(connection) => {
                if each[connection as usize].state == State::Open {
                    on(Event::Ended(connection));
                }
            }
            Event::Closed(connection) => {
                let link = &mut each[connection as usize];
                let was_open = link.state == State::Open;
                link.session = None;
                link.fail(seen);
                if was_open {
                    link.state = State::Closed;
                    on(Event::Closed(connection));
                }
            }
        });
        while let Some(connection) = self.answers.pop() {
            if !self.flush(connection) {
                self.broken.push(connection);
            }
        }
    }

    fn close(&mut self, connection: u32) {
        self.inner.close(connection);
        let link = &mut self.each[connection as usize];
        link.session = None;
        link.early.clear();
        // Who asks for it again learns that its handshake failed.
        link.state = if link.state == State::Failed { State::Failed } else { State::Closed };
    }

    fn reopen(&mut self, connection: u32) -> Reopen {
        let at = connection as usize;
        match self.each[at].state {
            State::Closed => match self.inner.reopen(connection) {
                Reopen::Open => {
                    self.shake(connection);
                    Reopen::Pending
                }
                other => other,
            },
            State::Shaking(since) if since.elapsed() > HANDSHAKE_WITHIN => {
                self.each[at].fail(&mut self.seen);
                self.reopen(connection)
            }
            State::Shaking(_) => Reopen::Pending,
            State::Ready => {
                self.opened(connection);
                Reopen::Open
            }
            State::Open => Reopen::Open,
            State::Failed => {
                self.each[at].state = State::Closed;
                self.close(connection);
                Reopen::Refused
            }
        }
    }

    fn syscalls(&self) -> u64 {
        self.inner.syscalls()
    }

    fn tls(&self) -> Option<Seen> {
        Some(self.seen.clone())
    }
}

impl Secured {
    /// The handshake of `connection` is over, and it may be used.
    fn opened(&mut self, connection: u32) {
        let link = &mut self.each[connection as usize];
        link.state = State::Open;
        if !link.early.is_empty() {
            self.early.push(connection);
        }
    }

    /// Begins the handshake on a connection that is open.
    fn shake(&mut self, connection: u32) {
        let Secure { config, name, .. } = &self.secure;
        let link = &mut self.each[connection as usize];
        link.state = State::Shaking(Instant::now());
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
    fn flush(&mut self, connection: u32) -> bool {
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

impl Link {
    fn closed() -> Self {
        Self { session: None, state: State::Closed, early: Vec::new() }
    }

    /// Takes `bytes` in and tells what they say; whether there is something to answer. A handshake that
    /// agreed on no protocol though it `must_agree` has failed.
    fn read(
        &mut self,
        mut bytes: &[u8],
        plain: &mut [u8],
        seen: &mut Seen,
        must_agree: bool,
        tell: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, Error> {
        let Some(session) = &mut self.session else { return Ok(false) };
        while !bytes.is_empty() {
            let taken = session.read_tls(&mut bytes);
            let state = session.process_new_packets()?;
            if taken.is_err() && state.plaintext_bytes_to_read() == 0 {
                return Err(Error::General("it sent more than a record may hold".into()));
            }
            while let Ok(read @ 1..) = session.reader().read(plain) {
                if self.state == State::Open {
                    tell(&plain[..read]);
                } else {
                    self.early.extend_from_slice(&plain[..read]);
                }
            }
            if state.peer_has_closed() {
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
        Ok(session.wants_write())
    }

    /// A handshake that goes on has failed.
    fn fail(&mut self, seen: &mut Seen) {
        if matches!(self.state, State::Shaking(_) | State::Ready) {
            seen.failed += 1;
            self.state = State::Failed;
        }
    }
}
