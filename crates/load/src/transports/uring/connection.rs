//! What is remembered of one connection of the ring.

use socket2::Socket;

use crate::transports::outbox::Outbox;
use crate::transports::{Ends, sockets};

/// See the module.
pub(super) struct Connection {
    pub(super) socket: Option<Socket>,
    pub(super) opening: Option<sockets::Opening>,
    /// Rises with every reopening: completions of an older one are not listened to.
    pub(super) generation: u32,
    /// Whether a receive is armed, which reports the end when all that came was read.
    pub(super) is_armed: bool,
    /// Whether a send has failed, so that the end of the receive is no end in order.
    pub(super) is_broken: bool,
    /// Whether the ring watches `opening`.
    pub(super) is_watched: bool,
    pub(super) outbox: Outbox,
}

impl Connection {
    /// That of an open `socket`; nothing is armed on it.
    pub(super) fn new(socket: Socket, ends: &Ends) -> Self {
        let outbox = if ends.says_more {
            tracked(ends)
        } else {
            Outbox::new(&socket, ends.request_bytes_max, ends.depth)
        };
        Self { socket: Some(socket), ..Self::closed(outbox) }
    }

    /// A spare, which is not open.
    pub(super) fn spare(ends: &Ends) -> Self {
        Self::closed(tracked(ends))
    }

    fn closed(outbox: Outbox) -> Self {
        Self {
            socket: None,
            opening: None,
            generation: 0,
            is_armed: false,
            is_broken: false,
            is_watched: false,
            outbox,
        }
    }
}

fn tracked(ends: &Ends) -> Outbox {
    Outbox::tracked(ends.request_bytes_max * ends.depth as usize)
}
