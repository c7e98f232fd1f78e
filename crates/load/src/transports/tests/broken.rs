//! Connections that broke while sending: with replies unread, or opened again before a poll could report it.

use std::io::Read;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use super::*;

static RESETS: AtomicU64 = AtomicU64::new(0);

#[test]
fn the_end_of_a_dropped_connection_does_not_end_the_next_one() {
    let address = server(|mut stream| {
        let mut one = [0];
        let _ = stream.read_exact(&mut one);
        if one == *b"q" {
            let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)); // close resets
            drop(stream);
            RESETS.fetch_add(1, SeqCst);
            return;
        }
        let _ = stream.write_all(&one);
        echo(stream);
    });
    for (entry, nth) in usable().zip(1..) {
        let is_queued = entry.kind.name == "io_uring"; // what is sent leaves at the next poll
        let mut transport = (entry.open)(ends(address, 1, 64)).unwrap();
        let poll = |transport: &mut dyn Transport| {
            transport.poll(Patience::NONE, &mut |event| {
                assert!(!matches!(event, Event::Bytes(..)), "{}: {event:?}", entry.kind.name);
            });
        };
        transport.send(0, b"q");
        if is_queued {
            poll(transport.as_mut());
        }
        let deadline = Instant::now() + DEADLINE;
        while RESETS.load(SeqCst) < nth {
            assert!(Instant::now() < deadline, "{}", entry.kind.name);
            std::thread::yield_now(); // without a poll, which would report the end
        }
        transport.send(0, b"x"); // into a reset connection
        if is_queued {
            poll(transport.as_mut());
        }
        transport.close(0);
        reopen(transport.as_mut(), 0);
        transport.send(0, b"new");
        let mut result = Received::of(1);
        result.until(transport.as_mut(), |result| result.bytes[0] == b"new");
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
    }
}

static REPLIES: AtomicU64 = AtomicU64::new(0);

/// A client that was stopped for a while has both to do: to read replies, and to send what became due.
#[test]
fn replies_that_came_before_a_send_failed_are_read() {
    let address = server(|mut stream| {
        let _ = stream.read_exact(&mut [0]);
        let _ = stream.write_all(b"reply");
        let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)); // close resets
        drop(stream);
        REPLIES.fetch_add(1, SeqCst);
    });
    for (entry, nth) in usable().zip(1..) {
        let mut transport = (entry.open)(ends(address, 1, 64)).unwrap();
        let mut result = Received::of(1);
        transport.send(0, b"q");
        if entry.kind.name == "io_uring" {
            result.until(transport.as_mut(), |_| REPLIES.load(SeqCst) >= nth); // it sends at a poll
        }
        let deadline = Instant::now() + DEADLINE;
        while REPLIES.load(SeqCst) < nth {
            assert!(Instant::now() < deadline, "{}", entry.kind.name);
            std::thread::yield_now(); // without a poll, which would read the reply
        }
        transport.send(0, b"x"); // into a reset connection
        result.until(transport.as_mut(), |result| !result.closed.is_empty());
        assert_eq!(result.bytes[0], b"reply", "{}", entry.kind.name);
        assert_eq!((result.ended.len(), result.closed.len()), (0, 1), "{}", entry.kind.name);
    }
}
