//! PostgreSQL: whole runs against a small server that is as good or bad as a test needs it, and against
//! the real one where it is installed.

mod fake;
mod real;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use fake::{GOOD, Manner, PASSWORD, Way};
use sojourn_base::Fault;
use sojourn_load::job::Job;
use sojourn_load::judge::result::Verdict;
use sojourn_load::plan::resolve::resolve;
use sojourn_load::protocols::Outcome;

use super::mirror::{Folder, listen};
use super::{mirror, run, usable};

/// 500 requests a second for one row each, on four connections.
fn job(port: u16, transport: &str) -> Job {
    Job {
        query: vec!["SELECT name FROM goods WHERE id = {}".into()],
        items: 50,
        ..mirror::job(format!("postgres://me@127.0.0.1:{port}/shop"), transport)
    }
}

/// A file with a password, and what `auth` says of it.
fn password(folder: &Folder, text: &str) -> String {
    let path = folder.0.join("password");
    std::fs::write(&path, format!("{text}\n")).unwrap();
    format!("password:file:{}", path.display())
}

/// Why a job's connections cannot be opened.
fn refused(job: Job) -> Fault {
    let resolved = resolve(job).unwrap();
    let protocol = sojourn_load::drive::ready::check(&resolved).unwrap();
    sojourn_load::drive::ready::prepare(&resolved, protocol, &Arc::default()).err().unwrap()
}

#[test]
fn rows_are_asked_for_prepared_or_as_text_whatever_proves_the_password() {
    let folder = Folder::new();
    let ways = [Way::Trust, Way::Clear, Way::Scram];
    for (way, prepared) in ways.into_iter().flat_map(|way| [(way, "true"), (way, "false")]) {
        for transport in usable() {
            let (port, seen) = fake::start(Manner { way, ..GOOD });
            let got = run(Job {
                auth: password(&folder, PASSWORD),
                option: [("prepared".into(), prepared.into())].into(),
                expect_regex: r"^row \d+$".into(),
                ..job(port, transport)
            });
            let (result, of) = (&got.result, format!("{way:?}, prepared {prepared}, {transport}"));
            assert!(result.errors.is_empty(), "{of}: {:?}", result.errors);
            let sent = got.run.threads[0].plan.intended_ns.len() as u64;
            assert_eq!(seen.requests.load(SeqCst), sent, "{of}");
            assert_eq!(result.replies.rows, Some(sent), "{of}");
            assert!(result.replies.checked > 50 && result.replies.failed.is_empty(), "{of}");
            assert_eq!(result.replies.bytes_max, Some(6), "{of}: row 49");
            let parsed = if prepared == "true" { seen.connections.load(SeqCst) } else { 0 };
            assert_eq!(seen.parsed.load(SeqCst), parsed, "{of}: once a connection");
        }
    }
}

#[test]
fn a_stall_is_reported_in_full_by_every_request_that_was_due_in_it() {
    for transport in usable() {
        let length = Duration::from_millis(150);
        let (port, seen) = fake::start(Manner { stall_after: 400, stall: length, ..GOOD });
        let got = run(Job { rate: "2k".into(), duration: "3s".into(), ..job(port, transport) });
        let (from, to) = seen.stall.lock().unwrap().expect("it stalled");
        let (from_ns, to_ns) = (from - got.run.start_ns, to - got.run.start_ns);
        let thread = &got.run.threads[0];
        let mut in_it = 0;
        for (request, &due_ns) in thread.plan.intended_ns.iter().enumerate() {
            if due_ns > from_ns && due_ns < to_ns {
                in_it += 1;
                assert!(thread.marks.done_ns[request] >= to_ns, "{transport}: told too early");
            }
        }
        assert!(in_it > 100, "{transport}: {in_it} requests were due in 150 ms at 2k/s");
        assert!(thread.marks.outcome.iter().all(|&it| it == Outcome::Hit), "{transport}");
        let max = got.result.sojourn_all_ns.max.unwrap();
        assert!(max >= 100_000_000, "{transport}: of 150 ms, {max} ns");
    }
}

#[test]
fn what_the_server_refuses_has_failed_and_its_words_are_passed_on() {
    for transport in usable() {
        let (port, _) = fake::start(Manner { refuse_every: 5, ..GOOD });
        let result = run(job(port, transport)).result;
        let failed = result.errors["status"];
        assert!(failed * 6 > result.requests && failed * 4 < result.requests, "{transport}");
        let text = "ERROR 40001: could not serialize access";
        assert!(result.reasons.iter().any(|why| why.contains(text)), "{:?}", result.reasons);
        assert!(result.notes.iter().any(|note| note.contains(text)), "{:?}", result.notes);
    }
}

#[test]
fn replies_that_find_nothing_are_no_success_unless_they_may() {
    let (port, _) = fake::start(Manner { is_empty: true, ..GOOD });
    let result = run(job(port, "epoll")).result;
    assert_eq!(result.verdict, Verdict::Unknown);
    let is_reported = |why: &String| why.contains("empty body");
    assert!(result.reasons.iter().any(is_reported), "{:?}", result.reasons);
    let result = run(Job { allow_empty: true, ..job(port, "epoll") }).result;
    assert!(!result.reasons.iter().any(is_reported), "{:?}", result.reasons);
}

#[test]
fn a_pooler_that_shares_connections_is_asked_by_text_and_named_where_it_is_not() {
    for transport in usable() {
        let pooler = || fake::start(Manner { is_pooler: true, ..GOOD }).0;
        let fault = refused(job(pooler(), transport));
        assert!(fault.what.contains("42P05"), "{transport}: {fault}");
        assert!(fault.fix.contains("pooler") && fault.fix.contains("prepared=false"), "{fault}");
        let option = [("prepared".into(), "false".into())].into();
        let got = run(Job { option, ..job(pooler(), transport) });
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
    }
}

#[test]
fn a_server_that_does_not_let_us_in_is_reported_with_what_would_fix_it() {
    let folder = Folder::new();
    for way in [Way::Clear, Way::Scram] {
        let (port, _) = fake::start(Manner { way, ..GOOD });
        let fault = refused(Job { auth: password(&folder, "hunter2"), ..job(port, "epoll") });
        assert!(fault.what.contains("28P01: password authentication failed"), "{fault}");
        assert!(fault.fix.contains("--auth") && !fault.to_string().contains("hunter2"), "{fault}");
        let fault = refused(job(port, "epoll"));
        assert!(fault.what.contains("needs a password"), "{fault}");
    }
    let (port, _) = fake::start(Manner { way: Way::Gss, ..GOOD });
    let fault = refused(job(port, "epoll"));
    assert!(fault.what.contains("GSSAPI") && fault.fix.contains("scram-sha-256"), "{fault}");
    let web = listen(|mut stream| {
        let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        mirror::mirror(stream, 1, || ());
    });
    let fault = refused(job(web, "epoll"));
    assert!(
        fault.what.contains("does not speak") && fault.what.contains("HTTP/1.1 400"),
        "{fault}"
    );
}
