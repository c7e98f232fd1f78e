//! Whole runs against servers that behave, stall, break and lie. What is checked holds on any
//! machine, however busy: bounds that follow from what the server did, and counts.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

mod http2;
mod losses;
mod mirror;
mod postgres;
mod replies;
mod server;
mod sessions;
mod stores;
mod tls;
mod unix;
mod usual;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use server::{Behaviour, Server, job};
use sojourn_base::clock::{Clock, Monotonic};
use sojourn_load::drive::progress::{Form, Progress};
use sojourn_load::job::Job;
use sojourn_load::job::shards::Shards;
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
fn a_server_that_closes_now_and_then_costs_those_requests_and_no_more() {
    for transport in usable() {
        let server = Server::start(Behaviour::CloseAfter(50));
        let got = run(Job { depth: 1, ..job(&server, transport) });
        let thread = &got.run.threads[0];
        let of = |outcome| thread.marks.outcome.iter().filter(|&&it| it == outcome).count();
        assert!(thread.reconnects > 5, "{transport}: {} reconnects", thread.reconnects);
        assert!(of(Outcome::Closed) <= thread.reconnects as usize + 8, "{transport}");
        assert_eq!(of(Outcome::Closed) + of(Outcome::Hit), thread.plan.intended_ns.len());
        assert!(!got.run.was_lost);
    }
}

#[test]
fn a_server_that_closes_after_each_reply_sets_the_pace_itself() {
    for transport in usable() {
        let server = Server::start(Behaviour::CloseAfter(1));
        let got = run(Job { find_max: true, depth: 1, ..job(&server, transport) });
        let result = &got.result;
        let broke = result.checks.broken_connections;
        assert!(broke > 200, "{transport}: {broke}");
        assert!(result.notes.iter().any(|note| note.contains("broke")), "{transport}");
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons.iter().any(|why| why.contains("pace")), "{:?}", result.reasons);
    }
}

#[test]
fn a_server_that_dies_ends_the_run_with_what_was_measured() {
    for transport in usable() {
        let server = Server::start(Behaviour::DieAfter(300));
        let start = Instant::now();
        let got = run(Job { duration: "30s".into(), ..job(&server, transport) });
        assert!(start.elapsed() < Duration::from_secs(20), "{transport}: it gives up");
        assert!(got.run.was_lost, "{transport}");
        let thread = &got.run.threads[0];
        let hits = thread.marks.outcome.iter().filter(|&&it| it == Outcome::Hit).count();
        assert!((1..=300).contains(&hits), "{transport}: {hits}");
        assert_eq!(got.result.verdict, Verdict::Unknown);
        assert!(got.result.reasons[0].starts_with("server lost"), "{:?}", got.result.reasons);
    }
}

#[test]
fn garbage_is_counted_and_the_run_goes_on() {
    for transport in usable() {
        let server = Server::start(Behaviour::GarbageEvery(40));
        let got = run(Job { depth: 1, ..job(&server, transport) });
        assert!(got.result.errors["garbled"] > 5, "{transport}: {:?}", got.result.errors);
        let hits = got.result.requests - got.result.errors.values().sum::<u64>();
        assert!(hits > got.result.requests / 2, "{transport}: {:?}", got.result.errors);
    }
}

#[test]
fn a_server_of_another_protocol_is_recognised_by_its_first_bytes() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let target = format!("resp://127.0.0.1:{}", server.port());
        let got = run(Job { target, drain: "200ms".into(), ..job(&server, transport) });
        let reasons = &got.result.reasons;
        assert!(reasons[0].starts_with("protocol: connected"), "{transport}: {reasons:?}");
        assert!(reasons[0].contains("begins with \"ERROR"), "{transport}: {reasons:?}");
    }
}

#[test]
fn a_server_that_never_answers_costs_the_drain_and_no_more() {
    for transport in usable() {
        let server = Server::start(Behaviour::Mute);
        let start = Instant::now();
        let job = Job { drain: "200ms".into(), depth: 1, ..job(&server, transport) };
        let got = run(job);
        assert!(start.elapsed() < Duration::from_secs(10), "{transport}");
        let errors: u64 = got.result.errors.values().sum();
        assert_eq!(errors, got.result.requests, "{transport}: {:?}", got.result.errors);
        assert_eq!(got.result.sojourn_all_ns.p50, None, "never done is infinite");
        assert!(got.result.reasons[0].contains("nothing came back"), "{:?}", got.result.reasons);
        let advice = got.result.notes.iter().find(|note| note.contains("more connections"));
        assert_eq!(advice, None, "{transport}: nor would it help");
        // What was never sent for want of a connection is the server's doing, not a late client.
        let (unsent, checks) = (got.result.errors["unsent"], &got.result.checks);
        assert!(unsent > got.result.requests / 2, "{transport}: {unsent} unsent");
        assert!(checks.waited_share >= unsent as f64 / got.result.requests as f64);
        assert!(checks.pick_up_timely_ratio >= checks.waited_share, "{transport}: {checks:?}");
    }
}

/// A server, an instant so many seconds from now, and two runs that begin then; `None` if it was too soon.
fn begun_together(seconds: f64) -> Option<(Server, u64, [Judged; 2])> {
    let server = Server::start(Behaviour::Good);
    let start_at = Monotonic.now_ns() + (seconds * 1e9) as u64;
    let both = [7, 8].map(|seed| {
        let part = Job { start_at, seed, rate: "1k".into(), ..job(&server, "epoll") };
        thread::spawn(move || {
            let stop = Arc::new(AtomicBool::new(false));
            measure(&resolve(part).unwrap(), &stop, &mut Progress::new(Form::Off))
        })
    });
    let [one, other] = both.map(|it| it.join().unwrap()).map(|got| match got {
        Ok(got) => Some(got),
        Err(fault) if fault.at == "start_at" => None,
        Err(fault) => panic!("{fault}"),
    });
    Some((server, start_at, [one?, other?]))
}

#[test]
fn generators_that_are_given_one_instant_begin_at_it() {
    // A machine that is busy with others may not have both ready by then: later, it has.
    let seconds = [1.5, 5.0, 15.0];
    let (server, start_at, both) = seconds.into_iter().find_map(begun_together).unwrap();
    for got in &both {
        assert_eq!((got.result.start_ns, got.result.job.start_at), (start_at, start_at));
        assert!(got.result.errors.is_empty(), "{:?}", got.result.errors);
    }
    let first_ns = server.first_ns().unwrap();
    assert!(first_ns >= start_at, "a request came {} ns before", start_at - first_ns);
    assert_ne!(both[0].run.threads[0].plan.intended_ns, both[1].run.threads[0].plan.intended_ns);
}

#[test]
fn a_run_that_is_not_ready_at_its_start_is_none() {
    let server = Server::start(Behaviour::Good);
    let mut resolved = resolve(job(&server, "epoll")).unwrap();
    resolved.job.start_at = Monotonic.now_ns();
    let stop = Arc::new(AtomicBool::new(false));
    let fault = measure(&resolved, &stop, &mut Progress::new(Form::Off)).unwrap_err();
    assert!(fault.at == "start_at" && fault.what.contains("after its start"), "{fault}");
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_signal_ends_the_run_with_what_was_due_until_then() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let stop = server.flag_after(600);
        let start = Instant::now();
        let got = run_until(Job { duration: "60s".into(), ..job(&server, transport) }, &stop);
        assert!(start.elapsed() < Duration::from_secs(50), "{transport}");
        assert!(got.was_interrupted);
        let thread = &got.run.threads[0];
        let stopped_ns = thread.stopped_ns.unwrap();
        assert!(thread.plan.intended_ns.iter().all(|&ns| ns <= stopped_ns));
        assert!(thread.marks.outcome.iter().all(|&it| it == Outcome::Hit), "{transport}: drained");
    }
}

#[test]
fn a_signal_is_heard_though_the_server_is_silent_and_the_drain_is_long() {
    for transport in usable() {
        let server = Server::start(Behaviour::Mute);
        let stop = server.flag_after(4);
        let (drain, timeout, duration) = ("1h".into(), "1h".into(), "1h".into());
        let (rate, warmup) = ("100".into(), "0s".into());
        let job = Job { drain, timeout, duration, rate, warmup, ..job(&server, transport) };
        let start = Instant::now();
        let got = run_until(job, &stop);
        assert!(start.elapsed() < Duration::from_secs(600), "{transport}: of an hour's drain");
        assert!(got.was_interrupted && got.result.requests > 0, "{transport}");
    }
}

/// A job that goes through a ring, and the file of its seconds.
fn in_segments(job: Job, name: &str) -> (Job, std::path::PathBuf) {
    let path = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
    (Job { seconds: path.to_str().unwrap().into(), ..job }, path)
}

#[test]
fn in_segments_every_request_is_sent_once_and_answered_and_the_probe_is_beside_them() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let job = Job { probe_rate: 200.0, threads: 2, ..job(&server, transport) };
        let (job, path) = in_segments(job, "good");
        let got = run(job);
        std::fs::remove_file(path).unwrap();
        let outcome = got.run.long.as_ref().unwrap();
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        assert_eq!(got.result.sojourn_all_ns.count, got.result.requests);
        assert_eq!(outcome.counts.sent, outcome.counts.understood);
        let probe = got.result.probe_sojourn_ns.as_ref().unwrap();
        assert!((60..240).contains(&probe.count) && probe.lost == 0, "{transport}: {probe:?}");
        assert!(server.requests() >= outcome.counts.sent + probe.count, "{transport}");
        assert!(outcome.counts.sent > got.result.requests, "the warm-up is sent too");
    }
}

#[test]
fn in_segments_a_stall_is_reported_in_full() {
    for transport in usable() {
        let stall = Behaviour::Stall { after: 400, length: Duration::from_millis(150) };
        let server = Server::start(stall);
        let long = Job { duration: "3s".into(), ..job(&server, transport) };
        let (long, path) = in_segments(long, "stall");
        let got = run(long);
        std::fs::remove_file(path).unwrap();
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        let max = got.result.sojourn_all_ns.max.unwrap();
        assert!(max >= 100_000_000, "{transport}: of 150 ms, {max} ns");
    }
}

#[test]
fn in_segments_what_breaks_and_what_is_never_answered_counts_as_in_one_piece() {
    for transport in usable() {
        let server = Server::start(Behaviour::CloseAfter(50));
        let (job_, path) = in_segments(Job { depth: 1, ..job(&server, transport) }, "close");
        let got = run(job_);
        std::fs::remove_file(path).unwrap();
        let (reconnects, counts) =
            (got.run.threads[0].reconnects, got.run.long.as_ref().unwrap().counts);
        assert!(reconnects > 5, "{transport}: {reconnects} reconnects");
        assert!(counts.closed <= reconnects + 8, "{transport}: {counts:?}");
        assert_eq!(counts.closed + counts.understood, counts.sent, "{transport}");
        assert!(!got.run.was_lost);

        let server = Server::start(Behaviour::Mute);
        let mute = Job { drain: "200ms".into(), depth: 1, ..job(&server, transport) };
        let whole = run(mute.clone()).result;
        let (mute, path) = in_segments(mute, "mute");
        let parts = run(mute).result;
        std::fs::remove_file(path).unwrap();
        assert_eq!(whole.errors, parts.errors, "{transport}: all but 8 are never sent");
        assert_eq!(whole.checks.waited_share, parts.checks.waited_share, "{transport}");
    }
}

#[test]
fn in_segments_a_signal_ends_the_run_with_what_was_due_until_then() {
    for transport in usable() {
        let server = Server::start(Behaviour::Good);
        let stop = server.flag_after(1200);
        let hour = Job { duration: "1h".into(), ..job(&server, transport) };
        let (hour, path) = in_segments(hour, "signal");
        let got = run_until(hour, &stop);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert!(got.was_interrupted && got.result.errors.is_empty(), "{transport}");
        let measured_s = got.result.measured_s;
        let expected = measured_s * 2000.0;
        let off = (got.result.requests as f64 - expected).abs();
        assert!(off < 6.0 * expected.sqrt() + 1.0, "{transport}: {off} of {expected}");
        assert_eq!(text.lines().count() as f64, measured_s.ceil(), "the last second is cut");
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

/// The job, of both servers.
fn sharded(servers: [&Server; 2], transport: &str) -> Job {
    let [first, second] = servers.map(|server| format!("127.0.0.1:{}", server.port()));
    Job { target: format!("memcache://{first},{second}"), ..job(servers[0], transport) }
}

#[test]
fn several_servers_are_filled_and_asked_each_for_its_own_keys() {
    for transport in usable() {
        for find_max in [false, true] {
            let servers = [Server::start(Behaviour::Good), Server::start(Behaviour::Good)];
            let both = sharded([&servers[0], &servers[1]], transport);
            let judged = run(Job { preload: true, find_max, probe_rate: 50.0, ..both });
            assert_eq!(servers[0].sets() + servers[1].sets(), 100, "each item once");
            assert!(servers.iter().all(|server| server.sets() > 0 && server.requests() > 0));
            let outcomes = &judged.run.threads[0].marks.outcome;
            assert!(!outcomes.is_empty() && outcomes.iter().all(|&it| it == Outcome::Hit));
        }
    }
}

#[test]
fn a_server_is_never_asked_for_the_keys_of_another() {
    let servers = [Server::start(Behaviour::Good), Server::start(Behaviour::Mute)];
    let both = sharded([&servers[0], &servers[1]], "epoll");
    let judged = run(Job { drain: "100ms".into(), ..both });
    let (shards, thread) = (Shards::new(2, 100), &judged.run.threads[0]);
    let asked = || thread.plan.item.iter().map(|&item| shards.of(item)).zip(&thread.marks.outcome);
    assert!(asked().all(|(shard, &outcome)| shard == 0 || outcome != Outcome::Hit));
    assert!(asked().any(|(shard, &outcome)| shard == 0 && outcome == Outcome::Hit));
}

#[test]
fn what_several_servers_cannot_do_is_refused() {
    let server = Server::start(Behaviour::Good);
    let both = sharded([&server, &server], "epoll");
    let refused = |job: Job| resolve(job).unwrap_err().at;
    assert_eq!(refused(Job { connections: 1, ..both.clone() }), "connections");
    assert_eq!(refused(Job { items: 63, ..both.clone() }), "items");
    assert_eq!(refused(Job { multiget_share: 0.1, ..both.clone() }), "multiget_share");
    assert_eq!(refused(Job { target: "resp://127.0.0.1,127.0.0.2".into(), ..both }), "target");
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
