//! HTTP/2 against servers of ours that do what they like, and a real one.

mod leaving;
mod peer;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sojourn_load::job::Job;
use sojourn_load::measure::Judged;
use sojourn_load::protocols::Outcome;

use super::mirror::{Folder, Program, job, listen, mirror};
use super::tls::{fault, file};
use super::{run, usable};
use peer::{Manner, Peer};

const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn to(peer: &Peer, transport: &str) -> Job {
    let target = format!("h2c://127.0.0.1:{}/", peer.port);
    Job { rate: "1000".into(), depth: 8, connections: 2, ..job(target, transport) }
}

fn count(got: &Judged, outcome: Outcome) -> u64 {
    got.run.threads[0].marks.outcome.iter().filter(|&&it| it == outcome).count() as u64
}

fn planned(got: &Judged) -> u64 {
    got.run.threads[0].plan.op.len() as u64
}

#[test]
fn many_are_in_flight_on_a_connection_and_no_more_than_the_server_takes() {
    for transport in usable() {
        for wait in ["sleep", "spin"] {
            let peer = Peer::start(Manner::Takes(3));
            let expect_sha256 = HELLO.into();
            let got = run(Job { wait: wait.into(), expect_sha256, ..to(&peer, transport) });
            assert_eq!(count(&got, Outcome::Hit), planned(&got), "{transport}, {wait}");
            assert_eq!(peer.seen.requests.load(SeqCst), planned(&got));
            assert_eq!(peer.seen.open_max.load(SeqCst), 3, "{transport}: of 8 asked for");
            assert_eq!(got.result.checks.reconnects, 0);
            assert!(got.result.replies.checked > 50 && got.result.replies.failed.is_empty());
            assert!(got.run.threads[0].marks.first_byte_ns.iter().all(|&ns| ns > 0));
        }
    }
}

#[test]
fn a_stall_is_reported_in_full_by_every_request_that_was_due_in_it() {
    for transport in usable() {
        let peer = Peer::start(Manner::Stalls(100, Duration::from_millis(150)));
        let got = run(to(&peer, transport));
        let (from_ns, to_ns) = peer.seen.stall.lock().unwrap().expect("it has stalled");
        let [from_ns, to_ns] = [from_ns, to_ns].map(|ns| ns - got.run.start_ns);
        let thread = &got.run.threads[0];
        let due = thread.plan.intended_ns.iter().zip(&thread.marks.done_ns);
        let in_it: Vec<u64> =
            due.filter(|&(due, _)| (from_ns..to_ns).contains(due)).map(|(_, &done)| done).collect();
        assert!(in_it.len() > 50, "{transport}: {} requests were due in 150 ms", in_it.len());
        assert!(in_it.iter().all(|&ns| ns == 0 || ns >= to_ns), "{transport}: told too early");
        assert_eq!(count(&got, Outcome::Hit), planned(&got), "{transport}: late, and not lost");
    }
}

/// RFC 9113, 6.8: what the server has not looked at may be sent again, and is, once each.
#[test]
fn a_server_that_goes_away_is_left_in_order_and_nothing_is_lost() {
    for transport in usable() {
        let peer = Peer::start(Manner::GoesAway(60));
        let got = run(to(&peer, transport));
        assert_eq!(
            count(&got, Outcome::Hit),
            planned(&got),
            "{transport}: {:?}",
            got.result.errors
        );
        assert!(got.result.replies.statuses.is_empty(), "{:?}", got.result.replies.statuses);
        let (seen, checks) = (peer.seen.requests.load(SeqCst), &got.result.checks);
        let sent = planned(&got) + checks.sent_again;
        assert!((planned(&got)..=sent).contains(&seen), "{transport}: {seen} of {sent} sent");
        let connections = peer.seen.connections.load(SeqCst);
        let hits = planned(&got);
        assert!(hits <= connections * 60 && hits >= (connections - 2) * 60, "{transport}");
        assert!(checks.reconnects >= 5, "{transport}");
        assert_eq!(checks.broken_connections, 0, "{transport}: it says when it goes");
        let is_reported = got.result.notes.iter().any(|note| note.contains("sent again"));
        assert_eq!(is_reported, checks.sent_again > 0, "{:?}", got.result.notes);
        let thread = &got.run.threads[0];
        let sent = thread.marks.sent_ns.iter().zip(&thread.marks.done_ns);
        assert!(sent.clone().all(|(sent, done)| sent <= done), "{transport}");
    }
}

/// Whether at most one in twenty of `all` failed. A server that did not run for 100 ms before it ended a connection
/// has looked at the requests, as far as a client can know. Where none is sent again, one in nine fails.
fn are_few(failed: u64, all: u64) -> bool {
    failed * 20 <= all
}

/// RFC 9110, 9.2.2: of an idempotent method, a request to which no reply has begun does no harm twice.
#[test]
fn a_connection_that_ends_without_a_word_costs_no_request_that_may_be_sent_again() {
    for transport in usable() {
        let of = |method: &str| {
            let peer = Peer::start(Manner::Ends(8));
            let method = method.into();
            let got = run(Job { method, connections: 1, ..to(&peer, transport) });
            (got, peer.seen.connections.load(SeqCst))
        };
        let (get, connections) = of("GET");
        assert!(connections > 10, "{transport}: {connections}");
        let failed = planned(&get) - count(&get, Outcome::Hit);
        assert!(are_few(failed, planned(&get)), "{transport}: {:?}", get.result.errors);
        let again = get.result.checks.sent_again;
        assert!(again + failed + 2 >= connections, "{transport}: {again} of {connections}");
        let (post, _) = of("POST");
        let closed = count(&post, Outcome::Closed);
        assert!(!are_few(closed, planned(&post)), "{transport}: {:?}", post.result.errors);
        assert_eq!(post.result.checks.sent_again, 0, "{transport}");
    }
}

/// Its end is the answer to the requests that were under way, and not one that crossed them.
#[test]
fn requests_over_which_a_server_dies_have_failed_and_are_not_sent_again() {
    for transport in usable() {
        let peer = Peer::start(Manner::Dies(20, Duration::from_millis(800)));
        let (timeout, connections) = ("10s".into(), 1);
        let got = run(Job { timeout, connections, ..to(&peer, transport) });
        let (closed, again) = (count(&got, Outcome::Closed), got.result.checks.sent_again);
        assert!(closed > 8 && again * 4 < closed, "{transport}: {closed}, {again} sent again");
    }
}

#[test]
fn what_no_server_takes_is_not_sent_again_for_ever() {
    for transport in usable() {
        let peer = Peer::start(Manner::TakesNone);
        let got = run(Job { timeout: "200ms".into(), drain: "1s".into(), ..to(&peer, transport) });
        let (late, closed) = (count(&got, Outcome::TimedOut), count(&got, Outcome::Closed));
        assert!(late > 0 && late + closed + count(&got, Outcome::Pending) == planned(&got));
        assert!(got.result.checks.sent_again > 0, "{transport}");
    }
}

#[test]
fn a_refused_stream_is_one_failed_request_and_no_more() {
    for transport in usable() {
        let peer = Peer::start(Manner::Refuses(10));
        let got = run(to(&peer, transport));
        let refused = peer.seen.requests.load(SeqCst) / 10;
        assert_eq!(count(&got, Outcome::Status), refused, "{transport}");
        assert_eq!(count(&got, Outcome::Hit), planned(&got) - refused, "{transport}");
        assert_eq!(got.result.replies.statuses["RST_STREAM REFUSED_STREAM"], refused);
        assert_eq!(got.result.checks.reconnects, 0);
    }
}

#[test]
fn a_request_without_a_reply_is_given_up_and_those_beside_it_are_not() {
    for transport in usable() {
        let peer = Peer::start(Manner::Swallows(40));
        let got = run(Job { timeout: "200ms".into(), drain: "1s".into(), ..to(&peer, transport) });
        let swallowed = peer.seen.requests.load(SeqCst) / 40;
        let gone = count(&got, Outcome::TimedOut);
        assert!(gone >= swallowed && swallowed > 5, "{transport}: {gone} of {swallowed}");
        let lost = count(&got, Outcome::Closed) + gone;
        assert_eq!(count(&got, Outcome::Hit) + lost, planned(&got), "{transport}");
        assert!(peer.seen.cancelled.load(SeqCst) > 0, "{transport}: nobody was told");
    }
}

#[test]
fn bodies_of_requests_wait_for_the_servers_window_and_those_of_replies_for_ours() {
    for transport in usable() {
        let peer = Peer::start(Manner::Sips(1000));
        let (method, body) = ("POST".into(), "x".repeat(20_000));
        let got = run(Job { method, body, rate: "100".into(), ..to(&peer, transport) });
        assert_eq!(count(&got, Outcome::Hit), planned(&got), "{transport}");
        assert_eq!(peer.seen.body_bytes.load(SeqCst), 20_000 * planned(&got), "{transport}");
        for window in ["2000", "1MiB"] {
            let peer = Peer::start(Manner::Pours(100_000));
            let option = [("window".to_string(), window.to_string())].into();
            let (expect_bytes, rate) = (100_000, "100".into());
            let got = run(Job { option, expect_bytes, rate, ..to(&peer, transport) });
            assert_eq!(count(&got, Outcome::Hit), planned(&got), "{transport}, {window}");
        }
    }
}

/// A mirror over TLS that agrees on one of `alpn`.
fn secured(alpn: &[&[u8]]) -> u16 {
    let certificate = CertificateDer::from_pem_file(file("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let config = Arc::new(config);
    listen(move |stream: TcpStream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        mirror(StreamOwned::new(session, stream), u64::MAX, || ());
    })
}

#[test]
fn a_server_that_speaks_something_else_is_reported_before_the_run() {
    let says = |words: &'static [u8]| {
        listen(move |mut stream: TcpStream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(words);
            let _ = stream.read(&mut [0; 4096]); // until the client has heard enough
        })
    };
    let (web, cache) = (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), says(b"ERROR\r\n"));
    let silent = listen(drop);
    let (old, none, new) = (secured(&[b"http/1.1"]), secured(&[]), secured(&[b"h2"]));
    for transport in usable() {
        let what = |target: String| {
            let (insecure, duration) = (target.starts_with("h2:"), "50ms".into());
            fault(Job { insecure, duration, ..job(target, transport) }).to_string()
        };
        let text = what(format!("h2c://127.0.0.1:{web}/"));
        assert!(text.contains("does not speak HTTP/2"), "{text}");
        assert!(text.contains(&format!("HTTP/1.1: ask http://127.0.0.1:{web}")), "{text}");
        let text = what(format!("grpc://127.0.0.1:{cache}/a.B/C"));
        assert!(text.contains(&format!("memcache: ask memcache://127.0.0.1:{cache}")), "{text}");
        let text = what(format!("h2c://127.0.0.1:{silent}/"));
        assert!(text.contains("it closed the connection"), "{text}");
        for port in [old, none] {
            let text = what(format!("h2://127.0.0.1:{port}/"));
            assert!(text.contains("does not speak HTTP/2 over TLS (ALPN)"), "{text}");
        }
        let to = job(format!("h2://127.0.0.1:{new}/"), transport);
        let text = fault(Job { ca_file: file("self.pem"), ..to }).to_string();
        assert!(text.contains("issued by no trusted issuer"), "{text}");
    }
}

#[test]
fn nginx_is_asked_in_http2_with_and_without_tls() {
    let folder = Folder::new();
    let socket = folder.0.join("tls");
    let at = folder.0.display();
    let conf = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/log;
         events {{ worker_connections 64; }}
         http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b;
           fastcgi_temp_path {at}/c; uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;
           server {{ listen unix:{at}/tls ssl http2; listen unix:{at}/plain http2;
             ssl_certificate {}; ssl_certificate_key {};
             location / {{ return 200 hello; }} location /none {{ return 404; }} }} }}",
        file("server.pem"),
        file("server.key")
    );
    std::fs::write(folder.0.join("conf"), conf).unwrap();
    let mut command = Command::new("nginx");
    command.args(["-e", &format!("{at}/log"), "-c", &format!("{at}/conf")]);
    let Some(_nginx) = Program::start(&mut command, &socket) else { return };
    for transport in usable() {
        for (scheme, name) in [("h2", "tls"), ("h2c", "plain")] {
            let got = run(Job {
                ca_file: if scheme == "h2" { file("issuer.pem") } else { String::new() },
                expect_sha256: HELLO.into(),
                depth: 8,
                ..job(format!("{scheme}://unix:{at}/{name}:/"), transport)
            });
            let result = &got.result;
            assert!(result.errors.is_empty(), "{transport}, {scheme}: {:?}", result.errors);
            assert!(result.replies.checked > 50 && result.replies.failed.is_empty(), "{transport}");
            assert_eq!(result.checks.reconnects, 0);
            let alpn = result.tls.as_ref().map(|tls| tls.alpn.as_str());
            assert_eq!(alpn, (scheme == "h2").then_some("h2"));
        }
        let got = run(job(format!("h2c://unix:{at}/plain:/none"), transport));
        assert_eq!(count(&got, Outcome::Miss), planned(&got), "{transport}");
        assert_eq!(got.result.replies.statuses["HTTP 404"], planned(&got));
    }
}
