//! What `make fuzz` gives to a connection under TLS once it is open; compiled for it alone.

use rustls::ServerConnection;

use super::known::{CLIENT, SERVER};
use super::link::{Link, State};
use super::{RECORD, Seen};

/// Messages after which a handshake is over in any case.
const ROUNDS: usize = 8;

/// Two ends in memory, and what reached the client.
struct Ends {
    link: Link,
    server: ServerConnection,
    plain: Box<[u8]>,
    seen: Seen,
    told: Vec<u8>,
}

impl Ends {
    /// Both after their handshake.
    fn open() -> Self {
        let mut link = Link::closed();
        link.session = Some(CLIENT.session().unwrap());
        link.begin();
        let server = ServerConnection::new(SERVER.clone()).unwrap();
        let plain = vec![1; RECORD].into_boxed_slice();
        let mut this = Self { link, server, plain, seen: Seen::default(), told: Vec::new() };
        for _ in 0..ROUNDS {
            let mut said = Vec::new();
            this.link.session.as_mut().unwrap().write_tls(&mut said).unwrap();
            let mut heard = said.as_slice();
            while !heard.is_empty() {
                this.server.read_tls(&mut heard).unwrap();
                this.server.process_new_packets().unwrap();
            }
            let wire = this.wire();
            assert!(this.take(&wire), "a handshake without a fault is over");
        }
        assert!(this.link.state == State::Ready && !this.server.is_handshaking());
        this.link.state = State::Open;
        this
    }

    /// What the server has to say, encrypted.
    fn wire(&mut self) -> Vec<u8> {
        let mut wire = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut wire).unwrap();
        }
        wire
    }

    /// Whether the client can go on after `wire`.
    fn take(&mut self, wire: &[u8]) -> bool {
        let Self { link, plain, seen, told: reported, .. } = self;
        let mut tell = |bytes: &[u8]| reported.extend_from_slice(bytes);
        link.read(wire, plain, seen, false, &mut tell).is_ok()
    }
}

/// The first byte says how long a piece on the wire is. Then each byte is an act of the server: it says so
/// many bytes, ends, or somebody on the way changes a byte of the next record or puts bytes between two.
pub fn records(bytes: &[u8]) {
    let [piece, acts @ ..] = bytes else { return };
    let mut ends = Ends::open();
    let (mut sent, mut is_harmed, mut has_ended) = (Vec::new(), false, false);
    for (nth, &act) in acts.iter().enumerate() {
        let mut wire = match act {
            0..200 if !has_ended => {
                let text = vec![act; usize::from(act) * usize::from(act)];
                std::io::Write::write_all(&mut ends.server.writer(), &text).unwrap();
                sent.extend_from_slice(&text);
                ends.wire()
            }
            200..210 => {
                ends.server.send_close_notify();
                has_ended = true;
                ends.wire()
            }
            _ => {
                is_harmed = true;
                acts[nth..].to_vec()
            }
        };
        if act % 16 == 9 && !wire.is_empty() {
            let at = nth * 31 % wire.len();
            wire[at] ^= act;
            is_harmed = true;
        }
        for part in wire.chunks(usize::from(*piece).max(1) * 64) {
            if !ends.take(part) {
                assert!(is_harmed, "what came as it was sent is read");
                return;
            }
        }
        assert!(sent.starts_with(&ends.told), "nothing is told that was not sent");
    }
    if !is_harmed {
        assert_eq!(ends.told.len(), sent.len(), "all of it is told");
        assert_eq!(ends.link.has_ended, has_ended);
        assert_eq!(ends.link.end(&mut ends.seen), has_ended);
    }
}
