//! HTTPS against servers of ours and a real one: sessions, names, and what cannot be believed.

mod clients;
mod ends;
mod reopened;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic};
use sojourn_load::drive::progress::{Form, Progress};
use sojourn_load::job::Job;
use sojourn_load::measure::{Judged, measure};
use sojourn_load::plan::resolve::resolve;

use super::mirror::{Folder, Program, job, listen, mirror};
use super::{run, usable};

/// A certificate or key made for these tests, of no use for anything else.
pub fn file(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name).display().to_string()
}

/// A server's side of TLS with the certificate `name`.
pub fn config(name: &str) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(file(name)).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Hands each connection, shaken hands on with the certificate `name`, to `serve`; its port.
pub fn listen_secured(
    name: &str,
    serve: impl Fn(StreamOwned<ServerConnection, TcpStream>) + Send + Sync + 'static,
) -> u16 {
    let config = config(name);
    listen(move |stream: TcpStream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        serve(StreamOwned::new(session, stream));
    })
}

/// A mirror over TLS with the certificate `name`, which closes each connection after `most` replies.
fn secured(name: &str, most: u64, before: impl Fn() + Send + Sync + 'static) -> u16 {
    listen_secured(name, move |stream| mirror(stream, most, &before))
}

#[test]
fn requests_go_over_tls_and_sessions_are_taken_up_again() {
    for transport in usable() {
        let port = secured("server.pem", 30, || ());
        let text = "long ".repeat(8000); // of more records than one
        let got = run(Job {
            method: "POST".into(),
            body: text,
            ca_file: file("issuer.pem"),
            server_name: "sojourn.test".into(),
            expect_regex: r"^POST / HTTP/1.1\r\nHost: 127.0.0.1:\d+\r\n(?s:.*)Content-Length: 40000\r\n\r\n(?s:.*)long $".into(),
            ..job(format!("https://127.0.0.1:{port}/"), transport)
        });
        let (result, tls) = (&got.result, got.result.tls.as_ref().unwrap());
        let failed: u64 = result.errors.values().sum();
        assert!(failed * 3 < result.requests, "{transport}: {:?}", result.errors);
        assert!(result.replies.checked > 50 && result.replies.failed.is_empty(), "{transport}");
        assert_eq!((tls.alpn.as_str(), tls.failed), ("http/1.1", 0), "{transport}");
        assert!(tls.cipher.starts_with("TLSv1_3 TLS13_"), "{}", tls.cipher);
        assert!(tls.handshakes >= 8 && tls.resumed >= 1, "{transport}: {tls:?}");
        assert!(tls.handshakes <= 4 + result.checks.reconnects, "{transport}: {tls:?}");
    }
}

#[test]
fn a_stall_is_reported_in_full_by_every_request_that_was_due_in_it() {
    for transport in usable() {
        let stall = Arc::new(Mutex::new((0_u64, None)));
        let shared = Arc::clone(&stall);
        let port = secured("server.pem", u64::MAX, move || {
            let mut stall = shared.lock().unwrap();
            stall.0 += 1;
            if stall.0 >= 100 && stall.1.is_none() {
                let start = Monotonic.now_ns();
                thread::sleep(Duration::from_millis(150));
                stall.1 = Some((start, Monotonic.now_ns()));
            }
        });
        let got = run(Job {
            ca_file: file("issuer.pem"),
            duration: "2s".into(),
            ..job(format!("https://127.0.0.1:{port}/"), transport)
        });
        let (from, to) = stall.lock().unwrap().1.expect("it stalled");
        let [from_ns, to_ns] = [from, to].map(|ns| ns - got.run.start_ns);
        let thread = &got.run.threads[0];
        let due = thread.plan.intended_ns.iter().zip(&thread.marks.done_ns);
        let in_it: Vec<u64> =
            due.filter(|&(due, _)| (from_ns..to_ns).contains(due)).map(|(_, &done)| done).collect();
        assert!(in_it.len() > 30, "{transport}: {} requests were due in 150 ms", in_it.len());
        assert!(in_it.iter().all(|&ns| ns == 0 || ns >= to_ns), "{transport}: told too early");
    }
}

/// The message for a job that must not run.
pub fn fault(job: Job) -> Fault {
    attempt(job).expect_err("it must fail")
}

fn attempt(job: Job) -> Result<Judged, Fault> {
    measure(&resolve(job)?, &Arc::default(), &mut Progress::new(Form::Off))
}

#[test]
fn a_certificate_that_cannot_be_believed_is_reported_in_words() {
    let endless = |name| secured(name, u64::MAX, || ());
    let (issued, own) = (endless("server.pem"), endless("self.pem"));
    let plain = listen(|mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let silent = listen(drop);
    for transport in usable() {
        let to = |port: u16| Job {
            ca_file: file("issuer.pem"),
            duration: "50ms".into(),
            ..job(format!("https://127.0.0.1:{port}/"), transport)
        };
        let what = |job: Job| fault(job).to_string();
        let own_file = || file("self.pem");
        assert!(what(Job { ca_file: own_file(), ..to(issued) }).contains("issued by no trusted"));
        let text = what(Job { server_name: "a.example".into(), ..to(issued) });
        assert!(text.contains("not for a.example but for localhost, sojourn.test"), "{text}");
        assert!(what(to(own)).contains("signed by itself"), "{}", what(to(own)));
        assert!(what(to(plain)).contains("does not speak TLS"), "{}", what(to(plain)));
        assert!(what(to(silent)).contains("closed the connection"), "{}", what(to(silent)));
        assert_eq!(fault(Job { ca_file: "/none".into(), ..to(own) }).at, "ca_file");
        let key = Job { ca_file: file("server.key"), ..to(own) };
        assert!(fault(key).what.contains("holds no certificate"));
        // Its own certificate may be named, though it is no issuer's; and any may be asked for.
        let alone = |job: Job| attempt(job).unwrap().result.tls.unwrap().handshakes;
        assert!(alone(Job { ca_file: own_file(), ..to(own) }) >= 4);
        assert!(alone(Job { ca_file: String::new(), insecure: true, ..to(own) }) >= 4);
    }
}

#[test]
fn nginx_is_asked_over_tls() {
    let folder = Folder::new();
    let socket = folder.0.join("tls");
    let at = folder.0.display();
    let conf = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/log;
         events {{ worker_connections 64; }}
         http {{ access_log off; client_body_temp_path {at}/a; proxy_temp_path {at}/b;
           fastcgi_temp_path {at}/c; uwsgi_temp_path {at}/d; scgi_temp_path {at}/e;
           server {{ listen unix:{at}/tls ssl; keepalive_requests 20;
             ssl_certificate {}; ssl_certificate_key {};
             location / {{ return 200 hello; }} }} }}",
        file("server.pem"),
        file("server.key")
    );
    std::fs::write(folder.0.join("conf"), conf).unwrap();
    let mut command = Command::new("nginx");
    command.args(["-e", &format!("{at}/log"), "-c", &format!("{at}/conf")]);
    let Some(_nginx) = Program::start(&mut command, &socket) else { return };
    for transport in usable() {
        let got = run(Job {
            ca_file: file("issuer.pem"),
            expect_sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
                .into(),
            ..job(format!("https://unix:{}:/", socket.display()), transport)
        });
        let (result, tls) = (&got.result, got.result.tls.as_ref().unwrap());
        assert!(result.errors.is_empty(), "{transport}: {:?}", result.errors);
        assert!(result.replies.checked > 50 && result.replies.failed.is_empty(), "{transport}");
        assert!(tls.resumed >= 1 && tls.failed == 0, "{transport}: {tls:?}");
        assert_eq!(result.checks.broken_connections, 0, "{transport}: it says when it closes");
    }
}
