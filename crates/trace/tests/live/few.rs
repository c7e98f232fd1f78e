//! A sample of flows without hooks on system calls: its stages are right as far as it tells them apart.
//!
//! Every flow is in the sample here, so that every request can be asked for. Kernels before 6.16 have no hook
//! that stands for system calls: there the tests say so. `truth.rs` has the same pauses with all hooks.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use sojourn_trace::attach::how::How;
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::session::Outcome;

use crate::support::calm::{calmly, judge};
use crate::support::echo::{self, Ask};
use crate::support::server::Server;
use crate::support::{PAUSE_NS, PAUSE_US, alone, index, pause_in, say, split, trace_how};

/// What stays empty: it is booked elsewhere, or not looked at.
const GONE: [&str; 9] = [
    "rx",
    "ip",
    "thread_busy",
    "context_switch",
    "epoll_return",
    "dispatch",
    "handover",
    "open",
    "tx",
];

/// All flows; `None`: this kernel needs hooks on system calls, and that has been reported.
fn few(pid: u32, client: impl FnOnce() + Send) -> Option<(Outcome, Vec<Record>)> {
    let (outcome, records) = trace_how(How::Sample { one_in: 1, seed: 5 }, pid, client);
    if !outcome.is_few {
        say("skipped", "this kernel has no tcp_sendmsg_locked");
        return None;
    }
    let attached = |name| outcome.hooks.iter().any(|hook| hook.name == name && hook.attached);
    assert!(!attached("sys_enter") && !attached("sys_exit"), "{:?}", outcome.hooks);
    assert!(attached("tcp_sendmsg_locked") && attached("sock_send_length"));
    for name in GONE {
        assert!(records.iter().all(|record| record.stage_ns[index(name)] == 0), "{name}");
    }
    Some((outcome, records))
}

fn calls(stream: &mut TcpStream, ask: Ask, n: usize) {
    (0..n).for_each(|_| ask.call(stream));
}

#[test]
fn every_request_is_matched_with_its_reply_size() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["4"]);
    let result = few(server.pid(), || {
        let mut streams: Vec<TcpStream> = (0..64).map(|_| server.connect()).collect();
        for round in 1..=8 {
            let ask = Ask { reply_bytes: 100 * round, ..Ask::default() };
            for stream in &mut streams {
                ask.call(stream);
            }
        }
    });
    let Some((outcome, records)) = result else { return };
    assert_eq!(records.len(), 8 * 64, "{:?}", outcome.counts.reasons);
    assert!(records.iter().all(|record| record.bytes_in == 32));
    for round in 1..=8 {
        assert_eq!(records.iter().filter(|record| record.bytes_out == 100 * round).count(), 64);
    }
    assert_eq!(outcome.counts.reason("async_send"), 0);
}

/// One pause, and the stage it must appear in; `None`: nothing can be reported here.
fn paused(words: &[&str], stage: &str, mut client: impl FnMut(&Server) + Send) {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(words);
        let Some((outcome, records)) = few(server.pid(), || client(&server)) else { return Ok(()) };
        let (paused, _) = split(&records);
        assert!(paused.len() >= 19, "{} of 20, {:?}", paused.len(), outcome.counts.reasons);
        pause_in(stage, &paused)
    });
}

#[test]
fn a_pause_between_read_and_write_is_waiting() {
    for words in [["1", ""].as_slice(), &["1", "handover"], &["1", "cork"]] {
        paused(&words[..if words[1].is_empty() { 1 } else { 2 }], "wait_sleep", |server| {
            let mut stream = server.connect();
            calls(&mut stream, Ask { app_us: PAUSE_US, ..Ask::default() }, 20);
        });
    }
}

#[test]
fn a_pause_between_epoll_and_read_is_waiting() {
    paused(&["1"], "wait_sleep", |server| {
        let mut stream = server.connect();
        for _ in 0..20 {
            Ask { next_us: PAUSE_US, ..Ask::default() }.call(&mut stream);
            thread::sleep(Duration::from_millis(1));
            Ask::default().call(&mut stream);
        }
    });
}

#[test]
fn a_stopped_server_is_stopped_and_nothing_else() {
    paused(&["1"], "stopped", |server| {
        let mut stream = server.connect();
        for _ in 0..20 {
            Ask::default().call(&mut stream);
            server.stop();
            Ask::default().send(&mut stream);
            thread::sleep(Duration::from_micros(u64::from(PAUSE_US)));
            server.go_on();
            Ask::default().receive(&mut stream);
        }
    });
}

#[test]
fn a_request_in_two_halves_waits_for_its_client() {
    paused(&["1"], "client_wait", |server| {
        let mut stream = server.connect();
        for _ in 0..20 {
            stream.write_all(&Ask::default().bytes()[..10]).unwrap();
            thread::sleep(Duration::from_micros(u64::from(PAUSE_US)));
            stream.write_all(&Ask::default().bytes()[10..]).unwrap();
            Ask::default().receive(&mut stream);
        }
    });
}

#[test]
fn a_request_behind_a_slow_one_waits_for_the_thread() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let result = few(server.pid(), || {
            let (mut slow, mut quick) = (server.connect(), server.connect());
            let ask = Ask { app_us: PAUSE_US, ..Ask::default() };
            for _ in 0..20 {
                ask.send(&mut slow);
                thread::sleep(Duration::from_millis(1));
                Ask::default().send(&mut quick);
                ask.receive(&mut slow);
                Ask::default().receive(&mut quick);
            }
        });
        let Some((_, records)) = result else { return Ok(()) };
        let waits = |r: &Record| r.stage_ns[index("batch_wait")];
        let behind = records.iter().filter(|r| waits(r) > PAUSE_NS / 2).count();
        judge((18..=22).contains(&behind), || format!("{behind} waited"))
    });
}

#[test]
fn a_reply_in_many_segments_is_one_reply() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let ask = Ask { reply_bytes: 300_000, writes: 5, ..Ask::default() };
    let Some((outcome, records)) = few(server.pid(), || calls(&mut server.connect(), ask, 40))
    else {
        return;
    };
    assert_eq!(records.len(), 40, "{:?}", outcome.counts.reasons);
    assert!(records.iter().all(|record| record.bytes_out == 300_000));
    assert!(records.iter().all(|record| record.stage_ns[index("drain")] > 0));
}
