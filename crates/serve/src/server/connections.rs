//! Connections that come, go on and end, those to another service among them.

use std::net::TcpStream;

use sojourn_base::accept::{self, Accept};

use super::{LISTENER, Ready, Server, Slot};
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
        self.resume_in_time(u64::MAX); // there is room for another
    }

    /// Takes over everybody who waits; `by` accepts one.
    pub(super) fn accept(&mut self, by: Accept) {
        while let Some(taken) = accept::next(&self.listener, by).transpose() {
            let Ok(stream) = taken else { return self.pause() };
            self.welcome(stream);
        }
    }

    fn welcome(&mut self, stream: TcpStream) {
        if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
            return;
        }
        arrival::stamp(&stream);
        let free = self.slots.iter().position(|slot| slot.connection.is_none());
        let at = free.unwrap_or(self.slots.len());
        if self.calls.open(at, &self.poller).is_err()
            || self.poller.add(&stream, at as u64).is_err()
        {
            self.calls.close(at);
            return self.notes.unaccepted(); // the client sees its end
        }
        if at == self.slots.len() {
            self.slots.push(Slot::default());
        }
        self.slots[at].connection = Some(Connection::new(stream));
        self.notes.accepted();
    }

    /// No client can be accepted now: the listener is left alone until a connection ends, or for a while.
    #[cold]
    fn pause(&mut self) {
        self.notes.unaccepted();
        let now_ns = self.now();
        self.pause.begin(now_ns, || self.poller.remove(&self.listener));
    }

    /// Looks at the listener again if it has been left alone for long enough at `now_ns`.
    #[inline]
    pub(super) fn resume_in_time(&mut self, now_ns: u64) {
        self.pause.end_in_time(now_ns, || self.poller.add(&self.listener, LISTENER));
    }
}
