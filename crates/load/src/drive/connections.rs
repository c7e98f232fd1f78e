//! Which requests are in flight on which connection, and which connection the next one takes.
//!
//! A request takes the connection with the fewest in flight; among equals, the one that has been
//! so for longest. So with `depth` 1 it is a queue of free connections, requests spread over all
//! of them, and no request waits while a connection has room. A server that ends idle connections can
//! turn that order round ([`idle`]). Nothing allocates after `new`.

mod flight;
mod idle;
mod room;
mod spare;

use room::Room;

use super::datagrams::Overtaken;
use super::read::After;
use super::segments::Open;
use crate::job::shards::Shards;
use crate::protocols::{Decoder, Interleaved};

const NONE: u32 = u32::MAX;
/// Overtaken requests for which there is room from the start: 2 % of 200 000/s for a second.
const OVERTAKEN: usize = 4096;

/// One connection's place in the lists, and what is in flight on it.
struct Connection {
    /// Neighbours in the list of connections with as many in flight.
    next: u32,
    previous: u32,
    /// Oldest request in flight: index into its slots.
    head: u32,
    /// Number in flight.
    len: u32,
    /// Most requests in flight: `depth`, or fewer where the server lets no more be.
    limit: u32,
    open: bool,
    /// It has answered a request as it should since it was opened.
    has_hit: bool,
    /// Never picked: somebody uses it for a purpose of its own.
    aside: bool,
    /// When the first byte of the reply being read came, ns; 0: none yet.
    first_byte_ns: u64,
    /// Where replies interleave: when bytes came last, or the connection did.
    heard_ns: u64,
    /// Since when nothing is in flight, ns.
    idle_ns: u64,
    /// The server that it leads to.
    shard: u32,
    decoder: Box<dyn Decoder>,
}

impl Connection {
    /// One to the server `shard` that is not open.
    fn closed(shard: u32, depth: u32, decoder: Box<dyn Decoder>) -> Self {
        Self {
            next: NONE,
            previous: NONE,
            head: 0,
            len: 0,
            limit: depth,
            open: false,
            has_hit: false,
            aside: false,
            first_byte_ns: 0,
            heard_ns: 0,
            idle_ns: 0,
            shard,
            decoder,
        }
    }
}

/// All connections of one thread.
pub struct Connections {
    each: Vec<Connection>,
    /// How many there are beside spares, which come behind them.
    count: u32,
    /// Requests in flight: `depth` slots for each connection, as rings.
    slots: Vec<u32>,
    depth: u32,
    /// Those that have room, by the server that they lead to.
    rooms: Vec<Room>,
    /// Whether the order among equals is turned round when the server ends an idle connection, and when it was.
    heeds_idle_ends: bool,
    newest_first_ns: Option<u64>,
    /// Where `pick_any` looks first.
    turn: usize,
    in_flight: usize,
    /// A connection that has been replaced since had answered as it should.
    had_hit: bool,
    /// Over UDP a reply may come when it is not waited for any more.
    datagrams: bool,
    /// Requests of each segment of the plan that are in flight or not sent yet.
    open: Open,
    /// Over UDP: sent, not answered, and without room of their own any more.
    pub(super) overtaken: Overtaken,
}

impl Connections {
    /// `count` open connections with nothing in flight, to the servers of `shards` in turn.
    pub fn new(
        count: u32,
        depth: u32,
        datagrams: bool,
        shards: Shards,
        mut decoder: impl FnMut() -> Box<dyn Decoder>,
    ) -> Self {
        let each = (0..count)
            .map(|nth| Connection::closed(shards.of_connection(nth), depth, decoder()))
            .collect();
        let mut this = Self {
            each,
            count,
            slots: vec![NONE; count as usize * depth as usize],
            depth,
            rooms: vec![Room::new(depth); shards.count() as usize],
            heeds_idle_ends: false,
            newest_first_ns: None,
            turn: 0,
            in_flight: 0,
            had_hit: false,
            datagrams,
            open: Open::default(),
            overtaken: Vec::with_capacity(if datagrams { OVERTAKEN } else { 0 }),
        };
        (0..count).for_each(|connection| this.ready(connection, 0));
        this
    }

    /// Requests in flight on all connections.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether replies come as datagrams.
    #[inline]
    pub(super) fn are_datagrams(&self) -> bool {
        self.datagrams
    }

    /// Whether no reply is waited for any more.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.overtaken.is_empty()
    }

    /// Counts by the segments of a ring from now on.
    pub(super) fn count_open(&mut self, open: Open) {
        self.open = open;
    }

    /// How many requests of each segment have not ended.
    pub(super) fn open(&mut self) -> &mut Open {
        &mut self.open
    }

    /// The decoder of `connection`, and when the first byte of the reply it reads came.
    #[inline]
    pub fn reading(&mut self, connection: u32) -> (&mut dyn Decoder, &mut u64) {
        let it = &mut self.each[connection as usize];
        (it.decoder.as_mut(), &mut it.first_byte_ns)
    }

    /// What `connection` does beside reading, if it is open and its replies interleave.
    #[inline]
    pub(super) fn interleaved(&mut self, connection: u32) -> Option<&mut dyn Interleaved> {
        let it = &mut self.each[connection as usize];
        if it.open { it.decoder.interleaved() } else { None }
    }

    /// Whether the reply that is read on `connection` has no end but that of the connection.
    pub(super) fn is_open_ended(&self, connection: u32) -> bool {
        self.each[connection as usize].decoder.is_open_ended()
    }

    /// A request on `connection` was answered as it should be.
    #[inline]
    pub(super) fn hit(&mut self, connection: u32) {
        self.each[connection as usize].has_hit = true;
    }

    /// Whether one was since it was opened.
    pub(super) fn has_hit(&self, connection: u32) -> bool {
        self.each[connection as usize].has_hit
    }

    /// Whether any request on any connection was.
    #[cold]
    pub(super) fn any_hit(&self) -> bool {
        self.had_hit || self.each.iter().any(|it| it.has_hit)
    }

    /// Bytes came on `connection`.
    #[inline]
    pub(super) fn heard(&mut self, connection: u32, now_ns: u64) {
        self.each[connection as usize].heard_ns = now_ns;
    }

    /// When bytes came last on `connection`, or it was opened.
    pub(super) fn heard_ns(&self, connection: u32) -> u64 {
        self.each[connection as usize].heard_ns
    }

    /// What to do with bytes that are not waited for: on a stream they are the end of all order,
    /// unless it is being closed anyway.
    #[cold]
    pub(super) fn after_stray(&self, connection: u32) -> After {
        let ignored = self.datagrams || !self.each[connection as usize].open;
        if ignored { After::GoOn } else { After::Broken }
    }
}

#[cfg(test)]
mod tests;
