//! `examples/echo.rs` in a process of its own, and what it is asked for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Server {
    pub child: Child,
    pub port: u16,
}

impl Server {
    pub fn start(words: &[&str]) -> Self {
        let path = std::env::current_exe().unwrap();
        let path = path.parent().unwrap().parent().unwrap().join("examples/echo");
        let mut child = Command::new(path).args(words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `examples/echo.rs` is asked for.
#[derive(Clone, Copy, Default)]
pub struct Ask {
    pub app_us: u32,
    pub next_us: u32,
    pub reply_bytes: u32,
    pub writes: u32,
}

impl Ask {
    pub fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (at, word) in
            [(8, self.app_us), (12, self.next_us), (16, self.reply_bytes.max(1)), (20, self.writes)]
        {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
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
