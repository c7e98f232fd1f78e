//! Whole runs against servers that behave, stall, break and lie. What is checked holds on any
//! machine, however busy: bounds that follow from what the server did, and counts.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

mod begins;
mod breaking;
mod closing;
mod http2;
mod losses;
mod mirror;
mod postgres;
mod replies;
mod segments;
mod server;
mod sessions;
mod several;
mod stores;
mod tls;
mod unix;
mod usual;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use server::{Behaviour, Server, job};
use sojourn_load::drive::progress::{Form, Progress};
use sojourn_load::job::Job;
use sojourn_load::judge::result::Verdict;
use sojourn_load::measure::{Judged, measure};
use sojourn_load::plan::resolve::resolve;
use sojourn_load::protocols::Outcome;
use sojourn_load::{program, protocols, transports};

fn run(job: Job) -> Judged {
    run_until(job, &Arc::new(AtomicBool::new(false)))
}

fn run_until(job: Job, stop: &Arc<AtomicBool>) -> Judged {
    let resolved = resolve(job).unwrap();
    measure(&resolved, stop, &mut Progress::new(Form::Off)).unwrap()
}

/// Transports with sockets that this kernel offers.
fn usable() -> Vec<&'static str> {
    let target = protocols::target("memcache://h").unwrap();
    let names = ["epoll", "io_uring"];
    names.into_iter().filter(|name| transports::choose(name, &target).is_ok()).collect()
}

#[test]
fn every_request_is_sent_once_and_answered() {
    for transport in usable() {
        for wait in ["sleep", "sleep:50us", "spin"] {
            let server = Server::start(Behaviour::Good);
            let got = run(Job { wait: wait.into(), ..job(&server, transport) });
            let thread = &got.run.threads[0];
            assert!(thread.marks.outcome.iter().all(|&it| it == Outcome::Hit), "{transport}");
            assert!(got.result.errors.is_empty());
            assert_eq!(server.requests(), thread.plan.intended_ns.len() as u64);
            for request in 0..thread.plan.intended_ns.len() {
                let due = thread.plan.intended_ns[request];
                let (sent, first) =
                    (thread.marks.sent_ns[request], thread.marks.first_byte_ns[request]);
                let done = thread.marks.done_ns[request];
                assert!(due <= sent && sent <= first && first <= done, "{transport}, {request}");
                assert_eq!(thread.marks.reply_bytes[request], 200);
            }
        }
    }
}

#[test]
fn a_stall_is_reported_in_full_by_every_request_that_was_due_in_it() {
    for transport in usable() {
        let server =
            Server::start(Behaviour::Stall { after: 400, length: Duration::from_millis(150) });
        // Long after the stall load is still due, however late a stopped machine lets it begin.
        let got = run(Job { duration: "3s".into(), ..job(&server, transport) });
        let (from, to) = server.stall().expect("it stalled");
        let zero = got.run.start_ns;
        let (from_ns, to_ns) = (from - zero, to - zero);
        let thread = &got.run.threads[0];
        let mut in_it = 0;
        for (request, &due_ns) in thread.plan.intended_ns.iter().enumerate() {
            if due_ns > from_ns && due_ns < to_ns {
                in_it += 1;
                assert!(thread.marks.done_ns[request] >= to_ns, "{transport}: told too early");
            }
        }
        assert!(in_it > 100, "{transport}: {in_it} requests were due in 150 ms at 2k/s");
        assert!(thread.marks.outcome.iter().all(|&it| it == Outcome::Hit));
        // Due evenly over the stall, they waited for what was left of it: 75 ms on average.
        let p99 = got.result.sojourn_all_ns.p99.unwrap();
        assert!(p99 >= 100_000_000, "{transport}: p99 is {p99} ns");
    }
}

#[test]
fn at_depth_one_waiting_for_a_connection_is_inside_the_stopwatch() {
    for transport in usable() {
        let length = Duration::from_millis(150);
        let server = Server::start(Behaviour::Stall { after: 400, length });
        let got = run(Job { depth: 1, connections: 4, ..job(&server, transport) });
        let (_, to) = server.stall().unwrap();
        let to_ns = to - got.run.start_ns;
        let thread = &got.run.threads[0];
        let waited = (0..thread.plan.intended_ns.len()).filter(|&request| {
            thread.plan.intended_ns[request] < to_ns && thread.marks.sent_ns[request] >= to_ns
        });
        let waited: Vec<usize> = waited.collect();
        assert!(waited.len() > 100, "{transport}: all but four waited in the plan");
        for &request in &waited {
            assert!(thread.marks.free_ns[request] >= to_ns, "no connection was free before");
        }
    }
}

#[test]
fn the_closed_loop_keeps_every_connection_busy() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let job = Job {
            find_max: true,
            duration: "30s".into(), // it ends when its plan is used up
            requests_max: 20_000,
            depth: 4,
            ..job(&server, transport)
        };
        let got = run(job);
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        assert!(got.result.requests > 100);
        let thread = &got.run.threads[0];
        let used: std::collections::BTreeSet<u32> =
            thread.marks.connection.iter().copied().collect();
        assert_eq!(used.len(), 8, "{transport}");
    }
}

#[test]
fn a_closed_loop_that_uses_up_its_plan_says_so() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let job = Job { find_max: true, warmup: "0s".into(), ..job(&server, transport) };
        let got = run(Job { duration: "30s".into(), requests_max: 500, ..job });
        assert_eq!(got.result.requests, 500, "{transport}");
        assert_eq!(got.result.verdict, Verdict::Unknown, "{transport}");
        let plan = |why: &&String| why.starts_with("plan: all 500 requests");
        let reason = got.result.reasons.iter().find(plan).unwrap();
        assert!(reason.contains("raise requests_max"), "{transport}: {reason}");
        assert!(!got.run.was_lost);
    }
}

#[test]
fn a_result_in_a_file_has_the_table_beside_it() {
    let server = Server::start(Behaviour::Good);
    let json = std::env::temp_dir().join(format!("sojourn-beside-{}", std::process::id()));
    let target = format!("memcache://127.0.0.1:{}", server.port());
    let words =
        ["sojourn-load", &target, "--duration", "100ms", "--warmup", "0s", "--items", "100"];
    let words = words.into_iter().chain(["--json", json.to_str().unwrap()]).map(OsString::from);
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    program::main(words, &Arc::new(AtomicBool::new(false)), &mut out, &mut talk);
    let (out, written) = (String::from_utf8(out).unwrap(), std::fs::read_to_string(&json).unwrap());
    assert!(out.contains("verdict") && out.contains(&target), "{out}");
    let result: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(result["addresses"][0], target["memcache://".len()..]);
    std::fs::remove_file(&json).unwrap();
}

#[test]
fn what_can_be_written_is_written_whatever_cannot() {
    let hlog = std::env::temp_dir().join(format!("sojourn-full-{}", std::process::id()));
    let log = ["--hlog", hlog.to_str().unwrap(), "--duration", "50ms", "--warmup", "0s"];
    let run = |more: &[&str], out: &mut dyn std::io::Write| {
        let words = ["sojourn-load", "null:"].iter().chain(&log).chain(more).map(OsString::from);
        program::main(words, &Arc::new(AtomicBool::new(false)), out, &mut Vec::new())
    };
    let mut out = Vec::new();
    assert_eq!(run(&["--json", "/dev/full"], &mut out), 4);
    assert!(String::from_utf8(out).unwrap().contains("verdict"), "the result has a table");
    std::fs::remove_file(&hlog).unwrap();
    let mut gone = std::fs::File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(run(&[], &mut gone), 4);
    std::fs::remove_file(&hlog).unwrap();
}

#[test]
fn a_job_that_is_refused_leaves_no_files() {
    let folder = std::env::temp_dir().join(format!("sojourn-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [json, hlog] = ["new.json", "old.hlog"].map(|name| folder.join(name));
    std::fs::write(&hlog, "kept").unwrap();
    let flags = ["--value-size", "exponental:1k", "--json", json.to_str().unwrap()];
    let words = ["sojourn-load", "echo://127.0.0.1:9", "--hlog", hlog.to_str().unwrap()];
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    let words = words.into_iter().chain(flags).map(OsString::from);
    let exit = program::main(words, &Arc::new(AtomicBool::new(false)), &mut out, &mut talk);
    assert_eq!(exit, 2, "{}", String::from_utf8_lossy(&talk));
    assert!(!json.exists());
    assert_eq!(std::fs::read(&hlog).unwrap(), b"kept");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_probe_measures_beside_the_load_and_is_not_counted_with_it() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let got = run(Job { probe_rate: 200.0, ..job(&server, transport) });
        let probe = got.result.probe_sojourn_ns.as_ref().unwrap();
        assert!((60..240).contains(&probe.count), "{transport}: {} in 600 ms", probe.count);
        assert_eq!(probe.lost, 0);
        let load = got.run.threads[0].plan.intended_ns.len() as u64;
        assert!(server.requests() >= load + probe.count);
        assert!(got.run.threads[0].marks.connection.iter().all(|&connection| connection < 8));
    }
}

#[test]
fn preload_sets_every_item_and_notices_what_is_lost() {
    let server = Server::start(Behaviour::Good);
    let with_preload = |server: &Server| Job { preload: true, ..job(server, "epoll") };
    run(with_preload(&server));
    assert_eq!(server.sets(), 100);
    let forgetful = Server::start(Behaviour::Forgets(13));
    let resolved = resolve(with_preload(&forgetful)).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let fault = measure(&resolved, &stop, &mut Progress::new(Form::Off)).unwrap_err();
    assert!(fault.what.contains("lost 8 of 100"), "{fault}");
}

#[test]
fn every_connection_comes_from_a_source_that_of_the_preload_too() {
    let server = Server::start(Behaviour::Good);
    let source = "127.0.0.2,127.0.0.3".into();
    let got = run(Job { preload: true, source, connections: 3, ..job(&server, "epoll") });
    assert!(got.result.errors.is_empty(), "{:?}", got.result.errors);
    let peers: Vec<String> = server.peers().iter().map(ToString::to_string).collect();
    assert_eq!(peers, ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.2"], "the preload's first");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let port = Server::start(Behaviour::Good).port_after_end();
    let job = Job { target: format!("memcache://127.0.0.1:{port}"), ..Job::default() };
    let resolved = resolve(job).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let fault = measure(&resolved, &stop, &mut Progress::new(Form::Off)).unwrap_err();
    assert_eq!(fault.exit, 4);
    assert!(fault.fix.contains("start the server"), "{fault}");
}

#[test]
fn threads_share_connections_and_load() {
    let server = Server::start(Behaviour::Good);
    let got = run(Job { threads: 3, connections: 7, ..job(&server, "epoll") });
    assert_eq!(got.run.threads.len(), 3);
    assert!(got.result.errors.is_empty(), "{:?}", got.result.errors);
    let sent: usize = got.run.threads.iter().map(|it| it.plan.intended_ns.len()).sum();
    assert_eq!(server.requests(), sent as u64);
}

#[test]
fn a_check_says_what_is_wrong_and_sends_nothing() {
    let server = Server::start(Behaviour::Good);
    let target = format!("memcache://127.0.0.1:{}", server.port());
    let check = |words: &[&str]| {
        let words = ["sojourn-load", target.as_str(), "--check"].into_iter().chain(words.to_vec());
        let (mut out, mut talk) = (Vec::new(), Vec::new());
        let stop = Arc::new(AtomicBool::new(false));
        let exit = program::main(words.map(OsString::from), &stop, &mut out, &mut talk);
        assert!(out.is_empty());
        (exit, String::from_utf8(talk).unwrap())
    };
    assert_eq!(check(&["--rate", "1k", "--duration", "10s"]), (0, String::new()));
    for (flag, value) in [
        ("--value-size", "exponental:1k"),
        ("--arrivals", "poison"),
        ("--popularity", "zipf:-1"),
        ("--duration", "3000d"),
        ("--probe-rate", "1e9"),
    ] {
        let (exit, talk) = check(&[flag, value]);
        assert_eq!(exit, 2, "{flag} {value}: {talk}");
        assert!(talk.contains("at: ") && talk.contains("fix: "), "{talk}");
    }
    assert_eq!(server.requests(), 0);
}
