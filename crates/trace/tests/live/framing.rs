//! Which bytes are which request, and that those which cannot be told are counted, once each.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sojourn_trace::attach::how::How;
use sojourn_trace::attach::target;
use sojourn_trace::judge::result::VerdictWord;
use sojourn_trace::judge::verdict::{self, Bounds};
use sojourn_trace::reconstruct::reasons::Weight;
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::session::{self, Options};

use crate::support::calm::{calmly, judge};
use crate::support::echo::{self, Ask};
use crate::support::{alone, index, median, trace};

#[test]
fn pipelined_requests_are_distinguished_by_their_bytes() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (outcome, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            (0..20).for_each(|_| burst(&mut stream));
        });
        // A reply may still be in the socket's buffer when the next request is read: then the two
        // cannot be distinguished on the way out, and it is counted.
        let unfinished = outcome.counts.reason("reply_unfinished");
        assert_eq!(records.len() as u64 + unfinished, 160, "{:?}", outcome.counts.reasons);
        judge(unfinished <= 8, || format!("{unfinished} unfinished"))?;
        assert!(records.iter().all(|record| record.bytes_in == 32));
        for n in 0..8 {
            let sized = records.iter().filter(|record| record.bytes_out == 100 + n).count();
            assert!((20 - unfinished as usize..=20).contains(&sized), "{sized} of {}", 100 + n);
        }
        // The last of eight waits for the seven before it, 2 ms each.
        let last = records.iter().filter(|record| record.bytes_out == 107);
        let last: Vec<u64> = last.map(|record| record.stage_ns[index("batch_wait")]).collect();
        let middle = median(last.clone());
        judge((14_000_000..28_000_000).contains(&middle), || format!("{last:?}"))
    });
}

/// Eight requests at once, which take 2 ms each and have replies of 100 to 107 bytes.
fn burst(stream: &mut TcpStream) {
    let ask = |n: u32| Ask { reply_bytes: 100 + n, app_us: 2000, ..Ask::default() };
    let bytes: Vec<u8> = (0..8).flat_map(|n| ask(n).bytes()).collect();
    stream.write_all(&bytes).unwrap();
    (0..8).for_each(|n| ask(n).receive(stream));
}

#[test]
fn a_ring_that_is_too_small_drops_and_says_so() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let pid = server.pid();
    let target = target::find(std::path::Path::new("/proc"), pid, &[]).unwrap();
    let options = Options {
        duration_ns: 2_000_000_000,
        how: How::All,
        ring_bytes: 4096,
        is_full: true,
        worst: 0,
        hook_cost: false,
        blame: None,
        all_stages: false,
        is_live: false,
    };
    let stop = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = server.connect();
            while !stop.load(Ordering::Relaxed) {
                Ask::default().call(&mut stream);
            }
        });
        let outcome =
            session::run(&target, options, &AtomicBool::new(false), &mut || (), &mut |_| ());
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap()
    });
    let dropped = outcome.counts.reason("record_dropped");
    assert!(dropped > 0);
    let verdict = verdict::judge(&outcome.counts, (0.0, 0.0), Bounds::default(), vec![]);
    assert_eq!(verdict.verdict, VerdictWord::Unknown);
}

#[test]
fn what_a_closed_connection_leaves_unread_is_counted() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let (outcome, records) = trace(server.pid(), || {
        let mut streams: Vec<TcpStream> = (0..10).map(|_| server.connect()).collect();
        for stream in &mut streams {
            Ask::default().call(stream);
        }
        server.stop();
        for stream in &mut streams {
            Ask::default().send(stream);
            let socket = rustix::net::sockopt::set_socket_linger(&*stream, Some(Duration::ZERO));
            socket.unwrap(); // to close it resets the connection
        }
        drop(streams);
        server.go_on();
    });
    assert_eq!(records.len(), 10, "{:?}", outcome.counts.reasons);
    assert_eq!(outcome.counts.reason("closed_unread"), 10);
}

#[test]
fn a_request_whose_start_is_lost_is_counted_once() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (outcome, records) = trace(server.pid(), || {
            let mut stream = server.connect();
            Ask::default().call(&mut stream);
            server.stop();
            // More segments than are remembered: requests in the merged one have no start. Slowly, or
            // they would wait for the delayed ACK and leave in one segment.
            for _ in 0..40 {
                Ask::default().send(&mut stream);
                thread::sleep(Duration::from_millis(6));
            }
            server.go_on();
            (0..40).for_each(|_| Ask::default().receive(&mut stream));
        });
        let unmatched = outcome.counts.weighing(Weight::Unmatched);
        assert_eq!(records.len() as u64 + unmatched, 41, "{:?}", outcome.counts.reasons);
        let is_part = |record: &Record| record.bytes_in != 32;
        assert!(!records.iter().any(is_part), "a part of a request is no match");
        let lost = outcome.counts.reason("segments_full");
        judge(lost > 0, || "none was lost, and nothing was proved".into())
    });
}
