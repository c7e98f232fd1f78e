//! A server that ends idle connections, and requests that may not be sent again.

use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use sojourn_load::job::Job;
use sojourn_load::judge::result::RunResult;

use super::super::mirror::{self, listen};
use super::super::{run, usable};

/// How long a connection may idle that was used, and how long its end is on its way then, unseen.
const IDLE: Duration = Duration::from_millis(100);
const UNSEEN: Duration = Duration::from_millis(20);
const TRIES: u32 = 4;

/// In turn, each connection idles for a tenth of a second, and about every third request meets an end.
fn ask(method: &str, transport: &str) -> RunResult {
    let port = listen(|stream: TcpStream| {
        let own = stream.try_clone().unwrap();
        let is_used = || own.set_read_timeout(Some(IDLE)).unwrap();
        mirror::mirror(&stream, u64::MAX, is_used);
        thread::sleep(UNSEEN);
    });
    let target = format!("http://127.0.0.1:{port}/");
    run(Job {
        method: method.into(),
        body: if method == "POST" { "hello".into() } else { String::new() },
        rate: "400".into(),
        connections: 40,
        duration: "1s".into(),
        warmup: "300ms".into(),
        timeout: "10s".into(),
        ..mirror::job(target, transport)
    })
    .result
}

fn is_noted(result: &RunResult) -> bool {
    result.notes.iter().any(|note| note.contains("took the connection used last"))
}

#[test]
fn once_the_server_ends_an_idle_connection_requests_take_the_one_used_last() {
    for transport in usable() {
        // A side that does not run for a tenth of a second meets 40 ends at once. In turn, a third is lost each time.
        let are_few =
            |result: &RunResult| result.errors.values().sum::<u64>() * 10 < result.requests;
        let mut result = ask("POST", transport);
        for _ in 1..TRIES {
            if !are_few(&result) {
                result = ask("POST", transport);
            }
        }
        assert!(is_noted(&result), "{transport}: {:?}", result.notes);
        assert!(are_few(&result), "{transport}: {:?}", result.errors);
        assert_eq!(result.checks.sent_again, 0, "{transport}: {:?}", result.checks);
    }
}

#[test]
fn requests_that_may_be_sent_again_still_go_round() {
    for transport in usable() {
        let result = ask("GET", transport);
        assert!(!is_noted(&result), "{transport}: {:?}", result.notes);
        assert!(result.checks.sent_again > 10, "{transport}: {:?}", result.checks);
    }
}
