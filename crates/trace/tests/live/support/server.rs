//! A server of ours in a process of its own, which ends with the test.

use std::io::{self, BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::child::Held;

pub struct Server {
    child: Held,
    port: u16,
}

impl Server {
    /// Starts `program` of the build's folder; `port_of` reads the port in its first line.
    pub fn start(program: &str, words: &[&str], port_of: impl FnOnce(&str) -> u16) -> Self {
        let path = std::env::current_exe().unwrap();
        let path = path.parent().unwrap().parent().unwrap().join(program);
        assert!(path.exists(), "build it first: make build, cargo build --examples ({program})");
        Self::start_at(&path, words, port_of)
    }

    /// The same of a program by its path.
    pub fn start_at(path: &Path, words: &[&str], port_of: impl FnOnce(&str) -> u16) -> Self {
        let mut child = Held::start(Command::new(path).args(words).stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(child.child().stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: port_of(&line) }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it; returns when all of its threads have stopped.
    pub fn stop(&self) {
        self.signal(libc::SIGSTOP);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.is_stopped() {
            assert!(Instant::now() < deadline, "it does not stop");
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn go_on(&self) {
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a child of ours that has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    fn is_stopped(&self) -> bool {
        let state = |task: io::Result<fs::DirEntry>| {
            let stat = fs::read_to_string(task.unwrap().path().join("stat")).unwrap();
            stat[stat.rfind(')').unwrap() + 2..].chars().next()
        };
        let mut tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        tasks.all(|task| state(task) == Some('T'))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }
}
