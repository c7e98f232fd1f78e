//! HTTP replies as servers send them beside the usual: long heads, bodies that end with the connection.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use sojourn_load::job::Job;
use sojourn_load::measure::Judged;
use sojourn_load::result::Verdict;

use super::server::{Behaviour, Server};
use super::{job, run, usable};

/// Answers each request with `reply`, and closes after it if so told. Ends with the process.
fn serve(reply: String, closes: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let reply = reply.clone();
            thread::spawn(move || answer(&stream, reply.as_bytes(), closes));
        }
    });
    port
}

fn answer(mut stream: &TcpStream, reply: &[u8], closes: bool) {
    let _ = stream.set_nodelay(true);
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() {
            if stream.write_all(reply).is_err() {
                return;
            }
            if closes {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn get(transport: &str, reply: String, closes: bool) -> Judged {
    let unused = Server::start(Behaviour::Good);
    let port = serve(reply, closes);
    run(Job {
        target: format!("http://127.0.0.1:{port}/"),
        rate: "500".into(),
        depth: 1,
        expect_bytes: 5,
        ..job(&unused, transport)
    })
}

#[test]
fn heads_longer_than_a_buffer_with_many_headers_are_read() {
    for transport in usable() {
        let headers = format!("X: {}\r\n", "v".repeat(400)).repeat(100);
        let reply = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 5\r\n\r\nhello");
        let got = get(transport, reply, false);
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        assert_eq!(got.result.reply_bytes, got.result.requests * 5);
        assert_eq!(got.result.checks.reconnects, 0);
    }
}

#[test]
fn bodies_that_end_with_the_connection_are_read() {
    for transport in usable() {
        let got = get(transport, "HTTP/1.1 200 OK\r\nServer: old\r\n\r\nhello".into(), true);
        let (result, checks) = (&got.result, &got.result.checks);
        assert!(result.errors.is_empty(), "{transport}: {:?}", result.errors);
        assert_eq!(result.reply_bytes, result.requests * 5);
        assert_eq!(checks.broken_connections, 0, "{transport}: so the body had to end");
        assert!(checks.reconnects + 8 >= result.requests, "{transport}: {checks:?}");
    }
}

#[test]
fn a_body_cut_short_is_no_hit() {
    for transport in usable() {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello";
        let result = get(transport, reply.into(), true).result;
        assert_eq!(result.errors["closed"], result.requests, "{transport}: {:?}", result.errors);
        assert_eq!(result.verdict, Verdict::Unknown);
    }
}
