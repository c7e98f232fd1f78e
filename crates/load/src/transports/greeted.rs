//! Greetings over a transport that has a handshake of its own first: the password goes through TLS.
//!
//! Over plain sockets a greeting is exchanged before the transport has them ([`super::sockets`]). Over TLS it can
//! only follow the handshake, so it is exchanged here: before the run on all connections, and on each that is
//! opened again before anybody may use it.

use std::time::{Duration, Instant};

use sojourn_base::Fault;

use super::{Event, Patience, Reopen, Transport, tls};
use crate::transports::hello::{Greeting, Hello, HelloState, Refusal};

/// How long a greeting may take; before the run, how long it may take until one more is over.
const GREET_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks before the run.
const LOOK_NS: u64 = 10_000_000;

enum State {
    /// It may be used.
    Open,
    /// Its greeting goes on since then.
    Talking(Box<dyn Hello>, Instant),
    /// Its greeting is over, which is not reported yet.
    Done,
    /// The server refused it, or went, which is not reported yet.
    Refused,
    Closed,
}

struct Greeted {
    inner: Box<dyn Transport>,
    greeting: Greeting,
    each: Vec<State>,
    /// What is to be sent after a poll.
    answers: Vec<(u32, Vec<u8>)>,
    /// Why the first of them was refused.
    why: Option<Refusal>,
}

/// Greets on all `count` connections of `inner`, which lead to `place`.
pub fn open(
    inner: Box<dyn Transport>,
    count: u32,
    greeting: Greeting,
    place: &str,
) -> Result<Box<dyn Transport>, Fault> {
    if greeting.hello().is_none() {
        return Ok(inner);
    }
    let each = (0..count).map(|_| State::Closed).collect();
    let mut this = Greeted { inner, greeting, each, answers: Vec::new(), why: None };
    (0..count).for_each(|connection| this.begin(connection));
    let (mut left, mut since) = (count as usize, Instant::now());
    while left > 0 {
        if this.each.iter().any(|state| matches!(state, State::Refused)) {
            let gone = || Refusal {
                what: "the server closed a connection in the greeting".into(),
                fix: "see the server's log".into(),
            };
            let why = this.why.unwrap_or_else(gone);
            return Err(Fault::failed(format!("{place}: {}", why.what), "target", why.fix));
        }
        if since.elapsed() > GREET_WITHIN {
            let what = format!("{place}: the server did not answer the greeting in time");
            return Err(Fault::failed(what, "target", "see whether the server hangs"));
        }
        this.poll(Patience::for_first(LOOK_NS), &mut |_| {});
        let undone = this.each.iter().filter(|state| !matches!(state, State::Done)).count();
        if undone < left {
            (left, since) = (undone, Instant::now());
        }
    }
    this.each.iter_mut().for_each(|state| *state = State::Open);
    Ok(Box::new(this))
}

impl Transport for Greeted {
    fn send(&mut self, connection: u32, bytes: &[u8]) {
        self.inner.send(connection, bytes);
    }

    fn poll(&mut self, patience: Patience, on: &mut dyn FnMut(Event<'_>)) {
        let Self { inner, each, answers, why, .. } = self;
        inner.poll(patience, &mut |event| {
            let at = event.connection();
            let state = &mut each[at as usize];
            if matches!(state, State::Open) {
                if matches!(event, Event::Closed(_)) {
                    *state = State::Closed;
                }
                on(event);
                return;
            }
            let (Event::Bytes(_, bytes), State::Talking(hello, _)) = (&event, &mut *state) else {
                if matches!(event, Event::Closed(_)) {
                    *state = State::Refused;
                }
                return;
            };
            let mut out = Vec::new();
            match hello.say(bytes, &mut out) {
                HelloState::More => {}
                HelloState::Done => *state = State::Done,
                HelloState::Refused => {
                    *why = why.take().or_else(|| hello.why());
                    *state = State::Refused;
                }
            }
            if !out.is_empty() {
                answers.push((at, out));
            }
        });
        while let Some((connection, bytes)) = self.answers.pop() {
            self.inner.send(connection, &bytes);
        }
    }

    fn close(&mut self, connection: u32) {
        self.inner.close(connection);
        self.each[connection as usize] = State::Closed;
    }

    fn reopen(&mut self, connection: u32) -> Reopen {
        match &self.each[connection as usize] {
            State::Open | State::Closed => match self.inner.reopen(connection) {
                Reopen::Open => {
                    self.begin(connection);
                    Reopen::Pending
                }
                other => other,
            },
            State::Talking(_, since) if since.elapsed() < GREET_WITHIN => Reopen::Pending,
            State::Done => {
                self.each[connection as usize] = State::Open;
                Reopen::Open
            }
            State::Talking(..) | State::Refused => {
                self.close(connection);
                Reopen::Refused
            }
        }
    }

    fn syscalls(&self) -> u64 {
        self.inner.syscalls()
    }

    fn tls(&self) -> Option<tls::Seen> {
        self.inner.tls()
    }
}

impl Greeted {
    /// Says the first words on a connection that is open.
    fn begin(&mut self, connection: u32) {
        let Some(mut hello) = self.greeting.hello() else { return };
        let mut out = Vec::new();
        let state = hello.say(&[], &mut out);
        self.inner.send(connection, &out);
        let talking = State::Talking(hello, Instant::now());
        self.each[connection as usize] =
            if state == HelloState::Done { State::Done } else { talking };
    }
}
