//! Pauses put into a server on purpose must appear in the right stage and nowhere else.
//!
//! The server is `examples/echo.rs`, in a process of its own. Every check is on the median of many
//! paused requests and against the length of the pause; see `support/calm.rs` for a noisy machine.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use sojourn_trace::reconstruct::record::Record;

use crate::support::calm::{calmly, judge};
use crate::support::echo::{self, Ask};
use crate::support::server::Server;
use crate::support::{PAUSE_NS, PAUSE_US, alone, index, median, pause_in, split, trace};

/// 64 connections on 4 threads, in turn; every 13th request carries `ask`.
fn rounds(server: &Server, ask: Ask, n: usize) -> usize {
    let mut streams: Vec<TcpStream> = (0..64).map(|_| server.connect()).collect();
    for stream in &mut streams {
        Ask::default().call(stream);
    }
    for i in 0..n {
        let ask = if i % 13 == 0 { ask } else { Ask::default() };
        ask.call(&mut streams[i % 64]);
    }
    streams.len() + n
}

#[test]
fn every_request_is_matched_with_its_reply_size() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["4"]);
    let mut sent = 0;
    let ask = Ask { reply_bytes: 777, ..Ask::default() };
    let (outcome, records) = trace(server.pid(), || sent = rounds(&server, ask, 650));
    assert_eq!(records.len(), sent, "{:?}", outcome.counts.reasons);
    assert!(records.iter().all(|record| record.bytes_in == 32));
    assert_eq!(records.iter().filter(|record| record.bytes_out == 777).count(), 50);
    assert_eq!(records.iter().filter(|record| record.bytes_out == 1).count(), sent - 50);
    assert_eq!(outcome.counts.threads.iter().filter(|thread| thread.requests > 0).count(), 4);
}

#[test]
fn a_pause_between_read_and_write_is_waiting_and_no_work() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["4"]);
        let ask = Ask { app_us: PAUSE_US, ..Ask::default() };
        let (outcome, records) = trace(server.pid(), || {
            rounds(&server, ask, 260);
        });
        let (paused, others) = split(&records);
        assert!(paused.len() >= 20, "{} of 20, {:?}", paused.len(), outcome.counts.reasons);
        pause_in("wait_sleep", &paused)?;
        let none = others.iter().filter(|r| r.stage_ns[index("wait_sleep")] == 0).count();
        judge(none > others.len() / 2, || format!("{none} of {} without a pause", others.len()))
    });
}

#[test]
fn a_pause_between_epoll_and_read_is_waiting_too() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (_, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            for _ in 0..20 {
                Ask { next_us: PAUSE_US, ..Ask::default() }.call(&mut stream);
                thread::sleep(Duration::from_millis(1));
                Ask::default().call(&mut stream);
            }
        });
        let (paused, _) = split(&records);
        assert!(paused.len() >= 20);
        // Nobody else was served meanwhile: what the thread does before it reads, it does for this request.
        pause_in("wait_sleep", &paused)
    });
}

#[test]
fn a_request_behind_a_slow_one_waits_in_the_batch_or_for_the_thread() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (_, records) = trace(server.pid(), || {
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
        let waits = |r: &Record| r.stage_ns[index("thread_busy")] + r.stage_ns[index("batch_wait")];
        let behind: Vec<&Record> = records.iter().filter(|r| waits(r) > PAUSE_NS / 2).collect();
        judge((18..=22).contains(&behind.len()), || format!("{} waited", behind.len()))?;
        let rest = median(behind.iter().map(|r| r.total_ns - waits(r)).collect());
        judge(rest < PAUSE_NS / 4, || format!("{rest} ns elsewhere"))
    });
}

#[test]
fn a_stopped_server_is_stopped_and_nothing_else() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (_, records) = trace(server.pid(), || {
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
        let (paused, _) = split(&records);
        assert!(paused.len() >= 20);
        pause_in("stopped", &paused)
    });
}

/// NGINX with `tcp_nopush`, Debian's default: the reply leaves in `setsockopt`.
#[test]
fn a_reply_that_leaves_when_the_cork_is_lifted_is_written() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1", "cork"]);
        let (outcome, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            let ask = Ask { app_us: PAUSE_US, reply_bytes: 600, writes: 2, ..Ask::default() };
            (0..20).for_each(|_| ask.call(&mut stream));
        });
        assert_eq!(records.len(), 20, "{:?}", outcome.counts.reasons);
        assert_eq!(outcome.counts.reason("async_send"), 0);
        assert!(records.iter().all(|r| r.bytes_out == 600 && r.stage_ns[index("write")] > 0));
        // The first one's thread had not been seen before.
        assert!(records.iter().skip(1).all(|r| r.stage_ns[index("residual")] == 0));
        pause_in("wait_sleep", &records.iter().collect::<Vec<_>>())
    });
}

#[test]
fn a_request_in_two_halves_waits_for_its_client() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (outcome, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            for _ in 0..20 {
                stream.write_all(&Ask::default().bytes()[..10]).unwrap();
                thread::sleep(Duration::from_micros(u64::from(PAUSE_US)));
                stream.write_all(&Ask::default().bytes()[10..]).unwrap();
                Ask::default().receive(&mut stream);
            }
        });
        assert_eq!(records.len(), 20, "{:?}", outcome.counts.reasons);
        assert!(records.iter().all(|record| record.bytes_in == 32));
        pause_in("client_wait", &records.iter().collect::<Vec<_>>())
    });
}

#[test]
fn a_reply_in_many_segments_is_one_reply() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let (outcome, records) = trace(server.pid(), || {
        let mut stream = server.connect();
        let ask = Ask { reply_bytes: 300_000, writes: 5, ..Ask::default() };
        (0..40).for_each(|_| ask.call(&mut stream));
    });
    assert_eq!(records.len(), 40, "{:?}", outcome.counts.reasons);
    assert!(records.iter().all(|record| record.bytes_out == 300_000));
    assert!(records.iter().all(|record| record.stage_ns[index("drain")] > 0));
}

#[test]
fn a_reply_by_another_thread_shows_the_handover() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1", "handover"]);
        let (_, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            let ask = Ask { app_us: PAUSE_US, ..Ask::default() };
            for _ in 0..20 {
                thread::sleep(Duration::from_millis(2));
                ask.call(&mut stream);
            }
        });
        let (paused, _) = split(&records);
        assert_eq!(paused.len(), 20);
        assert!(paused.iter().all(|record| record.writer != record.thread && record.writer != 0));
        assert!(paused.iter().all(|record| record.stage_ns[index("handover")] > 0));
        pause_in("wait_sleep", &paused)
    });
}
