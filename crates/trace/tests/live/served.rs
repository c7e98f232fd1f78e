//! The same truth from `sojourn-serve`, whose service times are known: it waits for a timer in its loop.
//!
//! It answers on a timer and not where it read, so replies overtake one another; every request has
//! a size of its own, and so has its reply, which proves which belongs to which.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use sojourn_trace::reconstruct::record::Record;

use crate::support::calm::{calmly, judge};
use crate::support::server::Server;
use crate::support::{PAUSE_NS, PAUSE_US, alone, index, median, pause_in, split, trace};

/// The synthetic service with the echo protocol, which sleeps between requests.
fn start(words: &str) -> Server {
    speaking("echo", words)
}

fn speaking(protocol: &str, words: &str) -> Server {
    let words: Vec<&str> =
        ["--protocol", protocol, "--mode", "sleep"].into_iter().chain(words.split(' ')).collect();
    Server::start("sojourn-serve", &words, |line| {
        let first: serde_json::Value = serde_json::from_str(line).unwrap();
        first["port"].as_u64().unwrap().try_into().unwrap()
    })
}

/// A frame of `size` bytes in all, 12 or more: id, length of the body, body.
fn frame(size: usize) -> Vec<u8> {
    let mut bytes = (size as u64).to_be_bytes().to_vec();
    bytes.extend((size as u32 - 12).to_be_bytes());
    bytes.resize(size, b'x');
    bytes
}

fn receive(stream: &mut TcpStream, size: usize) {
    let mut bytes = vec![0; size];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, frame(size));
}

fn call(stream: &mut TcpStream, size: usize) {
    stream.write_all(&frame(size)).unwrap();
    receive(stream, size);
}

fn slept(records: &[&Record]) -> u64 {
    median(records.iter().map(|r| r.stage_ns[index("wait_upstream")]).collect())
}

#[test]
fn a_known_service_time_is_waiting_for_a_timer_and_nothing_else() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = start(&format!("--service fixed:{PAUSE_US}us"));
        let (outcome, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            (0..20).for_each(|n| call(&mut stream, 20 + n));
        });
        assert_eq!(records.len(), 20, "{:?}", outcome.counts.reasons);
        pause_in("wait_upstream", &records.iter().collect::<Vec<_>>())
    });
}

#[test]
fn two_known_service_times_are_distinguished() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = start(&format!("--service bimodal:1us,{PAUSE_US}us,0.3 --seed 5"));
        let (_, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            (0..100).for_each(|n| call(&mut stream, 20 + n));
        });
        let (long, short) = split(&records);
        let (longs, short) = (long.len(), slept(&short));
        assert!(longs >= 15, "{longs} of 100, 30 are expected");
        judge(longs <= 45, || format!("{longs} of 100, 30 are expected"))?;
        judge(short < PAUSE_NS / 20, || format!("{short} ns are short"))?;
        pause_in("wait_upstream", &long)
    });
}

#[test]
fn a_request_behind_another_waits_for_its_service_too() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = start(&format!("--service fixed:{PAUSE_US}us"));
        let (_, records) = trace(server.pid(), || {
            let mut streams = [server.connect(), server.connect()];
            for _ in 0..12 {
                streams[0].write_all(&frame(100)).unwrap();
                thread::sleep(Duration::from_millis(1));
                streams[1].write_all(&frame(200)).unwrap();
                receive(&mut streams[0], 100);
                receive(&mut streams[1], 200);
            }
        });
        let of = |size: u32| records.iter().filter(|r| r.bytes_in == size).collect::<Vec<_>>();
        let (first, second) = (slept(&of(100)), slept(&of(200)));
        assert!(first >= PAUSE_NS * 95 / 100, "{first} ns");
        judge(first < PAUSE_NS * 3 / 2, || format!("{first} ns"))?;
        // It was read 1 ms after the first, or later: by then less than the whole of it was left.
        let whole = PAUSE_NS * 3 / 2..PAUSE_NS * 5 / 2;
        judge(whole.contains(&second), || format!("{second} ns"))
    });
}

#[test]
fn replies_that_overtake_one_another_are_matched_by_their_ids() {
    let Some(_alone) = alone() else { return };
    let server = start("--service lognormal:3ms,2 --servers 8 --seed 3");
    let (outcome, records) = trace(server.pid(), || {
        let mut streams: Vec<TcpStream> = (0..64).map(|_| server.connect()).collect();
        for round in 0..10 {
            let size = |n: usize| 12 + round * 64 + n;
            streams.iter_mut().enumerate().for_each(|(n, s)| s.write_all(&frame(size(n))).unwrap());
            streams.iter_mut().enumerate().for_each(|(n, s)| receive(s, size(n)));
        }
    });
    assert_eq!(records.len(), 640, "{:?}", outcome.counts.reasons);
    assert!(records.iter().all(|record| record.bytes_in == record.bytes_out));
    let sizes: BTreeSet<u32> = records.iter().map(|record| record.bytes_in).collect();
    assert_eq!(sizes, (12..652).collect());
    let end_ns = |record: &Record| record.start_ns + record.total_ns;
    let overtook = records.windows(2).filter(|two| end_ns(&two[0]) > end_ns(&two[1])).count();
    assert!(overtook > 50, "{overtook}: replies came in order, and nothing was proved");
}

#[test]
fn a_stop_is_a_stop_and_the_service_time_runs_on_in_it() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = start("--service fixed:1ms");
        let (_, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            for _ in 0..20 {
                server.stop();
                stream.write_all(&frame(50)).unwrap();
                thread::sleep(Duration::from_micros(u64::from(PAUSE_US)));
                server.go_on();
                receive(&mut stream, 50);
            }
        });
        let paused: Vec<&Record> = records.iter().collect();
        assert_eq!(paused.len(), 20);
        pause_in("stopped", &paused)?;
        // A service time counts from the kernel's stamp of the request, so it was over by then.
        let served = slept(&paused);
        judge(served < 1_000_000, || format!("{served} ns"))
    });
}

/// Several requests in one read are counted as one: that is reported.
#[test]
fn a_client_that_pipelines_is_noticed_and_another_is_not() {
    let Some(_alone) = alone() else { return };
    for (at_once, several) in [(1, false), (16, true)] {
        let server = speaking("memcache", "--service fixed:1us");
        let (outcome, _) = trace(server.pid(), || {
            let mut stream = server.connect();
            for _ in 0..300 {
                stream.write_all(&b"get key\r\n".repeat(at_once)).unwrap();
                let mut replies: Vec<u8> = Vec::new();
                while replies.windows(5).filter(|five| *five == b"END\r\n").count() < at_once {
                    let mut bytes = [0; 4096];
                    let n = stream.read(&mut bytes).unwrap();
                    replies.extend(&bytes[..n]);
                }
            }
        });
        let reads = outcome.counts.reads;
        assert!(reads.looked_into >= 4, "{reads:?}");
        assert_eq!(reads.several > 0, several, "{reads:?}");
    }
}
