//! A connection on its way to be open, and greeted where its protocol greets; looked at without waiting.

use std::io;

use socket2::Socket;

use crate::transports::Reopen;
use crate::transports::hello::{Greeting, Talk};

/// A connection that is being opened: its connect, then what both sides say first.
pub struct Opening {
    socket: Socket,
    talk: Option<Talk>,
    is_connected: bool,
}

impl Opening {
    /// That of a `socket` which does not wait, and is connected or will be.
    pub(super) fn new(socket: Socket, greeting: &Greeting) -> Self {
        Self { socket, talk: greeting.begin(), is_connected: false }
    }

    /// How far it has come; never waits.
    pub fn progress(&mut self) -> Reopen {
        match self.go_on() {
            Ok(()) => Reopen::Open,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Reopen::Pending,
            Err(_) => Reopen::Refused,
        }
    }

    /// The same; an error of the kind `WouldBlock` means later.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        if !self.is_connected {
            if let Some(error) = self.socket.take_error()? {
                return Err(error);
            }
            self.is_connected = self.socket.peer_addr().is_ok();
            if !self.is_connected {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        self.talk.as_mut().map_or(Ok(()), |talk| talk.go_on(&self.socket))
    }

    /// Whether it is connected, so that only its greeting is waited for.
    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// What it waits for, as `poll(2)` has it.
    pub fn awaits(&self) -> libc::c_short {
        if self.is_connected { libc::POLLIN } else { libc::POLLOUT }
    }

    /// Its socket, which is not open yet.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The connection, when it is open.
    pub fn into_socket(self) -> Socket {
        self.socket
    }
}
