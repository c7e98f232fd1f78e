//! Requests that are never answered: over datagrams, which networks lose, and over streams.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use sojourn_load::job::Job;
use sojourn_load::judge::result::Verdict;
use sojourn_load::measure::Judged;
use sojourn_load::protocols::Outcome;
use sojourn_load::protocols::content::Content;

use super::server::{Behaviour, Server};
use super::{job, run, usable};

/// A memcached of datagrams; of so many requests it drops one, or answers one after the next.
struct Udp {
    port: u16,
    dropped: Arc<AtomicU64>,
}

impl Udp {
    fn start(every: u64, is_dropped: bool) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        thread::spawn(move || {
            let content = Content::new(100, "30", "200").unwrap();
            let mut buffer = [0; 2048];
            let mut held = None;
            for nth in 1_u64.. {
                let Ok((len, from)) = socket.recv_from(&mut buffer) else { return };
                let reply = answer(&content, &buffer[..len]);
                if nth.is_multiple_of(every) {
                    counter.fetch_add(1, SeqCst);
                    held = (!is_dropped).then_some((reply, from));
                    continue;
                }
                let _ = socket.send_to(&reply, from);
                if let Some((late, from)) = held.take_if(|(_, first)| *first == from) {
                    let _ = socket.send_to(&late, from);
                }
            }
        });
        Self { port, dropped }
    }

    fn job(&self, transport: &str) -> Job {
        let server = Server::start(Behaviour::Good);
        let target = format!("memcache+udp://127.0.0.1:{}", self.port);
        Job { target, depth: 0, duration: "1s".into(), ..job(&server, transport) }
    }
}

/// The reply to `get KEY`, in a frame with the request's id.
fn answer(content: &Content, request: &[u8]) -> Vec<u8> {
    let key = std::str::from_utf8(&request[8..]).unwrap().split_whitespace().nth(1).unwrap();
    let mut reply = vec![request[0], request[1], 0, 0, 0, 1, 0, 0];
    reply.extend_from_slice(format!("VALUE {key} 0 200\r\n").as_bytes());
    content.push_value(key.parse().unwrap(), &mut reply);
    reply.extend_from_slice(b"\r\nEND\r\n");
    reply
}

fn count(got: &Judged, outcome: Outcome) -> usize {
    got.run.threads[0].marks.outcome.iter().filter(|&&it| it == outcome).count()
}

/// Datagrams that this network has thrown away for want of room: a machine that lets a server or client
/// wait for longer than a tenth of a second does, and then more are lost than the server drops.
fn overrun() -> u64 {
    let text = std::fs::read_to_string("/proc/net/snmp").unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let mut both = names.split(' ').zip(numbers.split(' '));
    both.find(|(name, _)| *name == "RcvbufErrors").unwrap().1.parse().unwrap()
}

/// A run in which nothing was thrown away, and its server; the last one of some if there was none.
fn run_in_full(every: u64, is_dropped: bool, asked: impl Fn(&Udp) -> Job) -> (Udp, Judged) {
    let mut tries = (0..8).map(|_| {
        let (server, before) = (Udp::start(every, is_dropped), overrun());
        let got = run(asked(&server));
        (server, got, overrun() == before)
    });
    let mut last = tries.next().unwrap();
    while !last.2 {
        let Some(next) = tries.next() else { break };
        last = next;
    }
    (last.0, last.1)
}

#[test]
fn a_lost_datagram_is_one_failed_request_and_no_more() {
    for transport in usable() {
        let (server, got) = run_in_full(50, true, |server| server.job(transport));
        let (dropped, planned) = (server.dropped.load(SeqCst), got.run.threads[0].plan.op.len());
        assert_eq!(count(&got, Outcome::TimedOut) as u64, dropped, "{transport}");
        assert_eq!(count(&got, Outcome::Hit) as u64, planned as u64 - dropped, "{transport}");
        assert_eq!(got.result.checks.timed_out, dropped);
        let failed = got.result.errors["timed_out"] as f64 / got.result.requests as f64;
        assert!((0.01..0.03).contains(&failed), "{transport}: {failed}");
        assert_eq!(got.result.verdict, Verdict::Unknown, "2 % failed and no bound decides");
        assert!(got.result.reasons.iter().any(|why| why.contains("requests failed")));
    }
}

#[test]
fn at_depth_one_a_lost_datagram_holds_its_connection_for_the_time_out_alone() {
    for transport in usable() {
        let server = Udp::start(50, true);
        let job = Job { depth: 1, timeout: "20ms".into(), ..server.job(transport) };
        let got = run(job);
        assert_eq!(count(&got, Outcome::Pending), 0, "{transport}: {:?}", got.result.errors);
        let timed_out = count(&got, Outcome::TimedOut) as u64;
        assert!(timed_out >= server.dropped.load(SeqCst), "{transport}: {timed_out}");
    }
}

#[test]
fn a_reply_that_was_overtaken_counts() {
    for transport in usable() {
        let one = |server: &Udp| Job { connections: 1, ..server.job(transport) };
        let (server, got) = run_in_full(10, false, one);
        let held = server.dropped.load(SeqCst);
        assert!(held > 100, "{transport}: {held} were held back");
        let lost = count(&got, Outcome::TimedOut);
        assert!(lost <= 1, "{transport}: {lost} of {held}, and only the last one is held for ever");
        assert_eq!(count(&got, Outcome::Garbled) + count(&got, Outcome::Content), 0);
    }
}

#[test]
fn a_request_that_a_server_swallows_costs_its_connection_and_no_other_request() {
    for transport in usable() {
        for find_max in [false, true] {
            let server = Server::start(Behaviour::SwallowEvery(100));
            let got = run(Job {
                depth: 1,
                timeout: "100ms".into(),
                duration: "2s".into(),
                requests_max: 10_000,
                find_max,
                ..job(&server, transport)
            });
            let (thread, checks) = (&got.run.threads[0], &got.result.checks);
            let swallowed = server.requests() / 100;
            assert!(swallowed >= 10, "{transport}: {swallowed}");
            let planned = thread.plan.op.len();
            let (hits, late) = (count(&got, Outcome::Hit), count(&got, Outcome::TimedOut));
            assert_eq!(hits + late, planned, "{transport}: {:?}", got.result.errors);
            assert!(late as u64 >= swallowed, "{transport}: {late} of {swallowed}");
            assert!(late * 20 < planned, "{transport}: {late} of {planned}");
            assert_eq!((checks.timed_out, checks.replaced_connections), (late as u64, late as u64));
            assert!(checks.reconnects >= swallowed.saturating_sub(8), "{transport}: {checks:?}");
            assert_eq!(checks.broken_connections, 0, "{transport}: it was our doing");
            let note = got.result.notes.iter().find(|note| note.contains("given up")).unwrap();
            assert!(note.contains("within 100 ms"), "{note}");
        }
    }
}
