//! Streams that end with `close_notify`, by servers that wait for ours before they close TCP: asyncio
//! (uvicorn, aiohttp), Boost.Asio, `openssl s_server`. Source: RFC 8446, 6.1.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};
use sojourn_load::job::Job;
use sojourn_load::measure::Judged;

use super::super::mirror::{Folder, Program, job, listen, skipped};
use super::super::{run, usable};
use super::{config, file};

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// How often the client ended its side by `close_notify`, and how often by TCP's end alone.
#[derive(Default)]
struct Seen {
    goodbyes: AtomicU64,
    torn: AtomicU64,
}

/// Serves each connection by `serve`; then says `close_notify` and waits for the client's, with TCP open.
fn server(
    idle: Option<Duration>,
    serve: fn(&mut Stream) -> std::io::Result<()>,
) -> (u16, Arc<Seen>) {
    let (config, seen) = (config("server.pem"), Arc::new(Seen::default()));
    let shared = Arc::clone(&seen);
    let port = listen(move |stream: TcpStream| {
        let _ = stream.set_nodelay(true);
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        let _ = stream.flush(); // it does not idle before its handshake is over
        let _ = stream.sock.set_read_timeout(idle);
        let _ = serve(&mut stream);
        let _ = stream.sock.set_read_timeout(None);
        stream.conn.send_close_notify();
        let _ = stream.flush();
        match std::io::copy(&mut stream, &mut std::io::sink()) {
            Ok(_) => shared.goodbyes.fetch_add(1, SeqCst),
            Err(_) => shared.torn.fetch_add(1, SeqCst),
        };
    });
    (port, seen)
}

fn read_head(stream: &mut Stream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(())
}

fn answer_once(stream: &mut Stream) -> std::io::Result<()> {
    read_head(stream)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello")?;
    stream.flush()
}

fn answer_while_asked(stream: &mut Stream) -> std::io::Result<()> {
    loop {
        read_head(stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")?;
        stream.flush()?;
    }
}

fn ask(port: u16, transport: &str) -> Judged {
    run(Job {
        ca_file: file("issuer.pem"),
        rate: "100".into(),
        connections: 16,
        expect_bytes: 5,
        timeout: "2s".into(),
        ..job(format!("https://127.0.0.1:{port}/"), transport)
    })
}

#[test]
fn a_body_that_ends_with_close_notify_is_whole_though_tcp_stays_open() {
    for transport in usable() {
        let (port, seen) = server(None, answer_once);
        let got = ask(port, transport);
        let (result, checks) = (&got.result, &got.result.checks);
        assert!(result.errors.is_empty(), "{transport}: {:?}", result.errors);
        assert_eq!(
            (checks.broken_connections, checks.timed_out),
            (0, 0),
            "{transport}: {checks:?}"
        );
        assert!(seen.goodbyes.load(SeqCst) + 16 >= result.requests, "{transport}");
    }
}

/// Answers once and ends each connection by TCP's end alone.
fn hangs_up(head: &'static str) -> u16 {
    let config = config("server.pem");
    listen(move |stream: TcpStream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        if read_head(&mut stream).is_ok() {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\nhe");
            let _ = stream.flush();
        }
        let _ = stream.sock.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut stream.sock, &mut std::io::sink());
    })
}

/// Anybody may send TCP's end, and cut a body off with it: RFC 9112, 9.8.
#[test]
fn a_body_that_tcp_alone_ends_is_whole_if_its_length_is_known_and_else_cut_off() {
    let ask = |head, transport| {
        let (ca_file, rate) = (file("issuer.pem"), "100".into());
        let target = format!("https://127.0.0.1:{}/", hangs_up(head));
        run(Job { ca_file, rate, ..job(target, transport) }).result
    };
    for transport in usable() {
        let cut = ask("", transport);
        assert_eq!(cut.errors["closed"], cut.requests, "{transport}: {:?}", cut.errors);
        let is_named = cut.reasons.iter().any(|why| why.contains("without close_notify"));
        assert!(is_named, "{transport}: {:?}", cut.reasons);
        let short = ask("Content-Length: 9\r\n", transport);
        assert_eq!(short.errors["closed"], short.requests, "{transport}: {:?}", short.errors);
        let says = |what: &str| short.reasons.iter().any(|why| why.contains(what));
        assert!(says("were cut off") && !says("close_notify"), "{:?}", short.reasons);
        let whole = ask("Content-Length: 2\r\nConnection: close\r\n", transport);
        assert!(whole.errors.is_empty(), "{transport}: {:?}", whole.errors);
        assert_eq!(whole.reply_bytes, whole.requests * 2, "{transport}");
    }
}

/// Connections are used again every 160 ms or so, and the server ends each that is idle for 40 ms.
#[test]
fn a_connection_that_idles_until_the_server_ends_it_costs_no_request() {
    for transport in usable() {
        let (port, seen) = server(Some(Duration::from_millis(40)), answer_while_asked);
        let got = ask(port, transport);
        let (result, checks) = (&got.result, &got.result.checks);
        assert!(checks.reconnects > 10, "{transport}: {checks:?}");
        assert!(seen.goodbyes.load(SeqCst) > 10, "{transport}: it waits for ours");
        // One that meets the end of a connection is sent again (RFC 9112, 9.3.1), unless that has never
        // answered: it may be a server that answers no one.
        let failed: u64 = result.errors.values().sum();
        assert!(failed * 5 < result.requests, "{transport}: {:?}", result.errors);
        assert_eq!(checks.timed_out, 0, "{transport}: {checks:?}");
    }
}

/// Ends every second connection after the first 16 before it reads a hello, and completes the handshake all the
/// same; the others last for one request. How many it ended so.
fn ends_unready() -> (u16, Arc<AtomicU64>) {
    let (ended, begun) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
    let (config, counted) = (config("server.pem"), Arc::clone(&ended));
    let port = listen(move |stream: TcpStream| {
        let _ = stream.set_nodelay(true);
        let nth = begun.fetch_add(1, SeqCst);
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        if nth < 16 || nth % 2 == 1 {
            let _ = answer_once(&mut stream);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        } else {
            stream.conn.send_close_notify();
            counted.fetch_add(1, SeqCst);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    (port, ended)
}

#[test]
fn a_connection_that_is_ended_before_its_handshake_gets_no_request() {
    for transport in usable() {
        let (port, ended) = ends_unready();
        let got = ask(port, transport);
        let (result, checks) = (&got.result, &got.result.checks);
        assert!(ended.load(SeqCst) > 10, "{transport}: {checks:?}");
        assert_eq!(checks.timed_out, 0, "{transport}: {checks:?}");
        assert!(result.errors.is_empty(), "{transport}: {:?}", result.errors);
    }
}

/// The other way round: a client that closes after the last reply says so, and does not just hang up.
#[test]
fn the_client_ends_its_side_of_the_stream_in_order() {
    let closes = |stream: &mut Stream| {
        read_head(stream)?;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")?;
        stream.flush()?;
        std::io::copy(stream, &mut std::io::sink()).map(drop)
    };
    for transport in usable() {
        let (port, seen) = server(None, closes);
        let got = ask(port, transport);
        assert!(got.result.errors.is_empty(), "{transport}: {:?}", got.result.errors);
        let [goodbyes, torn] = [&seen.goodbyes, &seen.torn].map(|it| it.load(SeqCst));
        assert!(goodbyes > 20 && torn <= 16, "{transport}: {goodbyes} in order, {torn} torn");
    }
}

/// `openssl s_server -www`, one connection at a time, with whatever certificate it is given.
fn openssl(folder: &Folder, with: &[&str], more: &[&str]) -> Option<(Program, String)> {
    let at = |name: &str| folder.0.join(name).display().to_string();
    let mut make = Command::new("openssl");
    make.args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"]).args(with);
    make.args(["-keyout", &at("key"), "-out", &at("cert")]);
    let Ok(made) = make.output() else {
        skipped("openssl is not installed");
        return None;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut command = Command::new("openssl");
    command.args([
        "s_server",
        "-www",
        "-unix",
        &at("tls"),
        "-key",
        &at("key"),
        "-cert",
        &at("cert"),
    ]);
    let server = Program::start(command.args(more), &folder.0.join("tls"))?;
    Some((server, format!("https://unix:{}:/", at("tls"))))
}

#[test]
fn openssl_is_asked_whatever_its_certificate_if_any_is_believed() {
    const WEAK: [&str; 5] = ["-newkey", "rsa:1024", "-sha256", "-cipher", "DEFAULT@SECLEVEL=0"];
    for (with, more) in [(&["-newkey", "rsa:2048"][..], &[][..]), (&WEAK[..3], &WEAK[3..])] {
        let folder = Folder::new();
        let Some((_server, target)) = openssl(&folder, with, more) else { return };
        for transport in usable() {
            let (rate, connections) = ("20".into(), 1);
            let job = Job { insecure: true, rate, connections, ..job(target.clone(), transport) };
            let result = run(job).result;
            assert!(result.errors.is_empty(), "{transport}, {with:?}: {:?}", result.errors);
            assert!(result.requests > 2 && result.checks.timed_out == 0, "{transport}, {with:?}");
        }
    }
}
