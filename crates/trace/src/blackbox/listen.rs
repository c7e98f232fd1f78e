//! A small server for Prometheus: one text, whatever is asked for, on a loopback port.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_base::Fault;

use super::metrics::TYPE;

/// A client gets so long in all, and may write so much.
const PATIENCE: Duration = Duration::from_secs(2);
const REQUEST_MAX: usize = 8 << 10;

/// The text that is answered; whoever has it sets it anew.
pub type Text = Arc<Mutex<String>>;

/// Reads `9464` (on 127.0.0.1) or `ADDRESS:PORT`.
///
/// # Errors
/// It is neither.
pub fn address(text: &str) -> Result<SocketAddr, Fault> {
    let loopback = |port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let read = text.parse::<u16>().map(loopback).or_else(|_| text.parse::<SocketAddr>());
    read.map_err(|_| {
        let fix = "give a port (on 127.0.0.1), or an address and a port: 9464, 10.0.0.5:9464";
        Fault::usage(format!("'{text}' is no address to listen on"), "--listen", fix)
    })
}

/// Serves `text` on a thread of its own, until this process ends. Where it listens.
///
/// # Errors
/// The address cannot be had.
pub fn serve(address: SocketAddr, text: Text) -> Result<SocketAddr, Fault> {
    let fault = |error: std::io::Error| {
        let fix = "name another port with --listen, or end what listens there";
        Fault::usage(format!("cannot listen: {error}"), address.to_string(), fix)
    };
    let listener = TcpListener::bind(address).map_err(fault)?;
    let here = listener.local_addr().map_err(fault)?;
    let serving = move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => answer(stream, &text),
                Err(_) => thread::sleep(Duration::from_millis(100)), // no descriptor is left
            }
        }
    };
    thread::Builder::new().name("metrics".into()).spawn(serving).map_err(fault)?;
    Ok(here)
}

/// One at a time, each within its time: what is slow is left.
fn answer(mut stream: TcpStream, text: &Text) {
    let until = Instant::now() + PATIENCE;
    let _ = stream.set_read_timeout(Some(PATIENCE / 4));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let (mut request, mut piece) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(n) if n > 0 && request.len() < REQUEST_MAX && Instant::now() < until => {
                request.extend_from_slice(&piece[..n]);
            }
            _ => return,
        }
    }
    let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_read = request.starts_with(b"GET ") || request.starts_with(b"HEAD ");
    let (status, body) =
        if is_read { ("200 OK", body) } else { ("405 Method Not Allowed", String::new()) };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {TYPE}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if request.starts_with(b"HEAD ") { String::new() } else { body };
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(at: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn it_answers_with_the_newest_text_and_outlives_nonsense() {
        let text: Text = Arc::new(Mutex::new("a 1\n".into()));
        let at = serve(address("0").unwrap(), Arc::clone(&text)).unwrap();
        assert!(at.ip().is_loopback(), "a port alone is on loopback");
        assert!(ask(at, b"GET /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\na 1\n"));
        assert!(ask(at, b"POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert_eq!(ask(at, &[b'x'; 20_000]), "", "too long");
        *text.lock().unwrap() = "a 2\n".into();
        assert!(ask(at, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("a 2\n"));
        assert!(ask(at, b"HEAD / HTTP/1.1\r\n\r\n").ends_with("close\r\n\r\n"));
        assert!(serve(at, text).is_err(), "the port is taken");
    }

    #[test]
    fn an_address_is_read_and_nonsense_is_refused() {
        assert_eq!(address("10.0.0.5:9464").unwrap().to_string(), "10.0.0.5:9464");
        assert_eq!(address("[::1]:1").unwrap().to_string(), "[::1]:1");
        for wrong in ["", "x", "70000", "10.0.0.5", "host:80"] {
            assert_eq!(address(wrong).unwrap_err().at, "--listen", "{wrong}");
        }
    }
}
