//! TLS connections that the server ends at a bad moment while they are opened again: each costs an attempt,
//! and no request waits for one until the run is over.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sojourn_load::job::Job;
use sojourn_load::measure::Judged;

use super::super::mirror::{job, listen};
use super::super::{run, usable};
use super::{config, file};

const CONNECTIONS: u64 = 4;
/// Requests that each connection answers before it is closed.
const REPLIES: usize = 5;

/// What becomes of a connection after its client has said hello.
type Moment = fn(TcpStream, &Arc<ServerConfig>);

fn hold(mut stream: TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

fn stalls(stream: TcpStream, _: &Arc<ServerConfig>) {
    hold(stream);
}

fn hangs_up(mut stream: TcpStream, _: &Arc<ServerConfig>) {
    let _ = stream.read(&mut [0; 4096]);
}

fn resets(mut stream: TcpStream, _: &Arc<ServerConfig>) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
}

/// `close_notify` right behind its last message, when the first request is on its way or not.
fn says_goodbye(stream: TcpStream, config: &Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream);
    while stream.conn.is_handshaking() {
        if stream.conn.complete_io(&mut stream.sock).is_err() {
            return;
        }
    }
    stream.conn.send_close_notify();
    let _ = stream.flush();
    hold(stream.sock);
}

/// Half of the server's first flight, and no more.
fn stops_half_way(mut stream: TcpStream, config: &Arc<ServerConfig>) {
    let mut session = ServerConnection::new(Arc::clone(config)).unwrap();
    let _ = session.read_tls(&mut stream);
    let _ = session.process_new_packets();
    let mut flight = Vec::new();
    let _ = session.write_tls(&mut flight);
    let _ = stream.write_all(&flight[..flight.len() / 2]);
    hold(stream);
}

fn answers(stream: TcpStream, config: &Arc<ServerConfig>) {
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream);
    for nth in 1..=REPLIES {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read_exact(&mut byte).is_err() {
                return;
            }
            head.push(byte[0]);
        }
        let close = if nth == REPLIES { "Connection: close\r\n" } else { "" };
        let _ = write!(stream, "HTTP/1.1 200 OK\r\n{close}Content-Length: 5\r\n\r\nhello");
        let _ = stream.flush();
    }
    stream.conn.send_close_notify();
    let _ = stream.flush();
    hold(stream.sock);
}

/// The first connections answer, each of those that follow them ends at `moment`, and all others answer.
fn ask(moment: Moment, transport: &str) -> Judged {
    let (config, opened) = (config("server.pem"), AtomicU64::new(0));
    let port = listen(move |stream| {
        let is_again = (CONNECTIONS..2 * CONNECTIONS).contains(&opened.fetch_add(1, SeqCst));
        if is_again { moment(stream, &config) } else { answers(stream, &config) }
    });
    run(Job {
        ca_file: file("issuer.pem"),
        rate: "60".into(),
        connections: CONNECTIONS as u32,
        timeout: "500ms".into(),
        drain: "4s".into(),
        ..job(format!("https://127.0.0.1:{port}/"), transport)
    })
}

#[test]
fn a_bad_end_of_a_handshake_leaves_no_request_unsent() {
    const MOMENTS: [(&str, Moment); 5] = [
        ("stalls", stalls),
        ("stops half-way", stops_half_way),
        ("hangs up", hangs_up),
        ("resets", resets),
        ("says goodbye", says_goodbye),
    ];
    std::thread::scope(|scope| {
        for (name, moment) in MOMENTS {
            scope.spawn(move || {
                for transport in usable() {
                    let got = ask(moment, transport);
                    let (errors, checks) = (&got.result.errors, &got.result.checks);
                    let waits = ["unsent", "unanswered", "timed_out"];
                    let lost = waits.iter().any(|kind| errors.contains_key(*kind));
                    assert!(!lost, "{transport}, {name}: {errors:?}, {checks:?}");
                    assert!(checks.reconnects >= 4, "{transport}, {name}: {checks:?}");
                }
            });
        }
    });
}
