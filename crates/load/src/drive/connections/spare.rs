//! Spares: further connections, closed at first, each of which takes requests while another one drains.
//!
//! Of `n` connections the spare of number `c` is `c + n`. In results both have the number `c`.

use super::{Connection, Connections, NONE};
use crate::protocols::Decoder;

impl Connections {
    /// Adds a spare for each connection, set aside where that is.
    pub(in crate::drive) fn add_spares(&mut self, mut decoder: impl FnMut() -> Box<dyn Decoder>) {
        self.slots.resize(2 * self.slots.len(), NONE);
        for nth in 0..self.count as usize {
            let Connection { shard, aside, .. } = self.each[nth];
            let spare = Connection { aside, ..Connection::closed(shard, self.depth, decoder()) };
            self.each.push(spare);
        }
    }

    /// The number that `connection` has in results.
    #[inline]
    pub(in crate::drive) fn number(&self, connection: u32) -> u32 {
        if connection < self.count { connection } else { connection - self.count }
    }

    /// Which of `connection` and its spare has room for one more, if one has.
    pub(in crate::drive) fn with_room(&self, connection: u32) -> Option<u32> {
        let has_room = |it: &u32| (*it as usize) < self.each.len() && self.has_room(*it);
        [connection, connection + self.count].into_iter().find(has_room)
    }
}
