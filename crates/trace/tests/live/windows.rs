//! What is traced in windows, or of a sample of flows, is right request by request, whatever was known
//! before and is not true any more.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_trace::attach::how::How;
use sojourn_trace::program;
use sojourn_trace::reconstruct::reasons::Weight;
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::session::{Options, Outcome};

use crate::support::calm::{Judged, calmly, judge};
use crate::support::echo;
use crate::support::log::Log;
use crate::support::server::Server;
use crate::support::{Sets, alone, index, median, trace_how, trace_with};

/// Half of the time in windows of about 150 ms.
const WINDOWS: How = How::Windows { cost: 0.5, seed: 5 };
/// One flow in four.
const SAMPLE: How = How::Sample { one_in: 4, seed: 5 };
const LENGTH: Duration = Duration::from_secs(5);

/// Milliseconds between 0 and `most`, different each time, the same in every run.
fn pause(k: u64, most: u64) -> Duration {
    Duration::from_millis(k.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) % (most + 1))
}

/// Connections that call now and then, each in a thread of its own, until time is over.
fn callers(server: &Server, log: &Log, n: u64, call: impl Fn(&mut TcpStream, u64) + Sync) {
    let end = Instant::now() + LENGTH;
    thread::scope(|scope| {
        for each in 0..n {
            let call = &call;
            scope.spawn(move || {
                let mut stream = server.connect();
                let mut k = each << 32;
                while Instant::now() < end {
                    call(&mut stream, k);
                    k += 1;
                }
            });
        }
    });
    assert!(log.len() > 50, "too little was done");
}

/// Nothing is wrong or unexplained; only requests at the edges are left out.
fn clean(outcome: &Outcome) -> Judged {
    let counts = &outcome.counts;
    let unmatched = counts.weighing(Weight::Unmatched);
    judge(unmatched == 0, || format!("{unmatched} unmatched: {:?}", counts.reasons))?;
    // A thread that runs while it is listed may be seen too late for the request it is at: counted.
    let (history, matched) = (counts.reason("thread_history"), counts.matched());
    judge(history * 20 <= matched, || {
        format!("{history} of {matched} requests' threads had not been seen")
    })
}

/// Workers that sleep in `epoll_wait` when a window begins and connections that were used in another
/// window last: every record is a request of its client, and nothing is left unexplained.
#[test]
fn what_was_known_in_another_window_is_not_used() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["4"]);
        let log = Log::default();
        let (outcome, records) = trace_how(WINDOWS, server.pid(), || {
            callers(&server, &log, 12, |stream, k| {
                log.call(stream, 3000 * u32::from(k % 3 == 0));
                thread::sleep(pause(k, 400));
            });
        });
        let late = log.check(&records);
        let windows = outcome.sampling.windows.unwrap();
        // Where attaching is slow, on a busy machine, they are longer and fewer.
        judge(windows >= 4, || format!("{windows} windows"))?;
        judge(records.len() > 30, || format!("{} of {}", records.len(), log.len()))?;
        judge(late == 0, || format!("{late} of {} arrived late", records.len()))?;
        clean(&outcome)?;
        let residual: u64 = records.iter().map(|r| r.stage_ns[index("residual")]).sum();
        judge(residual == 0, || format!("{residual} ns in no stage"))
    });
}

/// Requests that take longer than a window, and than the gap after it: those that arrive inside are
/// counted in full, those that were under way are not counted.
#[test]
fn a_request_that_outlasts_its_window_is_counted_and_one_under_way_is_not() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["8"]);
        let log = Log::default();
        let (outcome, records) = trace_how(WINDOWS, server.pid(), || {
            callers(&server, &log, 8, |stream, k| {
                log.call(stream, if k % 2 == 0 { 250_000 } else { 1000 });
                thread::sleep(pause(k, 100));
            });
        });
        log.check(&records);
        clean(&outcome)?;
        let share = |long: bool, n: usize| {
            let is_long = |r: &&Record| (r.total_ns > 240_000_000) == long;
            records.iter().filter(is_long).count() as f64 / n as f64
        };
        // As many calls of each kind: each has the same chance to arrive in a window.
        let (long, short) = (share(true, log.len() / 2), share(false, log.len() / 2));
        let traced = outcome.sampling.traced_ns as f64 / outcome.counts.duration_ns as f64;
        // Sixty or so of each: five sigma of a binomial share.
        judge((long - short).abs() < 0.35, || format!("{long} of the long, {short} of the short"))?;
        judge(long > traced * 0.4, || format!("{long} of the long in {traced} of the time"))?;
        let drain_ns = outcome.sampling.drain_max_ns.unwrap();
        judge(drain_ns < 900_000_000, || format!("waited for {drain_ns} ns"))
    });
}

/// Bytes that were waiting when a window began do not count as arriving with the next ones.
#[test]
fn requests_that_waited_since_before_the_window_do_not_arrive_in_it() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["4"]);
        let log = Log::default();
        let (outcome, records) = trace_how(WINDOWS, server.pid(), || {
            // Each request is sent while the one before is in service and more wait.
            callers(&server, &log, 4, |stream, k| {
                let asks: Vec<_> = (0..4)
                    .map(|_| {
                        thread::sleep(Duration::from_millis(15));
                        log.send(stream, 25_000)
                    })
                    .collect();
                for ask in asks {
                    log.receive(stream, ask);
                }
                thread::sleep(pause(k, 60));
            });
        });
        let late = log.check(&records);
        judge(records.len() > 20, || format!("{} of {}", records.len(), log.len()))?;
        judge(late == 0, || format!("{late} of {} arrived late", records.len()))?;
        let waited = records.iter().filter(|r| r.total_ns > 40_000_000).count();
        judge(waited > 10, || format!("{waited} waited: nothing was proved"))?;
        judge(outcome.counts.reason("began_before") > 0, || "no window began in a wait".into())
    });
}

/// A known delay is in its stage also where only windows are looked at.
#[test]
fn a_known_delay_is_in_its_stage() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["2"]);
        let log = Log::default();
        let (outcome, records) = trace_how(WINDOWS, server.pid(), || {
            callers(&server, &log, 2, |stream, _| log.call(stream, 3000));
        });
        log.check(&records);
        clean(&outcome)?;
        // The sleep itself is looked at in `check`. A wait for a CPU after it is the machine's, and is shown as such.
        let known_ns = |r: &Record| -> u64 {
            let stages = ["wait_sleep", "runq_delay", "stopped"];
            stages.map(|stage| r.stage_ns[index(stage)]).iter().sum()
        };
        let rest: Vec<u64> = records.iter().map(|r| r.total_ns - known_ns(r)).collect();
        judge(median(rest.clone()) < 1_000_000, || format!("{} ns elsewhere", median(rest)))?;
        // Replies that are written once the hooks are off do not cut the last request of a window off.
        let (cut_off, windows) =
            (outcome.counts.reason("in_flight"), outcome.sampling.windows.unwrap());
        judge(cut_off * 4 <= windows, || format!("{cut_off} cut off in {windows} windows"))?;
        let busy = outcome.counts.threads.iter().map(|t| t.run_ns).max().unwrap();
        assert!(busy <= outcome.counts.traced_ns, "{busy} ns in {} ns", outcome.counts.traced_ns);
        Ok(())
    });
}

/// A connection that the service has not accepted is none of its descriptors: its request is cut off all the same.
#[test]
fn a_request_that_waits_to_be_accepted_is_cut_off_and_not_lost() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["1"]);
        let (mut waits, calls) = (None, 3);
        let (outcome, records) = trace_how(How::All, server.pid(), || {
            let mut stream = server.connect();
            (0..calls).for_each(|_| echo::Ask::default().call(&mut stream));
            server.stop();
            let mut stream = server.connect();
            echo::Ask::default().send(&mut stream);
            waits = Some(stream);
        });
        server.go_on();
        drop(waits);
        let cut_off = outcome.counts.reason("in_flight");
        judge(records.len() == calls, || format!("{} of {calls}", records.len()))?;
        judge(cut_off == 1, || format!("{cut_off} cut off"))
    });
}

/// Flows enter and leave the sample all the time, most of them in the middle of a request.
#[test]
fn a_sample_of_flows_has_its_share_of_long_and_short_requests_and_no_wrong_one() {
    sampled(false);
}

/// The same with hooks on system calls, as kernels before 6.16 need them.
#[test]
fn a_sample_that_tells_all_stages_apart_has_its_share_too() {
    sampled(true);
}

fn sampled(all_stages: bool) {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let server = echo::start(&["16"]);
        let log = Log::default();
        let options = Options { how: SAMPLE, all_stages, ..Options::default() };
        let (outcome, records) = trace_with(options, server.pid(), || {
            callers(&server, &log, 16, |stream, k| {
                log.call(stream, if k % 2 == 0 { 120_000 } else { 500 });
                thread::sleep(pause(k, 20));
            });
        });
        log.check(&records);
        clean(&outcome)?;
        let long = records.iter().filter(|r| r.total_ns > 100_000_000).count();
        let short = records.len() - long;
        let expected = log.len() as f64 / 8.0;
        // 16 flows, a hundred choices: five sigma of a binomial of 16 · 100 at a quarter is 7 %; calls of
        // one flow within one choice are alike.
        for (n, what) in [(long, "long"), (short, "short")] {
            let ratio = n as f64 / expected;
            judge((0.6..1.4).contains(&ratio), || {
                format!("{n} {what} ones of {expected} expected")
            })?;
        }
        assert!(outcome.counts.reason("in_flight") <= 16, "{:?}", outcome.counts.reasons);
        Ok(())
    });
}

/// As the program does it: in windows by default, with the cost; too short a look is unknown.
#[test]
fn the_result_says_what_was_asked_what_it_cost_and_how_sure_it_is() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let (exit, result) = two_seconds();
        assert_eq!(exit, 3, "two seconds have too few windows: {result}");
        assert_eq!(result["mode"], "windows");
        let sampling = &result["sampling"];
        assert_eq!((&sampling["seed"], &sampling["cost"]["asked"]), (&3.into(), &0.02.into()));
        let reasons = result["verdict"]["reasons"].to_string();
        assert!(reasons.contains("--all"), "{reasons}");
        let windows = sampling["windows"].as_u64().unwrap();
        assert!(windows <= 5, "{windows}");
        judge(windows > 0, || "no window".into())?;
        let matched = result["matched"].as_u64().unwrap();
        judge(matched > 50, || format!("{matched} matched"))?;
        let traced = sampling["traced_ns"].as_f64().unwrap();
        let most = 0.2 * result["duration_ns"].as_f64().unwrap();
        judge(traced > 1e7 && traced < most, || format!("{traced} ns in windows"))
    });
}

/// Exit code and result of a trace of a server that is asked all the time.
fn two_seconds() -> (u8, serde_json::Value) {
    let server = echo::start(&["1"]);
    let stop = AtomicBool::new(false);
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    let words = format!("sojourn-trace --pid {} --duration 2s --json - --seed 3", server.pid());
    let exit = thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = server.connect();
            while !stop.load(Ordering::Relaxed) {
                echo::Ask::default().call(&mut stream);
            }
        });
        let _ends = Sets(&stop);
        let words = words.split(' ').map(Into::into);
        program::main(words, &AtomicBool::new(false), &mut out, &mut talk)
    });
    (exit, serde_json::from_slice(&out).unwrap())
}
