//! TLS around any transport: bytes are encrypted on their way out and decrypted on their way in.
//!
//! Handshakes are outside of every request's stopwatch: all connections have theirs before the run, and one
//! that is opened again is open when its handshake is over. Until then requests take other connections,
//! or wait for one, which is in their sojourn time. Sessions are resumed where the server allows it.
//! The library allocates for each record; its time is part of the client's CPU per request.
//!
//! A stream ends with the server's `close_notify`, whether TCP's end follows it or not: a server that closes
//! in both directions waits for ours first. TCP's end alone is no end in order, because anybody may have sent
//! it: what is read then is cut off, unless its length is known. Sources: RFC 8446, 6.1; RFC 9112, 9.8.

mod client;
mod faults;
#[cfg(fuzzing)]
pub mod fuzzed;
mod handshake;
#[cfg(any(test, fuzzing))]
pub mod known;
mod link;
mod pem;
mod seen;
mod trust;
mod unready;

use std::io::Write;
use std::time::Duration;

use rustls::Error;
use sojourn_base::Fault;

use link::{Link, State};
pub use seen::Seen;
pub use trust::Secure;

use super::{Ends, Event, Patience, Reopen, Transport, TransportKind};

/// How long a handshake may take, and all of them before the run.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// What a record adds to its bytes, at most, and how many bytes it has.
const RECORD_EXTRA: usize = 64;
const RECORD: usize = 16 * 1024;
/// Most bytes that the client sends at once in a handshake: a hello with a session ticket.
const HELLO_MAX: usize = 16 * 1024;
/// Messages of a handshake that may be on their way beside requests.
const EXTRA_DEPTH: u32 = 4;

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
    /// Connections with something to say to the server, those that it has ended, and those of no use any
    /// more.
    answers: Vec<u32>,
    ended: Vec<u32>,
    broken: Vec<u32>,
    /// Those that are open, of which what came early has not been reported.
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
    let (count, spares) = (ends.connections as usize, ends.spares as usize);
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
        ended: Vec::with_capacity(count),
        broken: Vec::with_capacity(count),
        early: Vec::with_capacity(count),
        seen: Seen::default(),
        error: None,
    };
    (0..count as u32).for_each(|connection| this.shake(connection));
    this.shake_all(place)?;
    this.wait_for_refusal(place)?;
    (0..count as u32).for_each(|connection| this.opened(connection));
    this.each.resize_with(count + spares, Link::closed);
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
            self.tell_early(connection, on);
        }
        let must_agree = self.secure.must_agree();
        let Self { inner, each, plain, answers, ended, broken, seen, error, secure, .. } = self;
        inner.poll(patience, &mut |event| match event {
            Event::Bytes(connection, bytes) => {
                let link = &mut each[connection as usize];
                let mut tell = |bytes: &[u8]| on(Event::Bytes(connection, bytes));
                match link.read(bytes, plain, seen, must_agree, &mut tell) {
                    Ok(has_more) => {
                        if has_more {
                            answers.push(connection);
                        }
                        if link.end(seen) {
                            ended.push(connection);
                            on(Event::Ended(connection));
                            on(Event::Closed(connection));
                        }
                    }
                    Err(wrong) => {
                        link.fail(seen);
                        seen.wrong(|| faults::words(&wrong, secure));
                        error.get_or_insert(wrong);
                        broken.push(connection);
                    }
                }
            }
            Event::Ended(connection) | Event::Torn(connection) => {
                let is_open = each[connection as usize].state == State::Open;
                if is_open && secure.ends_bodies() {
                    on(Event::Torn(connection));
                }
            }
            Event::Closed(connection) => {
                broken.retain(|&it| it != connection); // else it would end the next one
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
        while let Some(connection) = self.ended.pop() {
            self.close(connection);
        }
    }

    fn close(&mut self, connection: u32) {
        self.say_goodbye(connection);
        self.broken.retain(|&broken| broken != connection); // else it would end the next one
        self.inner.close(connection);
        let link = &mut self.each[connection as usize];
        link.session = None;
        link.early.clear();
        link.has_ended = false;
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
