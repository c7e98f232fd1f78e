//! Long runs, which go through a ring segment by segment: the same as in one piece.

use std::time::Duration;

use sojourn_load::job::Job;

use super::server::{Behaviour, Server, job};
use super::{run, run_until, usable};

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
