//! Two connections under TLS that end in one turn: which of them was torn, and what that cut off.

use super::*;
use crate::transports::tls::Seen;

/// A reply that has no end but that of its stream, and one with a length.
const OPEN_ENDED: Event<'_> = Event::Bytes(0, b"HTTP/1.1 200 OK\r\n\r\nhe");
const WHOLE: Event<'_> = Event::Bytes(1, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhe");

struct Played(Vec<Event<'static>>);

impl Transport for Played {
    fn send(&mut self, _: u32, _: &[u8]) {}

    fn poll(&mut self, _: Patience, on: &mut dyn FnMut(Event<'_>)) {
        for event in self.0.drain(..) {
            on(event);
        }
    }

    fn close(&mut self, _: u32) {}

    fn reopen(&mut self, _: u32) -> Reopen {
        Reopen::Pending
    }

    fn syscalls(&self) -> u64 {
        0
    }

    fn tls(&self) -> Option<Seen> {
        Some(Seen::default())
    }
}

/// What the result says is wrong with TLS after both have been asked, and `ends` came behind their replies.
fn wrong(ends: [Event<'static>; 3]) -> String {
    let coming = [OPEN_ENDED, WHOLE].into_iter().chain(ends).collect();
    let job = Job { target: "http://h/".into(), method: "GET".into(), ..Job::default() };
    let setup = Setup { connections: 2, ..setup(&job, Box::new(Played(coming)), 8) };
    let mut drive = Drive::new(setup);
    for expected in 0..2 {
        let now_ns = drive.now();
        let (place, connection) = drive.take_due(now_ns).unwrap();
        assert_eq!(connection, expected);
        drive.send(place, connection);
    }
    let now_ns = drive.now();
    drive.poll_and_mark(now_ns, Patience::NONE);
    drive.finish().tls.unwrap().wrong
}

#[test]
fn a_reply_is_torn_where_tcp_alone_ended_its_own_connection() {
    let torn = wrong([Event::Closed(1), Event::Torn(0), Event::Closed(0)]);
    assert!(torn.contains("without close_notify"), "{torn}");
    let reset = wrong([Event::Torn(1), Event::Closed(1), Event::Closed(0)]);
    assert_eq!(reset, "", "one was torn behind its reply, and the other one reset");
}
