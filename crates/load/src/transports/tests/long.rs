//! Replies that are longer than a poll may take.

use socket2::SockRef;

use super::*;

/// Bytes that one poll may hand over from one connection, whatever waits there.
const POLL_MAX: usize = 3 << 20;

/// Sends as much as is taken, and waits then until the other side ends it.
fn flood(mut stream: TcpStream) {
    let piece = vec![b'x'; 1 << 20];
    while stream.write_all(&piece).is_ok() {}
}

/// Sends so much at once that it waits in the socket of a client that is given room for it.
const AT_ONCE: usize = 3 << 20;

fn send_at_once(mut stream: TcpStream) {
    let _ = SockRef::from(&stream).set_send_buffer_size(4 << 20);
    let _ = stream.write_all(&vec![b'x'; AT_ONCE]);
    let _ = stream.read(&mut [0; 1]); // nothing more comes, and no end
}

/// What one poll handed over of each of two connections.
fn poll_once(transport: &mut dyn Transport) -> [usize; 2] {
    let mut result = [0; 2];
    transport.poll(Patience::for_first(1_000_000), &mut |event| {
        if let Event::Bytes(connection, bytes) = event {
            result[connection as usize] += bytes.len();
        }
    });
    result
}

#[test]
fn a_reply_without_an_end_does_not_hold_a_poll() {
    for entry in usable() {
        let address = server(flood);
        let mut transport = (entry.open)(ends(address, 2, 64)).unwrap();
        let (mut all, deadline) = ([0; 2], Instant::now() + DEADLINE);
        while all.iter().any(|&bytes| bytes < 32 << 20) {
            assert!(Instant::now() < deadline, "{}: {all:?}", entry.kind.name);
            let came = poll_once(transport.as_mut());
            assert!(came.iter().all(|&bytes| bytes <= POLL_MAX), "{}: {came:?}", entry.kind.name);
            all = [all[0] + came[0], all[1] + came[1]];
        }
        transport.close(0);
        assert_eq!(poll_once(transport.as_mut())[0], 0, "{}: it is closed", entry.kind.name);
    }
}

/// No event says again that something waits there.
#[test]
fn what_a_poll_leaves_comes_with_the_next_ones() {
    for entry in usable() {
        let ends = ends(server(send_at_once), 1, 64);
        ends.sockets[0].set_recv_buffer_size(8 << 20).unwrap();
        let mut transport = (entry.open)(ends).unwrap();
        thread::sleep(Duration::from_millis(200));
        let mut result = Received::of(1);
        result.until(transport.as_mut(), |it| it.bytes[0].len() == AT_ONCE);
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
    }
}
