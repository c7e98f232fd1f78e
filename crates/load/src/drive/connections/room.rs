//! Which connections have room for a request, and which of them the next one takes.

use super::{After, Connection, Connections, NONE};
use crate::protocols::Decoder;

/// The connections to one server that have room for a request.
#[derive(Clone)]
pub(super) struct Room {
    /// First and last connection with `i` in flight, for `i` below `depth`.
    first: Vec<u32>,
    last: Vec<u32>,
    /// No connection has fewer in flight than this.
    lowest: u32,
    /// How many there are.
    pub(super) with: u32,
    /// Since when there has been one at least, ns.
    since_ns: u64,
}

impl Room {
    pub(super) fn new(depth: u32) -> Self {
        let lists = vec![NONE; depth as usize];
        Self { first: lists.clone(), last: lists, lowest: 0, with: 0, since_ns: 0 }
    }
}

impl Connections {
    /// The connection that the next request to server `shard` takes; `None` if none has room.
    #[inline]
    pub fn pick(&mut self, shard: u32) -> Option<u32> {
        let room = &mut self.rooms[shard as usize];
        if room.with == 0 {
            return None;
        }
        while room.first[room.lowest as usize] == NONE {
            room.lowest += 1;
        }
        let list = if self.newest_first_ns.is_some() { &room.last } else { &room.first };
        Some(list[room.lowest as usize])
    }

    /// The same that was used or opened last: it is the least likely to be ended for having idled.
    #[cold]
    pub(in crate::drive) fn pick_last(&mut self, shard: u32) -> Option<u32> {
        self.pick(shard)?;
        let room = &self.rooms[shard as usize];
        Some(room.last[room.lowest as usize])
    }

    /// The connection that the next request to any server takes, servers in turn.
    #[inline]
    pub fn pick_any(&mut self) -> Option<u32> {
        for _ in 0..self.rooms.len() {
            let shard = self.turn;
            self.turn = if shard + 1 < self.rooms.len() { shard + 1 } else { 0 };
            let result = self.pick(shard as u32);
            if result.is_some() {
                return result;
            }
        }
        None
    }

    /// Since when, without a break, a connection to the server of `connection` has had room, ns.
    #[inline]
    pub fn room_since_ns(&self, connection: u32) -> u64 {
        self.rooms[self.each[connection as usize].shard as usize].since_ns
    }

    /// `connection` can be used from `now_ns` on.
    pub fn opened(&mut self, connection: u32, now_ns: u64) {
        self.each[connection as usize].decoder.reset();
        self.ready(connection, now_ns);
    }

    pub(super) fn ready(&mut self, connection: u32, now_ns: u64) {
        let it = &mut self.each[connection as usize];
        self.had_hit |= it.has_hit;
        (it.open, it.has_hit) = (true, false);
        (it.first_byte_ns, it.heard_ns, it.idle_ns) = (0, now_ns, now_ns);
        it.limit = limit_of(it.decoder.as_mut()).min(self.depth);
        if self.is_listed(connection) {
            self.gain_room(connection, now_ns);
            self.list_fresh(connection);
        }
    }

    /// `connection` takes as many requests as its server lets it from `now_ns` on; what becomes of it.
    pub(in crate::drive) fn heed_room(&mut self, connection: u32, now_ns: u64) -> After {
        let it = &mut self.each[connection as usize];
        let limit = limit_of(it.decoder.as_mut()).min(self.depth);
        if limit != it.limit {
            self.set_limit(connection, limit, now_ns);
        }
        if limit > 0 {
            return After::GoOn;
        }
        match self.interleaved(connection) {
            Some(it) if it.is_over() => After::Agreed,
            Some(it) if it.is_leaving() => After::Leaving,
            _ => After::GoOn,
        }
    }

    #[cold]
    fn set_limit(&mut self, connection: u32, limit: u32, now_ns: u64) {
        let was_listed = self.is_listed(connection);
        if was_listed {
            self.unlist(connection);
        }
        self.each[connection as usize].limit = limit;
        match (was_listed, self.is_listed(connection)) {
            (true, true) => self.list(connection),
            (true, false) => self.room_of(connection).with -= 1,
            (false, true) => {
                self.gain_room(connection, now_ns);
                self.list(connection);
            }
            (false, false) => {}
        }
    }

    /// `connection`, open and with nothing in flight, is never picked from now on.
    pub(in crate::drive) fn set_aside(&mut self, connection: u32) {
        if self.is_listed(connection) {
            self.unlist(connection);
            self.room_of(connection).with -= 1;
        }
        self.each[connection as usize].aside = true;
    }

    /// Whether `connection` has room for one more.
    pub(in crate::drive) fn has_room(&self, connection: u32) -> bool {
        let it = &self.each[connection as usize];
        it.open && it.len < it.limit
    }

    #[inline]
    pub(super) fn is_listed(&self, connection: u32) -> bool {
        self.has_room(connection) && !self.each[connection as usize].aside
    }

    /// `connection` cannot be used until it is open again. What is in flight on it stays there
    /// until it is taken out with [`Connections::pop`]. Answers whether it was open.
    pub fn closed(&mut self, connection: u32) -> bool {
        if !self.each[connection as usize].open {
            return false;
        }
        if self.is_listed(connection) {
            self.unlist(connection);
            self.room_of(connection).with -= 1;
        }
        self.each[connection as usize].open = false;
        true
    }

    #[inline]
    pub(super) fn room_of(&mut self, connection: u32) -> &mut Room {
        &mut self.rooms[self.each[connection as usize].shard as usize]
    }

    pub(super) fn gain_room(&mut self, connection: u32, now_ns: u64) {
        let room = self.room_of(connection);
        if room.with == 0 {
            room.since_ns = now_ns;
        }
        room.with += 1;
    }

    /// Puts `connection` at the end of its list.
    #[inline]
    pub(super) fn list(&mut self, connection: u32) {
        let level = self.each[connection as usize].len;
        let room = self.room_of(connection);
        let last = std::mem::replace(&mut room.last[level as usize], connection);
        if last == NONE {
            room.first[level as usize] = connection;
        }
        room.lowest = room.lowest.min(level);
        self.each[connection as usize].previous = last;
        self.each[connection as usize].next = NONE;
        if last != NONE {
            self.each[last as usize].next = connection;
        }
    }

    /// Puts `connection`, which was just opened, where it is picked last.
    fn list_fresh(&mut self, connection: u32) {
        if self.newest_first_ns.is_none() {
            return self.list(connection);
        }
        let level = self.each[connection as usize].len;
        let room = self.room_of(connection);
        let first = std::mem::replace(&mut room.first[level as usize], connection);
        if first == NONE {
            room.last[level as usize] = connection;
        }
        room.lowest = room.lowest.min(level);
        self.each[connection as usize].previous = NONE;
        self.each[connection as usize].next = first;
        if first != NONE {
            self.each[first as usize].previous = connection;
        }
    }

    /// Takes `connection` out of its list.
    #[inline]
    pub(super) fn unlist(&mut self, connection: u32) {
        let Connection { next, previous, len, .. } = self.each[connection as usize];
        if previous == NONE {
            self.room_of(connection).first[len as usize] = next;
        } else {
            self.each[previous as usize].next = next;
        }
        if next == NONE {
            self.room_of(connection).last[len as usize] = previous;
        } else {
            self.each[next as usize].previous = previous;
        }
    }
}

/// How many requests the server lets be in flight.
fn limit_of(decoder: &mut dyn Decoder) -> u32 {
    decoder.interleaved().map_or(u32::MAX, |it| it.room())
}
