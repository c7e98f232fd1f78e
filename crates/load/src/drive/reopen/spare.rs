//! Connections that the server lets take no more requests (`GOAWAY`), and their spares.
//!
//! A connection and its spare are a pair of equals: one serves and the other rests, closed. Where the one that
//! serves is leaving, the other is opened at once, as clients do, and takes requests from then on. The first
//! answers what it has begun, and rests when that has ended.
//!
//! Where the attempt to open the other one fails, it rests again, and requests wait: the one that is leaving
//! is opened again at its end. So is one that ends while the other is leaving, too.

use super::Reopener;
use super::attempts::Broken;

impl Reopener {
    /// Adds a spare for each connection.
    pub(in crate::drive) fn add_spares(&mut self) {
        let mut spare = Broken::default();
        spare.rest();
        self.each.resize(2 * self.each.len(), spare);
        self.to_drop.reserve(self.each.len());
    }

    /// The server answers what is in flight on `connection`, and takes no more: the other one is to serve. Where
    /// there is none, `connection` takes no requests until it has drained, and that is counted.
    #[cold]
    pub(super) fn relieve(&mut self, connection: u32, now_ns: u64) {
        if std::mem::replace(&mut self.each[connection as usize].is_leaving, true) {
            return;
        }
        match self.other(connection) {
            None => self.unrelieved += 1,
            Some(other) if self.each[other as usize].is_resting => self.goes_down(other, now_ns),
            Some(_) => {}
        }
    }

    /// The other one of the pair.
    pub(super) fn other(&self, connection: u32) -> Option<u32> {
        let all = self.each.len() as u32;
        (all > self.count).then(|| (connection + self.count) % all)
    }

    /// Whether the other one takes no more requests, and still answers some.
    pub(super) fn other_is_leaving(&self, connection: u32) -> bool {
        self.other(connection).is_some_and(|other| self.each[other as usize].is_leaving)
    }

    /// Whether `connection`, which has ended or cannot be opened, rests: the other one serves or will. It may
    /// be leaving, too. Then this one is opened again if that may be done `at_once`, and rests else.
    pub(super) fn may_rest(&self, connection: u32, at_once: bool) -> bool {
        if self.other_is_leaving(connection) {
            return !at_once;
        }
        self.other(connection).is_some_and(|other| !self.each[other as usize].is_resting)
    }

    /// Whether no connection is open.
    pub(super) fn are_all_down(&self) -> bool {
        self.down.len() == self.count as usize
            && !self.down.iter().any(|&it| self.other_is_leaving(it))
    }
}
