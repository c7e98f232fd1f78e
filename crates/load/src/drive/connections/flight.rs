//! The requests in flight on each connection, the oldest first: a ring of slots for each.

use super::Connections;

impl Connections {
    /// How many requests on `connection` are older than the first that `is_wanted`.
    pub(in crate::drive) fn place(
        &self,
        connection: u32,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let it = &self.each[connection as usize];
        let slot = |nth| (connection * self.depth + wrap(it.head + nth, self.depth)) as usize;
        (0..it.len).find(|&nth| is_wanted(self.slots[slot(nth)]))
    }

    /// Puts `request` in flight on `connection`, which has room.
    #[inline]
    pub fn push(&mut self, connection: u32, request: u32) {
        let listed = self.is_listed(connection);
        if listed {
            self.unlist(connection);
        }
        let it = &mut self.each[connection as usize];
        let slot = wrap(it.head + it.len, self.depth);
        it.len += 1;
        self.slots[(connection * self.depth + slot) as usize] = request;
        self.in_flight += 1;
        if self.is_listed(connection) {
            self.list(connection);
        } else if listed {
            self.room_of(connection).with -= 1;
        }
    }

    /// The oldest request in flight on `connection`.
    #[inline]
    pub fn oldest(&self, connection: u32) -> Option<u32> {
        let it = &self.each[connection as usize];
        (it.len > 0).then(|| self.slots[(connection * self.depth + it.head) as usize])
    }

    /// Takes the oldest request of `connection` out of flight at `now_ns`.
    #[inline]
    pub fn pop(&mut self, connection: u32, now_ns: u64) -> Option<u32> {
        let request = self.take_oldest(connection, now_ns)?;
        self.open.ended(request);
        Some(request)
    }

    /// Takes `request` out of flight at `now_ns`.
    #[inline]
    pub(in crate::drive) fn take(&mut self, connection: u32, request: u32, now_ns: u64) -> bool {
        self.put_first(connection, request) && self.pop(connection, now_ns).is_some()
    }

    /// Takes `request`, which goes on elsewhere, off `connection` at `now_ns`: it has not ended.
    pub(in crate::drive) fn take_back(
        &mut self,
        connection: u32,
        request: u32,
        now_ns: u64,
    ) -> bool {
        self.put_first(connection, request) && self.take_oldest(connection, now_ns).is_some()
    }

    /// Makes `request` the oldest in flight on `connection`; whether it is there.
    #[inline]
    fn put_first(&mut self, connection: u32, request: u32) -> bool {
        let Some(place) = self.place(connection, |other| other == request) else { return false };
        let (first, head) = (connection * self.depth, self.each[connection as usize].head);
        let slot = |nth| (first + wrap(head + nth, self.depth)) as usize;
        // Those before it keep their order: the oldest stays in front, where a time-out looks for it.
        for nth in (0..place).rev() {
            self.slots[slot(nth + 1)] = self.slots[slot(nth)];
        }
        self.slots[slot(0)] = request;
        true
    }

    /// All requests in flight on `connection`, the oldest first.
    pub(in crate::drive) fn all(&self, connection: u32) -> impl Iterator<Item = u32> {
        let it = &self.each[connection as usize];
        let slot = move |nth| (connection * self.depth + wrap(it.head + nth, self.depth)) as usize;
        (0..it.len).map(move |nth| self.slots[slot(nth)])
    }

    /// The newest request in flight on `connection`.
    pub(in crate::drive) fn newest(&self, connection: u32) -> Option<u32> {
        let it = &self.each[connection as usize];
        let last = it.len.checked_sub(1)?;
        Some(self.slots[(connection * self.depth + wrap(it.head + last, self.depth)) as usize])
    }

    /// Gives the room of the oldest request of `connection` to others; a reply may still come.
    pub(in crate::drive) fn overtake(&mut self, connection: u32, now_ns: u64) {
        if let Some(request) = self.take_oldest(connection, now_ns) {
            self.overtaken.push((connection, request));
        }
    }

    /// Takes one overtaken request that `is_wanted` out of flight.
    pub(in crate::drive) fn take_overtaken(
        &mut self,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let at = self.overtaken.iter().position(|&(_, request)| is_wanted(request))?;
        let (_, request) = self.overtaken.swap_remove(at);
        self.open.ended(request);
        Some(request)
    }

    #[inline]
    fn take_oldest(&mut self, connection: u32, now_ns: u64) -> Option<u32> {
        let request = self.oldest(connection)?;
        let listed = self.is_listed(connection);
        if listed {
            self.unlist(connection);
        }
        let it = &mut self.each[connection as usize];
        it.head = wrap(it.head + 1, self.depth);
        it.len -= 1;
        it.idle_ns = now_ns;
        self.in_flight -= 1;
        if self.is_listed(connection) {
            if !listed {
                self.gain_room(connection, now_ns);
            }
            self.list(connection);
        }
        Some(request)
    }
}

/// `at` modulo `depth`, for `at` below twice `depth`.
#[inline]
fn wrap(at: u32, depth: u32) -> u32 {
    if at >= depth { at - depth } else { at }
}
