//! What a request waits for while its thread sleeps is found, with its length, and is no work.
//!
//! The server is `examples/waits.rs`. That a wait is at least as long as it was made holds on every
//! machine; that nothing else took time, on a calm one only. See `support/calm.rs`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use sojourn_trace::attach::how::How;
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::reconstruct::stages::{Cause, STAGES};
use sojourn_trace::session::Options;

use crate::support::calm::{Judged, calmly, judge};
use crate::support::echo::Ask;
use crate::support::server::Server;
use crate::support::{PAUSE_NS, PAUSE_US, alone, index, median, say, trace_with};

const REQUESTS: usize = 20;
/// A thread that is woken before it has left its CPU slept for no time: this many pages may all be so.
const FEW: u8 = 16;

/// All hooks, or those of a sample of all flows.
fn ways() -> [Options; 2] {
    let few = Options { how: How::Sample { one_in: 1, seed: 5 }, ..Options::default() };
    [Options { how: How::All, ..Options::default() }, few]
}

/// A service that takes as long as it is asked to, in this process, which is not traced; its port.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = |mut stream: TcpStream| {
        let mut request = [0; 32];
        stream.set_nodelay(true).unwrap();
        while stream.read_exact(&mut request).is_ok() {
            let us = u32::from_le_bytes(request[8..12].try_into().unwrap());
            thread::sleep(Duration::from_micros(u64::from(us)));
            if stream.write_all(b"r").is_err() {
                return;
            }
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    port.to_string()
}

fn start(words: &[&str]) -> Server {
    Server::start("examples/waits", words, |line| line.trim().parse().unwrap())
}

const ASK: Ask = Ask { app_us: PAUSE_US, next_us: 0, reply_bytes: 1, writes: 0, after_us: 0 };

/// One request after the other, or two at a time.
fn calls(server: &Server, at_once: usize) {
    let mut streams: Vec<TcpStream> = (0..at_once).map(|_| server.connect()).collect();
    for _ in 0..REQUESTS {
        for stream in &mut streams {
            ASK.send(stream);
        }
        for stream in &mut streams {
            ASK.receive(stream);
        }
    }
}

fn sum_of(record: &Record, cause: Cause) -> u64 {
    let is_it = |stage: usize| STAGES[stage].cause == cause;
    (0..STAGES.len()).filter(|&stage| is_it(stage)).map(|stage| record.stage_ns[stage]).sum()
}

/// Each waits in `stage`, and for nothing else; and works for a small part of the time.
fn waits_in(stage: &str, records: &[Record], what: &str) -> Judged {
    let waited = |r: &Record| r.stage_ns[index(stage)];
    let all = records.len();
    // Whoever waits for a lock may ask for it late, because it waits for its CPU first.
    let (least_ns, most) = if stage == "wait_lock" {
        (PAUSE_NS / 2, all / 2)
    } else {
        (PAUSE_NS * 95 / 100, all * 9 / 10)
    };
    let long = records.iter().filter(|r| waited(r) >= least_ns).count();
    judge(long >= most, || format!("{what}: {long} of {all} in {stage}: {records:?}"))?;
    let work = median(records.iter().map(|r| sum_of(r, Cause::Work)).collect());
    let other = median(records.iter().map(|r| sum_of(r, Cause::Waiting) - waited(r)).collect());
    let rest = median(records.iter().map(|r| r.total_ns - waited(r)).collect());
    let text =
        || format!("{what}: work {work} ns, other waits {other} ns, all but {stage} {rest} ns");
    judge(work < PAUSE_NS / 10 && other < PAUSE_NS / 10 && rest < PAUSE_NS / 4, text)
}

/// A server of that KIND, by both ways to trace, which book the wait in these stages.
fn planted_in(words: &[&str], at_once: usize, stages: [&str; 2]) {
    let Some(_alone) = alone() else { return };
    for options in ways() {
        calmly(|| {
            let server = start(words);
            let (outcome, records) = trace_with(options, server.pid(), || calls(&server, at_once));
            assert_eq!(records.len(), at_once * REQUESTS, "{:?}", outcome.counts.reasons);
            let stage = stages[usize::from(outcome.is_few)];
            waits_in(stage, &records, &format!("{words:?}, few: {}", outcome.is_few))
        });
    }
}

fn planted(words: &[&str], at_once: usize, stage: &str) {
    planted_in(words, at_once, [stage; 2]);
}

#[test]
fn a_server_that_calls_another_waits_for_it() {
    planted(&["call", &upstream()], 1, "wait_upstream");
}

#[test]
fn a_server_that_polls_another_waits_for_it() {
    planted(&["poll", &upstream()], 1, "wait_upstream");
}

#[test]
fn a_proxy_waits_for_its_upstream_whatever_else_it_serves() {
    for at_once in [1, 8] {
        planted(&["loop", &upstream()], at_once, "wait_upstream");
    }
}

#[test]
fn a_pool_waits_for_the_upstream_that_its_workers_ask() {
    planted(&["pool", &upstream()], 2, "wait_upstream");
}

#[test]
fn a_lock_that_another_thread_holds_is_waited_for() {
    planted(&["lock"], 1, "wait_lock");
}

/// Without hooks on calls it is not known what a loop was woken for: both have one name there.
#[test]
fn a_time_that_a_loop_waits_for_is_a_pause() {
    planted_in(&["timer"], 1, ["wait_sleep", "wait_upstream"]);
}

/// A request's stages that took time, for the line that names what failed.
fn stages(record: &Record) -> String {
    let took = (0..STAGES.len()).filter(|&stage| record.stage_ns[stage] > 0);
    let parts = took.map(|stage| format!("{} {}", STAGES[stage].name, record.stage_ns[stage]));
    let parts: Vec<_> = parts.collect();
    format!("request {} of {} ns: {}", record.seq, record.total_ns, parts.join(", "))
}

/// For how many pages each slept, by the kernel's count.
fn pages_of_calls(server: &Server) -> Vec<u8> {
    let mut stream = server.connect();
    let mut call = || {
        let mut pages = [0];
        ASK.send(&mut stream);
        stream.read_exact(&mut pages).unwrap();
        pages[0]
    };
    (0..REQUESTS).map(|_| call()).collect()
}

/// Whether a thread sleeps for a page is the machine's to decide: a read may be done before it would.
#[test]
fn pages_that_are_not_in_memory_are_waited_for() {
    let Some(_alone) = alone() else { return };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pages-{}", std::process::id()));
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    assert!(Command::new("sync").arg(&file).status().unwrap().success());
    calmly(|| {
        let server = start(&["fault", file.to_str().unwrap()]);
        let way = Options { how: How::All, ..Options::default() };
        let mut pages = Vec::new();
        let (_, records) = trace_with(way, server.pid(), || pages = pages_of_calls(&server));
        let faults = |r: &Record| r.stage_ns[index("wait_fault")];
        let each: Vec<(&Record, u8)> = records.iter().zip(pages).collect();
        assert_eq!(each.len(), REQUESTS);
        for &(record, pages) in &each {
            let agrees =
                if pages == 0 { faults(record) == 0 } else { pages < FEW || faults(record) > 0 };
            assert!(agrees, "the kernel says that it slept for {pages} pages: {}", stages(record));
        }
        let most: Vec<&Record> =
            each.iter().filter(|(_, pages)| *pages > 128).map(|it| it.0).collect();
        if most.len() < REQUESTS / 2 {
            say("unknown", &format!("{} of {REQUESTS} slept for most pages", most.len()));
            return Ok(());
        }
        let sum = |of: &dyn Fn(&Record) -> u64| most.iter().map(|r| of(r)).sum::<u64>();
        let on_cpu = sum(&|r| r.total_ns - r.stage_ns[index("runq_delay")]);
        let waited = sum(&faults);
        judge(waited * 4 > on_cpu, || {
            format!("{waited} of {on_cpu} ns are faults: {}", stages(most[0]))
        })
    });
    fs::remove_file(&file).unwrap();
}
