//! Connections under TLS: one that broke, and was dropped and opened again before a poll could report it; a
//! spare; and two of which TCP alone ends one.

use std::net::Shutdown;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use rustls::{ServerConnection, StreamOwned};

use super::*;
use crate::transports::tls;
use crate::transports::tls::known::{CLIENT, SERVER};

static SHAKEN: AtomicUsize = AtomicUsize::new(0);

/// As `serve`, and counted.
fn count(stream: TcpStream) {
    SHAKEN.fetch_add(1, SeqCst);
    serve(stream);
}

/// Echoes, and at `q` sends what is no record.
fn serve(stream: TcpStream) {
    let session = ServerConnection::new(SERVER.clone()).unwrap();
    let mut stream = StreamOwned::new(session, stream);
    let mut byte = [0];
    while stream.read_exact(&mut byte).is_ok() {
        let _ = match &byte {
            b"q" => stream.sock.write_all(&[0xff; 64]),
            _ => stream.write_all(&byte),
        };
    }
}

/// Polls, in which nothing may be reported, until `is_so`.
fn until(transport: &mut dyn Transport, mut is_so: impl FnMut(&mut dyn Transport) -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so(transport) {
        assert!(Instant::now() < deadline, "it never comes to that");
        transport.poll(Patience::for_first(1_000_000), &mut |event| panic!("{event:?}"));
    }
}

#[test]
fn the_end_of_a_dropped_connection_under_tls_does_not_end_the_next_one() {
    let address = server(count);
    for entry in usable() {
        let before = SHAKEN.load(SeqCst);
        let mut transport = tls::open(entry, ends(address, 1, 64), &CLIENT, "h").unwrap();
        let transport = transport.as_mut();
        transport.send(0, b"q");
        // The poll that meets the garbage reports nothing: the next one would.
        until(transport, |transport| !transport.tls().unwrap().wrong.is_empty());
        transport.close(0);
        until(transport, |transport| transport.reopen(0) == Reopen::Open);
        transport.send(0, b"new");
        let mut result = Received::of(1);
        result.until(transport, |result| result.bytes[0] == b"new");
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
        assert_eq!(SHAKEN.load(SeqCst) - before, 2, "{}: one was ended", entry.kind.name);
    }
}

#[test]
fn a_spare_under_tls_shakes_hands_when_it_is_opened_and_serves_beside_its_connection() {
    let address = server(serve);
    for entry in usable() {
        let ends = Ends { says_more: true, spares: 1, ..ends(address, 1, 64) };
        let mut transport = tls::open(entry, ends, &CLIENT, "h").unwrap();
        let transport = transport.as_mut();
        until(transport, |transport| transport.reopen(1) == Reopen::Open);
        transport.send(0, b"old");
        transport.send(1, b"new");
        let mut result = Received::of(2);
        result.until(transport, |result| result.bytes == [b"old".to_vec(), b"new".to_vec()]);
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
    }
}

/// Ends its side behind a byte: at `t` by TCP's end alone, else with `close_notify`.
fn end(stream: TcpStream) {
    let session = ServerConnection::new(SERVER.clone()).unwrap();
    let mut stream = StreamOwned::new(session, stream);
    let mut byte = [0];
    if stream.read_exact(&mut byte).is_ok() && &byte != b"t" {
        stream.conn.send_close_notify();
        let _ = stream.flush();
    }
    let _ = stream.sock.shutdown(Shutdown::Write);
    let _ = std::io::copy(&mut stream.sock, &mut std::io::sink());
}

#[test]
fn of_two_connections_that_end_the_one_without_close_notify_is_torn() {
    let address = server(end);
    for entry in usable() {
        let mut transport = tls::open(entry, ends(address, 2, 64), &CLIENT, "h").unwrap();
        transport.send(0, b"t");
        transport.send(1, b"n");
        let (mut torn, mut ended, mut closed) = (Vec::new(), Vec::new(), 0);
        let deadline = Instant::now() + DEADLINE;
        while closed < 2 {
            assert!(Instant::now() < deadline, "{}: {torn:?}, {ended:?}", entry.kind.name);
            transport.poll(Patience::for_first(1_000_000), &mut |event| match event {
                Event::Bytes(..) => {}
                Event::Torn(connection) => torn.push(connection),
                Event::Ended(connection) => ended.push(connection),
                Event::Closed(_) => closed += 1,
            });
        }
        assert_eq!((torn, ended), (vec![0], vec![1]), "{}", entry.kind.name);
    }
}
