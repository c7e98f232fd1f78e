//! A connection on its way to be open, and greeted where its protocol greets; looked at without waiting.

use std::io::{self, Read, Write};

use socket2::Socket;

use crate::transports::Reopen;
use crate::transports::hello::{Greeting, Talk};

/// Reads of a greeting per look: who talks on and on must not hold the loop that looks.
const READS: u32 = 16;

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
        self.talk
            .as_mut()
            .map_or(Ok(()), |talk| talk.go_on(Portion { socket: &self.socket, left: READS }))
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

/// A socket of which so many reads are `left` until another look.
struct Portion<'a> {
    socket: &'a Socket,
    left: u32,
}

impl Read for Portion<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
        (&mut &*self.socket).read(bytes)
    }
}

impl Write for Portion<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&mut &*self.socket).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Type};

    use super::*;
    use crate::transports::hello::testing::Patient;

    #[test]
    fn a_server_that_says_much_is_heard_in_several_looks() {
        let (ours, mut server) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        ours.set_nonblocking(true).unwrap();
        server.write_all(&vec![b'N'; 128 * 1024]).unwrap(); // what a socket takes while no one reads
        drop(server);
        let mut opening = Opening::new(ours, &Greeting::new(|| Box::new(Patient)));
        assert_eq!(opening.progress(), Reopen::Pending, "the rest is for later");
        let looks = (0..100).take_while(|_| opening.progress() == Reopen::Pending).count();
        assert!((1..100).contains(&looks), "{looks} looks until its end");
    }
}
