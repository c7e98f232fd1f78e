//! HTTP replies as servers send them beside the usual: long heads, bodies that end with the connection.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use sojourn_load::job::Job;
use sojourn_load::measure::Judged;
use sojourn_load::result::Verdict;

use super::mirror;
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

#[test]
fn a_server_that_answers_nothing_is_fast_and_not_believed() {
    for transport in usable() {
        let port = serve("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(), false);
        let job = || mirror::job(format!("http://127.0.0.1:{port}/"), transport);
        let result = run(job()).result;
        assert_eq!(result.verdict, Verdict::Unknown, "{transport}");
        let all = result.requests;
        let told = format!("content: {all} of {all} replies had an empty body");
        assert!(result.reasons.iter().any(|why| why.starts_with(&told)), "{:?}", result.reasons);
        assert_eq!((result.errors.len(), result.replies.bytes_max), (0, Some(0)));
        let allowed = run(Job { allow_empty: true, ..job() }).result;
        assert!(!allowed.reasons.iter().any(|why| why.starts_with("content")), "{transport}");
    }
}

#[test]
fn what_is_sent_is_what_was_asked_for_and_bodies_are_held_against_it() {
    let path = std::env::temp_dir().join(format!("sojourn-token-{}", std::process::id()));
    std::fs::write(&path, "me:open sesame\n").unwrap();
    let port = mirror::listen(|stream| mirror::mirror(stream, u64::MAX, || ()));
    for transport in usable() {
        let job = |expect_regex: &str| Job {
            method: "PUT".into(),
            paths: vec!["/shelf/{}".into()],
            header: vec!["X-Item: no. {item}".into(), "user-agent: other".into()],
            body: r#"{"id": {item}, "again": {item}}"#.into(),
            auth: format!("basic:file:{}", path.display()),
            items: 100,
            expect_regex: expect_regex.into(),
            ..mirror::job(format!("http://127.0.0.1:{port}/"), transport)
        };
        let wanted = r#"^PUT /shelf/(\d+) HTTP/1.1\r\nHost: 127.0.0.1:\d+\r\nAccept: \*/\*\r\nX-Item: no. \d+\r\nuser-agent: other\r\nAuthorization: Basic bWU6b3BlbiBzZXNhbWU=\r\nContent-Length: 2\d\r\n\r\n\{"id": \d+, "again": \d+\}$"#;
        let good = run(job(wanted)).result;
        assert!(good.errors.is_empty() && good.replies.checked > 100, "{:?}", good.replies);
        assert!(good.replies.failed.is_empty(), "{transport}: {:?}", good.replies);
        let json = serde_json::to_string(&good).unwrap();
        assert!(!json.contains("sesame") && !json.contains("bWU6b3"), "the secret is in no result");
        let bad = run(job("/shelf/7 ")).result;
        assert_eq!(bad.verdict, Verdict::Unknown);
        let told = "replies checked did not match expect_regex";
        assert!(bad.reasons.iter().any(|why| why.contains(told)), "{:?}", bad.reasons);
    }
    std::fs::remove_file(&path).unwrap();
}
