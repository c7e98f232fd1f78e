//! When a run begins and ends: at an instant that is given, and at a signal.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use sojourn_base::clock::{Clock, Monotonic};
use sojourn_load::drive::progress::{Form, Progress};
use sojourn_load::job::Job;
use sojourn_load::measure::{Judged, measure};
use sojourn_load::plan::resolve::resolve;
use sojourn_load::protocols::Outcome;

use super::server::{Behaviour, Server, job};
use super::{run_until, usable};

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
