//! Servers that end a connection behind a reply, or under a request: what is theirs, and what the client's.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use sojourn_load::job::Job;
use sojourn_load::measure::Judged;

use super::mirror::{self, listen};
use super::{run, usable};

/// How long a worker takes to die.
const DYING: Duration = Duration::from_millis(400);
/// A client that sleeps must not nap for so long while a connection is down, ns.
const NAP_NS: u64 = 1_000_000;

/// Reads the head of a request; false: there is none.
fn asked(lines: &mut impl BufRead) -> bool {
    let mut line = String::new();
    let mut has_begun = false;
    loop {
        line.clear();
        match lines.read_line(&mut line) {
            Ok(1..) if line.trim().is_empty() => return has_begun,
            Ok(1..) => has_begun = true,
            _ => return false,
        }
    }
}

fn answer(mut stream: &TcpStream, more: &str) {
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{more}\r\nhello");
    let _ = stream.write_all(reply.as_bytes());
}

/// From each reply to the next request, ns, ascending.
fn pauses(got: &Judged) -> Vec<u64> {
    let marks = &got.run.threads[0].marks;
    let pairs = marks.sent_ns.iter().skip(1).zip(&marks.done_ns);
    let mut all: Vec<u64> = pairs
        .filter(|&(&sent, &done)| sent > 0 && done > 0)
        .map(|(sent, done)| sent.saturating_sub(*done))
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn a_connection_that_ends_behind_each_reply_is_opened_again_before_a_client_naps() {
    let port = listen(|stream| {
        if asked(&mut BufReader::new(&stream)) {
            answer(&stream, "Connection: close\r\n");
        }
    });
    for transport in usable() {
        let job = mirror::job(format!("http://127.0.0.1:{port}/"), transport);
        let got = run(Job { find_max: true, connections: 1, depth: 1, ..job });
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        let pauses = pauses(&got);
        assert!(pauses.len() > 50, "{transport}: {}", pauses.len());
        // A client that naps does so each time, and on a busy machine others are late, too.
        let short_ns = pauses[pauses.len() / 20];
        assert!(short_ns < NAP_NS, "{transport}: 19 of 20 took {short_ns} ns and more");
    }
}

/// Its end is the answer to the request, and not one that crossed it on its way.
#[test]
fn a_request_over_which_a_worker_dies_has_failed_and_is_not_sent_again() {
    let port = listen(|stream| {
        let mut lines = BufReader::new(&stream);
        if asked(&mut lines) {
            answer(&stream, "");
        }
        if asked(&mut lines) {
            thread::sleep(DYING);
        }
    });
    for transport in usable() {
        let (rate, timeout) = ("40".into(), "10s".into());
        let job = mirror::job(format!("http://127.0.0.1:{port}/"), transport);
        let result = run(Job { rate, timeout, depth: 1, ..job }).result;
        let closed = result.errors.get("closed").copied().unwrap_or(0);
        assert!(closed * 4 > result.requests, "{transport}: {:?}", result.errors);
        assert_eq!(result.checks.sent_again, 0, "{transport}: {:?}", result.checks);
    }
}
