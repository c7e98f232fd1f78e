//! Bytes on their way out of one connection: kept in place while the kernel reads them, and in order.
//!
//! Small requests go *untracked*: so few bytes can be outstanding that the socket always has room
//! for them, the kernel copies them before the submission returns, and no completion is asked for.
//! Each has a slot of its own, which is used again only `depth` requests later on this connection,
//! when its reply has come. All others go *tracked*: one send at a time, the next one after the
//! completion of the last, which may have taken only a part.

use socket2::Socket;

/// Send buffer asked of the kernel, bytes: the usual `net.core.wmem_max`.
const SEND_BUFFER: usize = 212_992;
/// What the kernel accounts for a small packet beside its bytes, at most.
const OVERHEAD: usize = 2048;

/// Bytes to send now. They stay where they are until they were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: *const u8,
    pub(super) len: u32,
    /// Whether its completion must be reported to [`Outbox::sent`].
    pub(super) is_tracked: bool,
}

/// See the module.
pub(super) enum Outbox {
    Untracked {
        slots: Box<[u8]>,
        slot_bytes: usize,
        next: usize,
    },
    Tracked {
        sending: Vec<u8>,
        sent: usize,
        /// Whether the kernel may read `sending`: its send was not completed yet.
        is_read: bool,
        waiting: Vec<u8>,
        /// The same of older connections, which were closed meanwhile, by their generation.
        retired: Vec<(u32, Vec<u8>)>,
    },
}

impl Outbox {
    pub(super) fn new(socket: &Socket, request_bytes_max: usize, depth: u32) -> Self {
        let depth = depth as usize;
        if depth * (request_bytes_max + OVERHEAD) <= SEND_BUFFER && enlarge(socket) {
            let slots = vec![1; depth * request_bytes_max].into_boxed_slice();
            return Self::Untracked { slots, slot_bytes: request_bytes_max, next: 0 };
        }
        Self::tracked(request_bytes_max * depth)
    }

    /// For sends of any length and number.
    pub(super) fn tracked(room: usize) -> Self {
        let room = room.min(64 * 1024);
        Self::Tracked {
            sending: Vec::with_capacity(room),
            sent: 0,
            is_read: false,
            waiting: Vec::with_capacity(room),
            retired: Vec::new(),
        }
    }

    /// Takes `bytes`; answers what is to be sent now.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<Piece> {
        match self {
            Self::Untracked { slots, slot_bytes, next } => {
                let slot = &mut slots[*next..*next + bytes.len()];
                slot.copy_from_slice(bytes);
                let piece =
                    Piece { start: slot.as_ptr(), len: bytes.len() as u32, is_tracked: false };
                *next += *slot_bytes;
                if *next == slots.len() {
                    *next = 0;
                }
                Some(piece)
            }
            Self::Tracked { sending, waiting, is_read, .. } => {
                if !sending.is_empty() {
                    waiting.extend_from_slice(bytes);
                    return None;
                }
                sending.extend_from_slice(bytes);
                *is_read = true;
                Some(piece(sending, 0))
            }
        }
    }

    /// `bytes` more were sent; answers what is to be sent next.
    pub(super) fn sent(&mut self, bytes: usize) -> Option<Piece> {
        let Self::Tracked { sending, sent, waiting, is_read, .. } = self else { return None };
        *sent += bytes;
        if *sent >= sending.len() {
            sending.clear();
            *sent = 0;
            std::mem::swap(sending, waiting);
        }
        *is_read = !sending.is_empty();
        (*is_read).then(|| piece(sending, *sent))
    }

    /// The send under way has failed, or never began: nothing more is sent until the connection is new.
    pub(super) fn failed(&mut self) {
        if let Self::Tracked { is_read, .. } = self {
            *is_read = false;
        }
    }

    /// The connection of this generation is closed. Bytes that the kernel may still read for it stay where
    /// they are until [`Outbox::forget`].
    pub(super) fn retire(&mut self, generation: u32) {
        let Self::Tracked { sending, sent, is_read, waiting, retired } = self else { return };
        if std::mem::take(is_read) {
            let room = Vec::with_capacity(sending.capacity());
            retired.push((generation, std::mem::replace(sending, room)));
        }
        sending.clear();
        waiting.clear();
        *sent = 0;
    }

    /// The send of a connection of this generation, which was closed meanwhile, is completed.
    pub(super) fn forget(&mut self, generation: u32) {
        if let Self::Tracked { retired, .. } = self {
            retired.retain(|(of, _)| *of != generation);
        }
    }

    /// The connection is new, and of this generation.
    pub(super) fn renew(&mut self, socket: &Socket, generation: u32) {
        if let Self::Untracked { .. } = self {
            enlarge(socket);
        }
        self.retire(generation); // what was sent on it while it was closed went nowhere
    }
}

fn piece(sending: &[u8], sent: usize) -> Piece {
    let rest = &sending[sent..];
    Piece { start: rest.as_ptr(), len: rest.len() as u32, is_tracked: true }
}

/// Whether the socket now has the room that untracked sends rely on.
fn enlarge(socket: &Socket) -> bool {
    let _ = socket.set_send_buffer_size(SEND_BUFFER);
    socket.send_buffer_size().is_ok_and(|bytes| bytes >= SEND_BUFFER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(piece: Piece) -> Vec<u8> {
        // SAFETY: the outbox that made the piece is alive and was not changed since.
        unsafe { std::slice::from_raw_parts(piece.start, piece.len as usize).to_vec() }
    }

    #[test]
    fn a_send_taken_in_part_goes_on_where_it_stopped_before_anything_else() {
        let mut outbox = Outbox::tracked(100);
        assert_eq!(bytes(outbox.push(b"first").unwrap()), b"first");
        assert!(outbox.push(b"second").is_none(), "one at a time");
        assert!(outbox.push(b"third").is_none());
        assert_eq!(bytes(outbox.sent(2).unwrap()), b"rst");
        assert_eq!(bytes(outbox.sent(3).unwrap()), b"secondthird");
        assert!(outbox.sent(11).is_none());
        assert_eq!(bytes(outbox.push(b"fourth").unwrap()), b"fourth");
    }

    #[test]
    #[cfg_attr(miri, ignore = "it sets an option of a socket")]
    fn small_requests_have_a_slot_each_until_depth_later() {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let mut outbox = Outbox::new(&socket, 8, 3);
        let pieces: Vec<Piece> =
            ["one", "two", "three"].iter().map(|t| outbox.push(t.as_bytes()).unwrap()).collect();
        assert!(pieces.iter().all(|piece| !piece.is_tracked));
        assert_eq!(
            pieces.iter().map(|&p| bytes(p)).collect::<Vec<_>>(),
            [&b"one"[..], b"two", b"three"]
        );
        let fourth = outbox.push(b"four").unwrap();
        assert_eq!(fourth.start, pieces[0].start);
    }

    /// The bytes that are held for connections which were closed, and how many of these there are.
    fn retired(outbox: &Outbox) -> (usize, usize) {
        let Outbox::Tracked { retired, .. } = outbox else { panic!("it is untracked") };
        (retired.iter().map(|(_, bytes)| bytes.len()).sum(), retired.len())
    }

    #[test]
    fn bytes_of_a_closed_connection_stay_until_the_kernel_has_read_them_and_no_longer() {
        let mut outbox = Outbox::tracked(1 << 20);
        for generation in 0..500 {
            let piece = outbox.push(&[generation as u8; 1 << 10]).unwrap();
            assert!(outbox.push(b"more").is_none());
            outbox.retire(generation);
            outbox.retire(generation + 1); // closed twice
            assert_eq!(bytes(piece), [generation as u8; 1 << 10], "they have not moved");
            if let Some(before) = generation.checked_sub(1) {
                outbox.forget(before); // its completion comes one connection late
            }
            assert_eq!(retired(&outbox), (1 << 10, 1));
        }
        outbox.forget(499);
        assert_eq!(retired(&outbox), (0, 0));
        assert_eq!(bytes(outbox.push(b"new").unwrap()), b"new", "and nothing waits before it");
    }

    #[test]
    fn a_send_that_has_failed_or_is_completed_leaves_nothing_behind() {
        let mut outbox = Outbox::tracked(100);
        outbox.push(b"lost").unwrap();
        outbox.failed();
        assert!(outbox.push(b"behind it").is_none(), "the connection is of no use");
        outbox.retire(0);
        assert_eq!(retired(&outbox), (0, 0));
        outbox.push(b"whole").unwrap();
        assert!(outbox.sent(5).is_none());
        outbox.retire(1);
        assert_eq!(retired(&outbox), (0, 0));
    }

    #[test]
    fn large_requests_are_tracked() {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let mut outbox = Outbox::new(&socket, 1 << 20, 1);
        assert!(outbox.push(b"x").unwrap().is_tracked);
    }
}
