//! A connection that broke while sending, and was dropped and opened again before a poll could report it.

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
