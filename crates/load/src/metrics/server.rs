//! Answers `GET /metrics` while a run goes on: one client at a time, each for half a second at most.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use sojourn_base::Fault;

use super::{Seen, protobuf, text};

const CLIENT: Duration = Duration::from_millis(500);
const HEAD_BYTES: usize = 8192;

/// A port that is open and not yet answered.
#[derive(Debug)]
pub struct Listener(TcpListener);

/// Ends the answering from another thread.
#[derive(Debug)]
pub struct Stopper(TcpListener);

impl Listener {
    /// Opens `9464`, `:9464` or `ADDRESS:PORT`; without an address it is 127.0.0.1.
    pub fn open(text: &str) -> Result<Self, Fault> {
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let host = if host.is_empty() { "127.0.0.1" } else { host };
        let address: SocketAddr = format!("{host}:{port}").parse().map_err(|_| {
            let what = format!("'{text}' is no address");
            Fault::usage(what, "--listen", "ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464")
        })?;
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

    /// Answers until it is stopped.
    pub fn serve(self, seen: impl Fn() -> Seen) {
        for client in self.0.incoming() {
            match client {
                Ok(client) => drop(answer(client, &seen)), // one that went away is no news
                Err(error) if is_passing(&error) => std::thread::sleep(Duration::from_millis(100)),
                Err(_) => return,
            }
        }
    }
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

fn answer(mut client: TcpStream, seen: &impl Fn() -> Seen) -> io::Result<()> {
    let until = Instant::now() + CLIENT;
    let head = head(&mut client, until)?;
    let is_there = ["GET /metrics ", "GET /metrics?"].iter().any(|start| head.starts_with(start));
    let (status, kind, body) = if !is_there {
        ("404 Not Found", "text/plain", b"see /metrics\n".to_vec())
    } else if is_native(&head) {
        ("200 OK", protobuf::KIND, protobuf::body(&seen()))
    } else {
        ("200 OK", text::KIND, text::body(&seen()))
    };
    let length = body.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    answer.extend(body);
    client.set_write_timeout(Some(left(until)?))?;
    client.write_all(&answer)
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

/// Whether the client asks for Prometheus' messages; it does where native histograms are on.
fn is_native(head: &str) -> bool {
    head.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("accept:") && line.contains("application/vnd.google.protobuf")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str, request: &str) -> String {
        let address = url.trim_start_matches("http://").trim_end_matches("/metrics");
        let mut client = TcpStream::connect(address).expect("it listens");
        let _ = client.write_all(request.as_bytes()); // it closes on what it refuses
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn it_answers_in_the_form_that_is_asked_for_until_it_is_stopped() {
        let listener = Listener::open("0").expect("a free port");
        let (url, stopper) = (listener.url(), listener.stopper());
        let seen = || Seen { sent: 7, times: vec![0; super::super::LEN], ..Seen::default() };
        std::thread::scope(|scope| {
            scope.spawn(|| listener.serve(seen));
            let plain = asked(&url, "GET /metrics HTTP/1.1\r\n\r\n");
            assert!(plain.contains("openmetrics-text") && plain.ends_with("# EOF\n"), "{plain}");
            assert!(plain.contains("sojourn_load_sent_total 7\n"), "{plain}");
            let accept = "Accept: application/vnd.google.protobuf;proto=x;q=0.7,text/plain";
            let native = asked(&url, &format!("GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n"));
            assert!(native.contains("encoding=delimited"), "{native}");
            assert!(asked(&url, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
            assert!(asked(&url, &"x".repeat(HEAD_BYTES + 1)).is_empty(), "an endless head");
            drop(stopper);
        });
    }

    #[test]
    fn what_is_no_address_and_a_port_in_use_are_refused() {
        assert_eq!(Listener::open("x:y").expect_err("no address").exit, 2);
        let first = Listener::open(":0").expect("a free port");
        let port = first.0.local_addr().expect("bound").port();
        let fault = Listener::open(&port.to_string()).expect_err("in use");
        assert_eq!((fault.exit, fault.at.as_str()), (4, "--listen"));
    }
}
