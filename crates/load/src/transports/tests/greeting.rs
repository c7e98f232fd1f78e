//! Protocols that say hello: on every connection, before the first request.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;
use crate::transports::hello::{Hello, HelloState};

/// `HELLO`, answered by `READY` or anything else.
struct Hallo(Vec<u8>);

impl Hello for Hallo {
    fn say(&mut self, heard: &[u8], out: &mut Vec<u8>) -> HelloState {
        self.0.extend_from_slice(heard);
        match &self.0[..] {
            b"" => out.extend_from_slice(b"HELLO"),
            b"READY" => return HelloState::Done,
            other if !b"READY".starts_with(other) => return HelloState::Refused,
            _ => {}
        }
        HelloState::More
    }
}

fn hallo() -> Greeting {
    Greeting::new(|| Box::new(Hallo(Vec::new())))
}

/// The reply comes in two parts, so that a greeting has to be gone on with.
#[test]
fn every_connection_is_greeted_before_its_first_request_also_one_opened_again() {
    for entry in usable() {
        let address = server(|mut stream| {
            let mut heard = [0; 5];
            stream.read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"HELLO");
            stream.write_all(b"REA").unwrap();
            thread::sleep(Duration::from_millis(5));
            stream.write_all(b"DY").unwrap();
            let mut byte = [0];
            while stream.read(&mut byte).is_ok_and(|read| read > 0) {
                stream.write_all(&byte).unwrap();
            }
        });
        let sockets =
            sockets::connect(&mut [vec![address.into()]], false, &[], 1, &hallo()).unwrap();
        let ends = Ends { sockets, connections: 1, greeting: hallo(), ..ends(address, 0, 64) };
        let mut transport = (entry.open)(ends).unwrap();
        for _ in 0..2 {
            let mut result = Received::of(1);
            transport.send(0, b"x");
            result.until(transport.as_mut(), |result| !result.bytes[0].is_empty());
            assert_eq!(result.bytes[0], b"x", "{}", entry.kind.name);
            transport.close(0);
            reopen(transport.as_mut(), 0);
        }
    }
}

/// `READY` comes some time after the hello.
fn slow<const MS: u64>(mut stream: TcpStream) {
    let mut heard = [0; 5];
    let _ = stream.read_exact(&mut heard);
    thread::sleep(Duration::from_millis(MS));
    let _ = stream.write_all(b"READY");
    let _ = stream.read(&mut [0]);
}

/// Greetings under way, and the most of them at any time.
static TALKS: AtomicU32 = AtomicU32::new(0);
static TALKS_MOST: AtomicU32 = AtomicU32::new(0);

/// As over a slow network.
fn counted(stream: TcpStream) {
    TALKS_MOST.fetch_max(TALKS.fetch_add(1, SeqCst) + 1, SeqCst);
    let mut stream = stream;
    let mut heard = [0; 5];
    let _ = stream.read_exact(&mut heard);
    thread::sleep(Duration::from_millis(60));
    TALKS.fetch_sub(1, SeqCst);
    let _ = stream.write_all(b"READY");
    let _ = stream.read(&mut [0]);
}

#[test]
fn many_connections_are_greeted_beside_one_another() {
    let address = server(counted);
    let opened = sockets::connect(&mut [vec![address.into()]], false, &[], 100, &hallo()).unwrap();
    assert_eq!(opened.len(), 100);
    assert!(TALKS_MOST.load(SeqCst) > 1, "one after another");
}

#[test]
fn a_connection_that_is_being_opened_ends_a_wait_when_it_goes_on_and_is_not_reported() {
    for entry in usable() {
        let address = server(slow::<20>);
        let sockets =
            sockets::connect(&mut [vec![address.into()]], false, &[], 1, &hallo()).unwrap();
        let ends = Ends { sockets, connections: 1, greeting: hallo(), ..ends(address, 0, 64) };
        let mut transport = (entry.open)(ends).unwrap();
        transport.close(0);
        let (begun, all) = (Instant::now(), Patience::for_first(DEADLINE.as_nanos() as u64));
        let came_to = loop {
            match transport.reopen(0) {
                Reopen::Pending => transport.poll(all, &mut |event| panic!("{event:?}")),
                other => break other,
            }
        };
        assert_eq!(came_to, Reopen::Open, "{}", entry.kind.name);
        assert!(begun.elapsed() < DEADLINE, "{}: it waited to the end", entry.kind.name);
    }
}

#[test]
fn a_server_that_answers_a_greeting_otherwise_is_refused() {
    let address = server(|mut stream| stream.write_all(b"ERROR").unwrap());
    let fault = sockets::connect(&mut [vec![address.into()]], false, &[], 1, &hallo()).unwrap_err();
    assert!(fault.what.contains("greeting") && fault.what.contains("refused"), "{fault}");
    let address = server(drop);
    let fault = sockets::connect(&mut [vec![address.into()]], false, &[], 1, &hallo()).unwrap_err();
    assert!(fault.what.contains("greeting"), "{fault}");
}

/// A socket that interrupts each call once, as a stop of the process does.
struct Interrupted {
    heard: VecDeque<Option<&'static [u8]>>,
    was_stopped: bool,
    sent: Vec<u8>,
}

impl Read for Interrupted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(bytes) = self.heard.pop_front().flatten() else {
            return Err(io::ErrorKind::Interrupted.into());
        };
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Write for Interrupted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.was_stopped, true) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.sent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_greeting_goes_on_after_a_stop_of_this_process() {
    let heard = [None, Some(&b"REA"[..]), None, Some(&b"DY"[..])].into();
    let mut socket = Interrupted { heard, was_stopped: false, sent: Vec::new() };
    hallo().begin().unwrap().go_on(&mut socket).unwrap();
    assert_eq!((&socket.sent[..], socket.heard.len()), (&b"HELLO"[..], 0));
}
