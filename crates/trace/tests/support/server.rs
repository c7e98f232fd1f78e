//! A server of ours in a process of its own, which ends with the test.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts `program` of the build's folder; `port_of` reads the port in its first line.
    pub fn start(program: &str, words: &[&str], port_of: impl FnOnce(&str) -> u16) -> Self {
        let path = std::env::current_exe().unwrap();
        let path = path.parent().unwrap().parent().unwrap().join(program);
        assert!(path.exists(), "build it first: make build, cargo build --examples ({program})");
        let mut child = Command::new(path).args(words).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: port_of(&line) }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
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
