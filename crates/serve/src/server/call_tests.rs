//! Services that call each other, and calls that fail.

use std::net::TcpListener;

use super::tests::{Running, start_calling};
use super::*;
use crate::calls::Target;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

fn calling(service: &str, address: SocketAddr, timeout_ms: u64) -> Running {
    let target = Target { address, timeout_ns: timeout_ms * 1_000_000 };
    start_calling("memcache", service, Some(target))
}

fn asked(running: &Running, times: usize) -> Duration {
    let mut client = running.connect();
    let began = Instant::now();
    client.write_all(&b"get a\r\n".repeat(times)).unwrap();
    let mut reply = vec![0; 5 * times];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(reply, b"END\r\n".repeat(times));
    began.elapsed()
}

#[test]
fn a_reply_waits_for_all_services_in_the_chain() {
    let last = start_calling("memcache", "fixed:5ms", None);
    let middle = calling("fixed:4ms", last.address, 10_000);
    let first = calling("fixed:3ms", middle.address, 10_000);
    assert!(asked(&first, 1) >= Duration::from_millis(12));
    let took = asked(&first, 20);
    assert!(took >= Duration::from_millis(3 + 4 + 20 * 5), "the slowest sets the pace: {took:?}");
    let counts: Vec<_> = [first, middle, last].map(Running::end).map(|notes| report(&notes)).into();
    assert!(counts.iter().all(|(requests, _)| *requests == 21), "{counts:?}");
    for (_, calls) in &counts[..2] {
        let calls = calls.unwrap();
        assert_eq!((calls.sent, calls.answered, calls.late, calls.failed), (21, 21, 0, 0));
    }
    assert_eq!(counts[2].1, None);
}

#[test]
fn workers_do_not_wait_for_calls() {
    let slow = start_calling("memcache", "fixed:100ms", None);
    let first = calling("fixed:1ms", slow.address, 60_000);
    let mut clients: Vec<_> = (0..3).map(|_| first.connect()).collect();
    for client in &mut clients {
        client.write_all(b"get a\r\n").unwrap();
    }
    for client in &mut clients {
        client.read_exact(&mut [0; 5]).unwrap();
    }
    let notes = first.end();
    let longest = notes.report(&crate::args::Settings::default(), 1e6).virtual_sojourn_ns.max;
    assert!(longest.is_some_and(|ns| ns < 80_000_000), "own queue only: {longest:?}");
    slow.end();
}

#[test]
fn a_late_reply_a_wrong_one_and_none_end_the_client_and_others_go_on() {
    let quiet = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude_at = rude.local_addr().unwrap();
    let answering = thread::spawn(move || {
        let (mut stream, _) = rude.accept().unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
        stream.write_all(b"ERROR\r\n").unwrap();
        let _ = stream.read(&mut [0; 99]);
    });
    for (address, late, failed) in
        [(quiet.local_addr().unwrap(), 1, 0), (closed, 0, 1), (rude_at, 0, 1)]
    {
        let running = calling("fixed:1ms", address, 200);
        let mut client = running.connect();
        client.write_all(b"get a\r\n").unwrap();
        assert_eq!(client.read(&mut [0; 9]).unwrap_or(0), 0, "it ends without a reply");
        let mut other = running.connect(); // the service goes on
        other.write_all(b"get a\r\n").unwrap();
        drop(other);
        let (_, calls) = report(&running.end());
        let calls = calls.unwrap();
        assert!(calls.late >= late && calls.failed >= failed, "{address}: {calls:?}");
        assert_eq!(calls.answered, 0);
    }
    answering.join().unwrap();
}

fn report(notes: &Notes) -> (u64, Option<calls::Counts>) {
    let report = notes.report(&crate::args::Settings::default(), 1e6);
    (report.requests, report.calls)
}
