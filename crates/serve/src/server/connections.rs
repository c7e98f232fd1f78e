//! Connections that come, go on and end, those to another service among them.

use super::{Ready, Server, Slot};
use crate::arrival;
use crate::connection::{Connection, State};

impl Server {
    /// Of calls: as many replies to the client may leave.
    pub(super) fn take_replies(&mut self, at: usize, event: Ready) {
        let Some(replies) = self.calls.take(at, event, &self.poller) else { return self.close(at) };
        for _ in 0..replies {
            let Some(connection) = self.slots[at].connection.as_mut() else { return };
            let state = connection.allow_next();
            self.settle(at, state);
        }
    }

    /// Acts on what became of a connection.
    pub(super) fn settle(&mut self, at: usize, state: State) {
        let Some(connection) = self.slots[at].connection.as_mut() else { return };
        if state == State::Closed {
            return self.close(at);
        }
        let is_full = state == State::Full;
        if is_full != connection.is_full {
            connection.is_full = is_full;
            // A set that cannot be changed shows at the next write.
            let _ = self.poller.want_write(connection.stream(), at as u64, is_full);
        }
    }

    pub(super) fn close(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.connection = None; // closing the socket takes it out of the epoll set
        slot.generation += 1;
        self.calls.close(at);
    }

    pub(super) fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
                continue;
            }
            arrival::stamp(&stream);
            let free = self.slots.iter().position(|slot| slot.connection.is_none());
            let at = free.unwrap_or(self.slots.len());
            if self.calls.open(at, &self.poller).is_err() {
                continue; // the client sees its end
            }
            if self.poller.add(&stream, at as u64).is_err() {
                continue;
            }
            if at == self.slots.len() {
                self.slots.push(Slot::default());
            }
            self.slots[at].connection = Some(Connection::new(stream));
            self.notes.accepted();
        }
    }
}
