//! What connections owe the server beside requests, where replies interleave: acknowledgements, windows.
//! It is sent when the poll that brought the bytes is over.

use super::Connections;
use crate::transports::Transport;

/// Connections that owe the server something.
pub(super) struct Owing {
    each: Vec<u32>,
    is_listed: Vec<bool>,
}

impl Owing {
    pub(super) fn new(connections: u32) -> Self {
        let count = connections as usize;
        Self { each: Vec::with_capacity(count), is_listed: vec![false; count] }
    }

    pub(super) fn add(&mut self, connection: u32) {
        if !std::mem::replace(&mut self.is_listed[connection as usize], true) {
            self.each.push(connection);
        }
    }

    /// Says all that is owed.
    #[inline]
    pub(super) fn settle(
        &mut self,
        connections: &mut Connections,
        transport: &mut dyn Transport,
        bytes: &mut Vec<u8>,
    ) {
        while let Some(connection) = self.each.pop() {
            self.is_listed[connection as usize] = false;
            say(connections, connection, transport, bytes);
        }
    }
}

/// Says what `connection` owes the server, if it is open.
pub(super) fn say(
    connections: &mut Connections,
    connection: u32,
    transport: &mut dyn Transport,
    bytes: &mut Vec<u8>,
) {
    if let Some(it) = connections.interleaved(connection) {
        bytes.clear();
        it.say(bytes);
        if !bytes.is_empty() {
            transport.send(connection, bytes);
        }
    }
}
