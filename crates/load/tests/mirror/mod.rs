//! A web server that answers each request with the request itself, over whatever stream it is given.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_load::job::Job;

/// Answers `most` requests, calling `before` before each reply, and ends.
pub fn mirror(mut stream: impl Read + Write, most: u64, before: impl Fn()) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    for _ in 0..most {
        let end = loop {
            if let Some(end) = end_of_request(&bytes) {
                break end;
            }
            match stream.read(&mut buffer) {
                Ok(read @ 1..) => bytes.extend_from_slice(&buffer[..read]),
                _ => return,
            }
        };
        before();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {end}\r\n\r\n");
        let reply = [head.as_bytes(), &bytes[..end]].concat();
        if stream.write_all(&reply).and_then(|()| stream.flush()).is_err() {
            return;
        }
        bytes.drain(..end);
    }
}

/// Where the first request in `bytes` ends, if it is whole.
fn end_of_request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap().to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let end = head + length.map_or(0, |length| length.parse::<usize>().unwrap());
    (end <= bytes.len()).then_some(end)
}

/// Hands each connection to `serve` on a thread of its own; its port. Ends with the process.
pub fn listen(serve: impl Fn(std::net::TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = std::sync::Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = std::sync::Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    port
}

/// A mirror on a unix socket that closes each connection after `most` replies.
pub fn listen_unix(path: &Path, most: u64) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || mirror(stream, most, || ()));
        }
    });
}

/// 500 requests a second on four connections to `target`, for 0.6 s.
pub fn job(target: String, transport: &str) -> Job {
    Job {
        target,
        rate: "500".into(),
        duration: "600ms".into(),
        warmup: "100ms".into(),
        drain: "3s".into(),
        connections: 4,
        wait: "sleep".into(),
        transport: transport.into(),
        seed: 7,
        ..Job::default()
    }
}

/// A folder of its own that is gone when it is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let nth = NEXT.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("sjl-{}-{nth}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Says that this test looks at nothing, past the test runner, which hides what passing tests print.
pub fn skipped(why: &str) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().write_all(format!("skipped: {name}: {why}\n").as_bytes());
}

/// A program that is ended when it is dropped.
pub struct Program {
    child: Child,
    /// It has children, which it ends if it is asked to.
    has_children: bool,
}

impl Program {
    /// Starts it and waits until it listens on the unix socket `path`; `None`: there is no such program.
    pub fn start(command: &mut Command, path: &Path) -> Option<Self> {
        let name = command.get_program().to_owned();
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(child) = quiet.spawn() else {
            skipped(&format!("{} is not installed", name.display()));
            return None;
        };
        let this = Self { child, has_children: false };
        let deadline = Instant::now() + Duration::from_secs(30);
        while std::os::unix::net::UnixStream::connect(path).is_err() {
            assert!(Instant::now() < deadline, "{} does not listen", name.display());
            thread::sleep(Duration::from_millis(10));
        }
        Some(this)
    }
}

impl Program {
    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The same, but that it is asked to end before it is ended: it has children.
    pub fn with_children(mut self) -> Self {
        self.has_children = true;
        self
    }

    fn ask_to_end(&mut self) {
        let _ = Command::new("kill").arg(self.pid().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.has_children {
            self.ask_to_end();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
