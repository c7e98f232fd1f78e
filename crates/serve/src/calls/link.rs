//! One connection to the other service: calls that leave in order, replies that are counted.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::poller::Poller;

/// What a call asks: a key that no store has, so that its reply is short.
const ASK: &[u8] = b"get sojourn-call\r\n";
/// The reply.
const REPLY: &[u8] = b"END";
/// Of a line of a reply, bytes.
const LINE_MAX: usize = 1024;
/// Calls of one connection that may wait.
const WAITING_MAX: u64 = 100_000;

/// One connection to the other service.
#[derive(Debug)]
pub struct Link {
    /// No other connection has this number.
    pub id: u64,
    stream: TcpStream,
    /// Of the poller.
    token: u64,
    is_waiting_to_write: bool,
    out: Vec<u8>,
    input: Vec<u8>,
    /// Calls so far.
    pub sent: u64,
    /// Replies so far.
    pub answered: u64,
}

impl Link {
    /// Begins to connect, without waiting; `token` is what the poller knows it by.
    pub fn open(id: u64, to: SocketAddr, token: u64, poller: &Poller) -> io::Result<Self> {
        let stream = connecting(to)?;
        poller.add(&stream, token)?;
        poller.want_write(&stream, token, true)?;
        let (out, input) = Default::default();
        Ok(Self { id, stream, token, is_waiting_to_write: true, out, input, sent: 0, answered: 0 })
    }

    /// Sends one call, or lets it wait for room.
    pub fn ask(&mut self, poller: &Poller) -> io::Result<()> {
        if self.sent - self.answered >= WAITING_MAX {
            return Err(ErrorKind::OutOfMemory.into());
        }
        self.out.extend_from_slice(ASK);
        self.sent += 1;
        if self.is_waiting_to_write { Ok(()) } else { self.flush(poller) }
    }

    /// Sends what waits, as far as the socket takes it.
    pub fn flush(&mut self, poller: &Poller) -> io::Result<()> {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.out.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let is_left = !self.out.is_empty();
        if is_left != self.is_waiting_to_write {
            self.is_waiting_to_write = is_left;
            poller.want_write(&self.stream, self.token, is_left)?;
        }
        Ok(())
    }

    /// Reads once, and answers how many whole replies came.
    pub fn read(&mut self) -> io::Result<u64> {
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.input.extend_from_slice(&chunk[..length]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        let replies = replies(&mut self.input)?;
        self.answered += replies;
        if self.answered > self.sent {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(replies)
    }
}

/// Takes whole replies out of `input`.
fn replies(input: &mut Vec<u8>) -> io::Result<u64> {
    let (mut from, mut count) = (0, 0);
    while let Some(length) = input[from..].windows(2).position(|pair| pair == b"\r\n") {
        if &input[from..from + length] != REPLY {
            return Err(ErrorKind::InvalidData.into());
        }
        from += length + 2;
        count += 1;
    }
    input.drain(..from);
    if input.len() > LINE_MAX { Err(ErrorKind::InvalidData.into()) } else { Ok(count) }
}

/// A socket that begins to connect.
fn connecting(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let made = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&made, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(made);
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_counted_in_any_split_and_all_else_is_an_error() {
        let mut input = b"END\r\nEND\r\nEN".to_vec();
        assert_eq!(replies(&mut input).unwrap(), 2);
        input.extend_from_slice(b"D\r");
        assert_eq!(replies(&mut input).unwrap(), 0);
        input.push(b'\n');
        assert_eq!((replies(&mut input).unwrap(), input.len()), (1, 0));
        for wrong in [&b"ERROR\r\n"[..], b"VALUE x 0 1\r\n", b"\r\n", &[b'x'; 2 * LINE_MAX]] {
            assert!(replies(&mut wrong.to_vec()).is_err(), "{wrong:?}");
        }
    }
}
