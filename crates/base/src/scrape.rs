//! Answers `GET /metrics` beside other work, on one thread that waits for all clients together.
//!
//! Few may be connected, each for half a second at most. One that is too many ends the oldest: who
//! says nothing keeps no other waiting.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::thread;
use std::time::{Duration, Instant};

use crate::Fault;

const CLIENT: Duration = Duration::from_millis(500);
/// Connected at a time.
const CLIENTS_MAX: usize = 8;
const HEAD_BYTES: usize = 8192;
/// Ends the head of a request.
const END: &[u8] = b"\r\n\r\n";
/// Before the next try, where the machine lacks something.
const PAUSE: Duration = Duration::from_millis(100);
/// The content type of `OpenMetrics`.
pub const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a client gets: bytes, and what they are called in the head.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its content type.
    pub kind: &'static str,
    /// Its bytes.
    pub body: Vec<u8>,
}

/// A port that is open and not yet answered.
#[derive(Debug)]
pub struct Listener(TcpListener);

/// Ends the answering from another thread.
#[derive(Debug)]
pub struct Stopper(TcpListener);

impl Listener {
    /// Opens the port that [`address`] reads from `text`.
    pub fn open(text: &str) -> Result<Self, Fault> {
        let address = address(text)?;
        let listener = TcpListener::bind(address).map_err(|error| {
            let what = format!("metrics cannot be offered at {address}: {error}");
            Fault::failed(what, "--listen", "name another port, or 0 for any free one")
        })?;
        Ok(Self(listener))
    }

    /// Where it answers, with the port that it got.
    pub fn url(&self) -> String {
        self.0.local_addr().map_or_else(|_| String::new(), |at| format!("http://{at}/metrics"))
    }

    /// What ends [`Self::serve`]; none: the process has no descriptor left.
    pub fn stopper(&self) -> Option<Stopper> {
        self.0.try_clone().ok().map(Stopper)
    }

    /// Answers until it is stopped; `answer` gets the head of each request. Who has asked by then
    /// still has its time to read.
    pub fn serve(self, answer: impl Fn(&str) -> Answer) {
        let mut clients: Vec<Client> = Vec::with_capacity(CLIENTS_MAX);
        let mut is_open = self.0.set_nonblocking(true).is_ok();
        while is_open || !clients.is_empty() {
            wait(is_open.then_some(&self.0), &clients);
            clients.retain_mut(|client| client.goes_on(&answer));
            if is_open {
                is_open = self.admit(&mut clients, &answer);
            }
            if !is_open {
                clients.retain(|client| !client.reply.is_empty());
            }
        }
    }

    /// Takes one more client, if one waits; the oldest goes if it is too many. Whether others may
    /// come.
    fn admit(&self, clients: &mut Vec<Client>, answer: &impl Fn(&str) -> Answer) -> bool {
        let stream = match self.0.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_waiting(&error) => return true,
            Err(error) if is_passing(&error) => {
                thread::sleep(PAUSE);
                return true;
            }
            Err(_) => return false,
        };
        let Ok(mut client) = Client::new(stream) else { return true };
        if matches!(client.advance(answer), Ok(false)) {
            if clients.len() >= CLIENTS_MAX {
                clients.remove(0);
            }
            clients.push(client);
        }
        true
    }
}

/// Reads `9464`, `:9464` or `ADDRESS:PORT`; without an address it is 127.0.0.1.
pub fn address(text: &str) -> Result<SocketAddr, Fault> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    format!("{host}:{port}").parse().map_err(|_| {
        let what = format!("'{text}' is no address");
        Fault::usage(what, "--listen", "ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464")
    })
}

/// Whether the next client may have more luck.
fn is_passing(error: &io::Error) -> bool {
    let passing =
        [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::ENOBUFS, libc::EINTR, libc::ECONNABORTED];
    error.raw_os_error().is_some_and(|code| passing.contains(&code))
}

impl Drop for Stopper {
    fn drop(&mut self) {
        // SAFETY: the descriptor is open as long as `self` is; a listening socket that is shut down
        // wakes who waits for its clients.
        unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

/// One that is connected, and how far it is.
#[derive(Debug)]
struct Client {
    stream: TcpStream,
    /// For all of it, not for each byte.
    until: Instant,
    head: Vec<u8>,
    /// Empty: its request is not whole yet.
    reply: Vec<u8>,
    sent: usize,
}

impl Client {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let until = Instant::now() + CLIENT;
        Ok(Self { stream, until, head: Vec::new(), reply: Vec::new(), sent: 0 })
    }

    /// Does what can be done without waiting; whether more is to come, and there is time for it.
    fn goes_on(&mut self, answer: &impl Fn(&str) -> Answer) -> bool {
        // One that went away is no news.
        matches!(self.advance(answer), Ok(false)) && Instant::now() < self.until
    }

    /// Whether it is answered.
    fn advance(&mut self, answer: &impl Fn(&str) -> Answer) -> io::Result<bool> {
        if self.reply.is_empty() {
            if !self.has_asked()? {
                return Ok(false);
            }
            self.reply = reply(&String::from_utf8_lossy(&self.head), answer);
        }
        while self.sent < self.reply.len() {
            match self.stream.write(&self.reply[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.sent += n,
                Err(error) if is_waiting(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Whether the head of its request is whole; one that ends or is too long is an error.
    fn has_asked(&mut self) -> io::Result<bool> {
        let mut part = [0; 1024];
        loop {
            let n = match self.stream.read(&mut part) {
                Ok(n) => n,
                Err(error) if is_waiting(&error) => return Ok(false),
                Err(error) => return Err(error),
            };
            if n == 0 || self.head.len() + n > HEAD_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let seen = self.head.len().saturating_sub(END.len() - 1); // an end may be in two parts
            self.head.extend(&part[..n]);
            if self.head[seen..].windows(END.len()).any(|end| end == END) {
                return Ok(true);
            }
        }
    }

    /// What it waits for.
    fn watched(&self) -> libc::pollfd {
        let events = if self.reply.is_empty() { libc::POLLIN } else { libc::POLLOUT };
        watched(self.stream.as_raw_fd(), events)
    }
}

/// Waits until a client comes or can go on, or until the time of one is over.
fn wait(listener: Option<&TcpListener>, clients: &[Client]) {
    let port = listener.map(|listener| watched(listener.as_raw_fd(), libc::POLLIN));
    let mut all: Vec<_> = port.into_iter().chain(clients.iter().map(Client::watched)).collect();
    let first = clients.iter().map(|client| client.until).min();
    let left = first.map(|until| until.saturating_duration_since(Instant::now()));
    let wait_ms = left.map_or(-1, |left| left.as_millis() as libc::c_int + 1); // rounded up
    // SAFETY: as many entries as it says, which outlive the call; `clients` and `listener`, which
    // are borrowed, keep the descriptors open.
    let ready = unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, wait_ms) };
    if ready < 0 {
        thread::sleep(PAUSE);
    }
}

fn watched(fd: RawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

/// Whether nothing is wrong: it is only not ready yet.
fn is_waiting(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// All bytes that answer a request with this head.
fn reply(head: &str, answer: &impl Fn(&str) -> Answer) -> Vec<u8> {
    let line = head.lines().next().unwrap_or_default();
    let (method, path) = line.split_once(' ').unwrap_or((line, ""));
    let is_there = ["/metrics ", "/metrics?"].iter().any(|start| path.starts_with(start));
    let (status, Answer { kind, body }) = match method {
        "GET" | "HEAD" if is_there => ("200 OK", answer(head)),
        "GET" | "HEAD" => ("404 Not Found", plain("see /metrics\n")),
        _ => ("405 Method Not Allowed", plain("only GET and HEAD\n")),
    };
    let mut all = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    if method != "HEAD" {
        all.extend(body);
    }
    all
}

fn plain(text: &str) -> Answer {
    Answer { kind: "text/plain", body: text.into() }
}

#[cfg(test)]
mod tests;
