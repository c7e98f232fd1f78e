//! `examples/echo.rs`, and what it is asked for.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::server::Server;

/// Starts it; its first line is its port.
pub fn start(words: &[&str]) -> Server {
    Server::start("examples/echo", words, |line| line.trim().parse().unwrap())
}

/// What `examples/echo.rs` is asked for.
#[derive(Clone, Copy, Default)]
pub struct Ask {
    pub app_us: u32,
    pub next_us: u32,
    pub reply_bytes: u32,
    pub writes: u32,
    pub after_us: u32,
}

impl Ask {
    pub fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (at, word) in [
            (8, self.app_us),
            (12, self.next_us),
            (16, self.reply_bytes.max(1)),
            (20, self.writes),
            (24, self.after_us),
        ] {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// One that is read and gets no reply.
    pub fn without_reply() -> [u8; 32] {
        let mut bytes = Self::default().bytes();
        bytes[16..20].fill(0);
        bytes
    }

    pub fn send(self, stream: &mut TcpStream) {
        stream.write_all(&self.bytes()).unwrap();
    }

    pub fn receive(self, stream: &mut TcpStream) {
        stream.read_exact(&mut vec![0; self.reply_bytes.max(1) as usize]).unwrap();
    }

    pub fn call(self, stream: &mut TcpStream) {
        self.send(stream);
        self.receive(stream);
    }
}
