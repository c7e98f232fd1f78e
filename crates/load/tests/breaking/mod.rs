//! Servers that close, die, say nonsense or nothing: what that costs a run, and no more.

use std::time::{Duration, Instant};

use sojourn_load::job::Job;
use sojourn_load::judge::result::Verdict;
use sojourn_load::protocols::Outcome;

use super::server::{Behaviour, Server, job};
use super::{run, usable};

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
