//! What is sent when a connection opens, before the first request: a start-up packet, a password.
//!
//! Most protocols say nothing. One that does gives a [`Hello`] for each connection; it is held before
//! the run begins, and again on every connection that is replaced while it goes on, without waiting.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// How far a greeting has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelloState {
    /// The server has more to say.
    More,
    /// Requests may follow.
    Done,
    /// The server does not want us, or speaks another protocol.
    Refused,
}

/// The greeting of one connection. No sockets, no clocks.
pub trait Hello: Send {
    /// Takes in what the server sent since, nothing at first, and appends what is to be sent.
    fn say(&mut self, heard: &[u8], out: &mut Vec<u8>) -> HelloState;
    /// Why it was refused, and how to fix it; `None`: nothing particular.
    fn why(&self) -> Option<Refusal> {
        None
    }
}

/// Why a greeting was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What the server answered, or lacks.
    pub what: String,
    /// How to fix it.
    pub fix: String,
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Refusal {}

type Begin = dyn Fn() -> Box<dyn Hello> + Send + Sync;

/// How each connection of a protocol begins; the default is to say nothing.
#[derive(Clone, Default)]
pub struct Greeting(Option<Arc<Begin>>);

impl Greeting {
    /// `begin` makes the greeting of a connection.
    pub fn new(begin: impl Fn() -> Box<dyn Hello> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(begin)))
    }

    /// That of one connection; `None`: requests may follow at once.
    pub(crate) fn hello(&self) -> Option<Box<dyn Hello>> {
        self.0.as_ref().map(|begin| begin())
    }

    /// The same as a talk on a socket.
    pub(crate) fn begin(&self) -> Option<Talk> {
        Some(Talk { hello: self.hello()?, out: Vec::new(), state: None })
    }
}

impl Debug for Greeting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a greeting" } else { "none" })
    }
}

/// A greeting under way.
pub(crate) struct Talk {
    hello: Box<dyn Hello>,
    out: Vec<u8>,
    /// What it came to last; `None`: it has not begun.
    state: Option<HelloState>,
}

impl Talk {
    /// Goes on as far as `socket` lets it; an error of the kind `WouldBlock` means later.
    pub(crate) fn go_on(&mut self, mut socket: impl Read + Write) -> io::Result<()> {
        let mut bytes = [0; 4096];
        let mut state = match self.state {
            None => self.hello.say(&[], &mut self.out),
            Some(state) => state,
        };
        loop {
            self.state = Some(state);
            while !self.out.is_empty() {
                let sent = uninterrupted(|| socket.write(&self.out))?;
                self.out.drain(..sent);
            }
            match state {
                HelloState::Done => return Ok(()),
                HelloState::Refused => return Err(self.refused()),
                HelloState::More => {}
            }
            let read = uninterrupted(|| socket.read(&mut bytes))?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            state = self.hello.say(&bytes[..read], &mut self.out);
        }
    }

    /// An error of the kind `PermissionDenied`, with the [`Refusal`] in it if there is one.
    fn refused(&self) -> io::Error {
        let kind = io::ErrorKind::PermissionDenied;
        self.hello.why().map_or(kind.into(), |why| io::Error::new(kind, why))
    }
}

/// Calls `call` again while a signal interrupts it: also a stop of this process does, where the socket has a
/// time limit (signal(7), "Interruption of system calls by stop signals").
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::{Hello, HelloState};

    /// Is never content.
    pub(crate) struct Patient;

    impl Hello for Patient {
        fn say(&mut self, _: &[u8], _: &mut Vec<u8>) -> HelloState {
            HelloState::More
        }
    }
}
