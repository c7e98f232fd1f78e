//! One client's connection: bytes read and not yet understood, replies that may not leave yet.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::TcpStream;

use crate::arrival::{self, Received};
use crate::protocols::{Parse, Parsed, REPLY_MAX, Work};
use crate::store::Store;

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// What has become of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It goes on.
    Open,
    /// It goes on, and there are replies that the socket does not take yet.
    Full,
    /// It is over.
    Closed,
}

/// What the bytes read hold next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A whole request.
    Request {
        /// What it asks.
        work: Work,
        /// Whether there is a reply to it.
        has_reply: bool,
    },
    /// No whole request.
    More,
    /// The client says goodbye, cannot be understood, or takes no replies.
    Broken,
}

/// One connection. Replies wait in `out`; those allowed to leave are its first `allowed` bytes.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    /// Bytes of `input` already understood.
    parsed: usize,
    out: Vec<u8>,
    /// Lengths of the replies in `out` that may not leave yet.
    waiting: VecDeque<usize>,
    allowed: usize,
    sent: usize,
    /// When the last reply admitted leaves: later ones must not overtake it, ns.
    pub last_leave_ns: u64,
    /// Whether the socket was full at the last write.
    pub is_full: bool,
}

impl Connection {
    /// Takes over a stream, which must not block.
    pub fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            input: Vec::new(),
            parsed: 0,
            out: Vec::new(),
            waiting: VecDeque::new(),
            allowed: 0,
            sent: 0,
            last_leave_ns: 0,
            is_full: false,
        }
    }

    /// The stream, for the poller.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Reads once what has come; and when it came, ns of the monotonic clock, if the kernel says.
    pub fn read(&mut self) -> (State, Option<u64>) {
        let end = self.input.len();
        self.input.resize(end + CHUNK, 0);
        let read = arrival::receive(&self.stream, &mut self.input[end..]);
        self.input.truncate(end + read.as_ref().map_or(0, |received| received.bytes));
        match read {
            Ok(Received { bytes: 0, .. }) => (State::Closed, None),
            Ok(Received { at_ns, .. }) => (State::Open, at_ns),
            Err(error) if is_for_now(&error) => (State::Open, None),
            Err(_) => (State::Closed, None),
        }
    }

    /// Takes the next request out of what was read. Its reply waits for [`Self::allow_next`].
    pub fn next_request(&mut self, parse: Parse, store: &mut Store) -> Next {
        let before = self.out.len();
        match parse(&self.input[self.parsed..], store, &mut self.out) {
            Parsed::Request { used, work } => {
                self.parsed += used;
                let length = self.out.len() - before;
                if length > 0 {
                    self.waiting.push_back(length);
                }
                if self.out.len() - self.sent > REPLY_MAX {
                    return Next::Broken;
                }
                Next::Request { work, has_reply: length > 0 }
            }
            Parsed::More => {
                self.input.drain(..self.parsed);
                self.parsed = 0;
                Next::More
            }
            Parsed::Close => Next::Broken,
        }
    }

    /// The oldest reply that waits may leave now.
    pub fn allow_next(&mut self) -> State {
        self.allowed += self.waiting.pop_front().unwrap_or(0);
        self.flush()
    }

    /// Sends what may leave, as far as the socket takes it.
    pub fn flush(&mut self) -> State {
        let state = self.send_allowed();
        if self.sent == self.out.len() {
            self.out.clear();
            (self.sent, self.allowed) = (0, 0);
        } else if self.sent > CHUNK && self.sent > self.out.len() / 2 {
            // Of a client that always has another request on its way the rest is never empty.
            self.out.drain(..self.sent);
            self.allowed -= self.sent;
            self.sent = 0;
        }
        state
    }

    fn send_allowed(&mut self) -> State {
        while self.sent < self.allowed {
            match self.stream.write(&self.out[self.sent..self.allowed]) {
                Ok(0) => return State::Closed,
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return State::Full,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return State::Closed,
            }
        }
        State::Open
    }
}

fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
    use crate::protocols;

    fn pair() -> (TcpStream, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, Connection::new(server))
    }

    #[test]
    fn replies_leave_one_by_one_and_only_when_allowed() {
        let (mut client, mut connection) = pair();
        let parse = protocols::find("memcache").unwrap().parse;
        let mut store = Store::default();
        client.write_all(b"version\r\nget a\r\nget").unwrap();
        while connection.input.len() < 19 {
            assert_eq!(connection.read().0, State::Open);
        }
        let mut works = Vec::new();
        while let Next::Request { work, .. } = connection.next_request(parse, &mut store) {
            works.push(work);
        }
        assert_eq!(works, [Work::Admin, Work::Read]);
        assert_eq!(connection.allow_next(), State::Open);
        let mut seen = [0; 64];
        let read = client.read(&mut seen).unwrap();
        assert_eq!(&seen[..read], b"VERSION sojourn\r\n");
        assert_eq!(connection.allow_next(), State::Open);
        let read = client.read(&mut seen).unwrap();
        assert_eq!(&seen[..read], b"END\r\n");
        assert!(connection.out.is_empty() && connection.input == b"get");
    }

    #[test]
    fn what_was_sent_is_forgotten_though_another_reply_always_waits() {
        let (mut client, mut connection) = pair();
        let parse = protocols::find("memcache").unwrap().parse;
        let mut store = Store::default();
        assert!(store.set(b"a", 0, &[b'v'; 16_384]));
        let mut reply = vec![0; "VALUE a 0 16384\r\n\r\nEND\r\n".len() + 16_384];
        for round in 0..100 {
            client.write_all(b"get a\r\n").unwrap();
            while !matches!(connection.next_request(parse, &mut store), Next::Request { .. }) {
                assert_eq!(connection.read().0, State::Open);
            }
            if round > 0 {
                assert_eq!(connection.allow_next(), State::Open);
                client.read_exact(&mut reply).unwrap();
            }
            assert!(connection.out.len() <= 3 * CHUNK, "{round}: {}", connection.out.len());
        }
        assert!(reply.starts_with(b"VALUE a 0 16384\r\nv") && reply.ends_with(b"v\r\nEND\r\n"));
    }

    #[test]
    fn a_client_that_leaves_is_noticed() {
        let (client, mut connection) = pair();
        drop(client);
        assert_eq!(connection.read().0, State::Closed);
    }
}
