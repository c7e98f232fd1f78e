use crate::drive::measurement::fake;
use crate::job::Job;
use crate::judge::result::{RunResult, Verdict};
use crate::judge::summary::summarise;
use crate::protocols::Outcome;

/// All requests end so, but the first in `first`.
fn all_end(outcome: Outcome, first: Outcome, heard: &[u8]) -> RunResult {
    let job = Job { target: "echo://127.0.0.1:7777".into(), ..fake::job() };
    let mut run = fake::run(job, 200_000, 30_000);
    run.threads[0].marks.outcome.fill(outcome);
    run.threads[0].marks.outcome[0] = first;
    run.threads[0].heard = heard.to_vec();
    summarise(&run).unwrap()
}

#[test]
fn a_server_that_speaks_another_protocol_is_the_one_reason() {
    for outcome in [Outcome::Garbled, Outcome::Closed, Outcome::Pending, Outcome::TimedOut] {
        let result = all_end(outcome, outcome, b"ERROR\r\n");
        assert_eq!(result.verdict, Verdict::Unknown);
        let [reason] = &result.reasons[..] else { panic!("{:?}", result.reasons) };
        assert!(reason.starts_with("protocol: connected"), "{reason}");
        for part in [r"ERROR\r\n", "in echo", "127.0.0.1:7777"] {
            assert!(reason.contains(part), "{part} in {reason}");
        }
    }
    assert!(all_end(Outcome::Pending, Outcome::Pending, b"").reasons[0].contains("nothing came"));
}

#[test]
fn the_first_bytes_tell_which_protocol_it_looks_like() {
    let status =
        |heard: &[u8]| all_end(Outcome::Garbled, Outcome::Garbled, heard).reasons.remove(0);
    assert!(status(b"ERROR\r\n").ends_with("ask memcache://127.0.0.1:7777"));
    assert!(status(b"\x15\x03\x01\0\x02").ends_with("ask https://127.0.0.1:7777"));
    assert!(status(b"SSH-2.0").contains("SSH, which is not supported here"));
    assert!(status(b"what?").contains("probably speaks another protocol"));
}

/// A run of a web server in which all requests end so, after a part of the reply or before it.
fn web(outcome: Outcome, has_begun: bool, status: &str) -> String {
    let job = Job { target: "http://127.0.0.1:80/".into(), timeout: "1s".into(), ..fake::job() };
    let mut run = fake::run(job, 0, 30_000);
    run.threads[0].marks.outcome.fill(outcome);
    if has_begun {
        run.threads[0].heard = b"HTTP/1.1 200 OK\r\nContent-".to_vec();
    } else {
        run.threads[0].marks.first_byte_ns.fill(0);
    }
    if !status.is_empty() {
        run.statuses = [(status.to_string(), 7)].into();
    }
    summarise(&run).unwrap().reasons.remove(0)
}

#[test]
fn a_server_of_this_protocol_is_not_taken_for_one_of_another() {
    use Outcome::{Closed, Garbled, Pending, TimedOut};
    let length = "refused: a Content-Length that is not a number, or two that differ";
    for (outcome, has_begun, status, part) in [
        (TimedOut, false, "", "takes longer than 1 s: raise timeout"),
        (TimedOut, true, "", "were not complete within 1 s: raise timeout"),
        (Closed, true, "", "replies were cut off"),
        (Closed, false, "", "closed the connection without a reply"),
        (Pending, false, "", "raise drain"),
        (Garbled, true, length, "7 replies were refused because of a Content-Length"),
        (Garbled, true, "refused: a reply without grpc-status", "is gRPC served on this port?"),
    ] {
        let reason = web(outcome, has_begun, status);
        assert!(reason.starts_with("protocol: connected"), "{reason}");
        assert!(reason.contains(part), "{part} in {reason}");
        assert!(!reason.contains("probably speaks another"), "{reason}");
    }
}

#[test]
fn what_went_wrong_with_tls_goes_before_all_guesses() {
    let job = Job { target: "https://h/".into(), ..fake::job() };
    let mut run = fake::run(job, 0, 30_000);
    run.threads[0].marks.outcome.fill(Outcome::Closed);
    let wrong = "it asks for a client's certificate; give --cert".into();
    run.threads[0].tls = Some(crate::transports::tls::Seen { wrong, ..Default::default() });
    let reason = summarise(&run).unwrap().reasons.remove(0);
    assert!(reason.contains("over TLS: it asks for a client's certificate"), "{reason}");
}

#[test]
fn one_reply_that_follows_the_protocol_is_enough() {
    for first in [Outcome::Hit, Outcome::Miss, Outcome::Status, Outcome::Content] {
        let reasons = all_end(Outcome::Garbled, first, b"x").reasons;
        assert!(!reasons.iter().any(|why| why.starts_with("protocol")), "{reasons:?}");
        assert!(!reasons.is_empty(), "the other checks are asked again");
    }
}

#[test]
fn a_server_that_has_greeted_waits_for_no_other_protocol() {
    let of = |target: &str, outcome: Outcome, heard: &[u8]| {
        let job = Job { target: target.into(), timeout: "1s".into(), ..fake::job() };
        let mut run = fake::run(job, 0, 30_000);
        run.threads[0].marks.outcome.fill(outcome);
        run.threads[0].marks.first_byte_ns.fill(0);
        run.threads[0].heard = heard.to_vec();
        summarise(&run).unwrap().reasons.remove(0)
    };
    for outcome in [Outcome::TimedOut, Outcome::Closed, Outcome::Pending] {
        for target in ["postgres://me@h/d", "h2c://h/", "grpc://h/a.B/C"] {
            let why = of(target, outcome, b"");
            assert!(!why.contains("another protocol") && !why.contains("wants TLS"), "{why}");
        }
        assert!(of("http://h/", outcome, b"").contains("another protocol"));
    }
    let begun = of("http://h/", Outcome::Pending, b"HTTP/1.1 200 OK\r\n\r\nhello");
    assert!(!begun.contains("another protocol"), "{begun}");
}
