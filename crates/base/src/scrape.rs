//! Answers `GET /metrics` beside other work: one client at a time, each for half a second at most.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use crate::Fault;

const CLIENT: Duration = Duration::from_millis(500);
const HEAD_BYTES: usize = 8192;
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

    /// Answers until it is stopped; `answer` gets the head of each request.
    pub fn serve(self, answer: impl Fn(&str) -> Answer) {
        for client in self.0.incoming() {
            match client {
                Ok(client) => drop(attend(client, &answer)), // one that went away is no news
                Err(error) if is_passing(&error) => thread::sleep(Duration::from_millis(100)),
                Err(_) => return,
            }
        }
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

fn attend(mut client: TcpStream, answer: &impl Fn(&str) -> Answer) -> io::Result<()> {
    let until = Instant::now() + CLIENT;
    let head = head(&mut client, until)?;
    let line = head.lines().next().unwrap_or_default();
    let (method, path) = line.split_once(' ').unwrap_or((line, ""));
    let is_there = ["/metrics ", "/metrics?"].iter().any(|start| path.starts_with(start));
    let (status, Answer { kind, body }) = match method {
        "GET" | "HEAD" if is_there => ("200 OK", answer(&head)),
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
    let mut rest = &all[..];
    while !rest.is_empty() {
        client.set_write_timeout(Some(left(until)?))?; // of all writes together
        let n = client.write(rest)?;
        rest = &rest[n..];
    }
    Ok(())
}

fn plain(text: &str) -> Answer {
    Answer { kind: "text/plain", body: text.into() }
}

/// The head of a request; what is too long or too slow is an error.
fn head(client: &mut TcpStream, until: Instant) -> io::Result<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        client.set_read_timeout(Some(left(until)?))?;
        let n = client.read(&mut part)?;
        if n == 0 || head.len() + n > HEAD_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.extend(&part[..n]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str, request: &str) -> String {
        let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
        let mut client = TcpStream::connect(address).expect("it listens");
        client.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let _ = client.write_all(request.as_bytes()); // it closes on what it refuses
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn it_answers_until_it_is_stopped_and_outlives_nonsense() {
        let listener = Listener::open("0").expect("a free port");
        let (url, stopper) = (listener.url(), listener.stopper());
        assert!(url.starts_with("http://127.0.0.1:"), "a port alone is on loopback: {url}");
        let answer = |head: &str| Answer { kind: TEXT, body: format!("{}\n", head.len()).into() };
        thread::scope(|scope| {
            scope.spawn(|| listener.serve(answer));
            let right = asked(&url, "GET /metrics HTTP/1.1\r\n\r\n");
            assert!(
                right.contains("openmetrics-text") && right.ends_with("\r\n\r\n25\n"),
                "{right}"
            );
            let bare = asked(&url, "HEAD /metrics HTTP/1.1\r\n\r\n");
            assert!(bare.starts_with("HTTP/1.1 200") && bare.ends_with("close\r\n\r\n"), "{bare}");
            assert!(asked(&url, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
            assert!(asked(&url, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
            assert!(asked(&url, &"x".repeat(HEAD_BYTES + 1)).is_empty(), "an endless head");
            assert!(asked(&url, "GET /metrics?x HTTP/1.1\r\n\r\n").ends_with("27\n"));
            drop(stopper);
        });
    }

    /// Without a limit for all writes together, who reads slowly would hold up the end of a run.
    #[test]
    fn a_client_that_reads_nothing_is_left() {
        let listener = Listener::open("0").expect("a free port");
        let (url, stopper) = (listener.url(), listener.stopper());
        let large = |_: &str| Answer { kind: TEXT, body: vec![b'x'; 64 << 20] };
        let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
        let mut silent = TcpStream::connect(address).expect("it listens");
        silent.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it takes a request");
        thread::scope(|scope| {
            scope.spawn(|| listener.serve(large));
            assert!(asked(&url, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
            drop(stopper);
        });
        drop(silent);
    }

    #[test]
    fn what_is_no_address_and_a_port_in_use_are_refused() {
        for wrong in ["", "x", "x:y", "70000", "10.0.0.5", "host:80"] {
            let fault = Listener::open(wrong).expect_err("no address");
            assert_eq!((fault.exit, fault.at.as_str()), (2, "--listen"), "{wrong}");
        }
        let first = Listener::open(":0").expect("a free port");
        assert!(
            Listener::open("[::1]:0").map_or(true, |one| one.url().starts_with("http://[::1]:"))
        );
        let port = first.0.local_addr().expect("bound").port();
        let fault = Listener::open(&port.to_string()).expect_err("in use");
        assert_eq!((fault.exit, fault.at.as_str()), (4, "--listen"));
    }
}
