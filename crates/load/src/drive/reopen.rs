//! Connections that broke: opened again, with patience, until it is hopeless.
//!
//! An attempt that the server leaves unanswered (a full backlog, a handshake that hangs) is given up after the
//! time-out of requests and begun anew, because requests wait for the connection. Each further attempt may take
//! twice as long, so that a slow server is not asked for one handshake after another in vain.

mod attempts;
mod counts;
mod refused;
mod spare;

use attempts::{ATTEMPT_NS, Broken, PAUSE_NS, PAUSE_NS_MAX};
use refused::REFUSAL_BYTES;

use super::read::After;
use super::{Connections, owing};
use crate::transports::{Reopen, Transport};

/// A connection that held this long is tried again at once.
const HELD_NS: u64 = 1_000_000_000;
/// With no connection open for this long, the run ends.
const HOPELESS_NS: u64 = 5_000_000_000;
/// How many of the server's first bytes are stored.
const HEARD_BYTES: usize = 32;
/// A connection that is open for so long before a request is due idles.
const IDLE_NS: u64 = 1_000_000;

/// Which connections are down, and when each is tried again.
pub(super) struct Reopener {
    each: Vec<Broken>,
    /// How many there are beside spares, which come behind them.
    count: u32,
    /// Connections that the transport has still to drop.
    to_drop: Vec<u32>,
    /// How long the first attempt to open one may take.
    attempt_ns: u64,
    /// Those that are down.
    down: Vec<u32>,
    all_down_since_ns: u64,
    next_try_ns: u64,
    reconnects: u64,
    broke: u64,
    replaced: u64,
    out_of_ports: u64,
    overlong: u64,
    /// How often the server sent `GOAWAY` on one that has no spare.
    unrelieved: u64,
    heard: Vec<u8>,
    refusal: Vec<u8>,
    /// TCP alone has cut off a reply that has no end but that of its stream.
    has_torn: bool,
}

impl Reopener {
    /// `timeout_ns`: how long a reply is waited for.
    pub(super) fn new(connections: u32, timeout_ns: u64) -> Self {
        Self {
            each: vec![Broken::default(); connections as usize],
            count: connections,
            to_drop: Vec::with_capacity(connections as usize),
            attempt_ns: timeout_ns.clamp(ATTEMPT_NS.0, ATTEMPT_NS.1),
            down: Vec::with_capacity(connections as usize),
            all_down_since_ns: 0,
            next_try_ns: u64::MAX,
            reconnects: 0,
            broke: 0,
            replaced: 0,
            out_of_ports: 0,
            overlong: 0,
            unrelieved: 0,
            heard: Vec::with_capacity(HEARD_BYTES),
            refusal: Vec::with_capacity(REFUSAL_BYTES),
            has_torn: false,
        }
    }

    /// Whether there is something to open or to drop.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        !self.down.is_empty() || !self.to_drop.is_empty()
    }

    /// How long until one is tried again, ns; for ever where none is down.
    #[inline]
    pub(super) fn due_ns(&self, now_ns: u64) -> u64 {
        if self.down.is_empty() { u64::MAX } else { self.next_try_ns.saturating_sub(now_ns) }
    }

    #[inline]
    pub(super) fn is_hopeless(&self, now_ns: u64) -> bool {
        !self.down.is_empty()
            && now_ns.saturating_sub(self.all_down_since_ns) > HOPELESS_NS
            && self.are_all_down()
    }

    /// How many there are, spares included.
    pub(super) fn connections(&self) -> u32 {
        self.each.len() as u32
    }

    /// The first bytes that any server sent: they show its protocol if it is not ours.
    pub(super) fn into_heard(self) -> Vec<u8> {
        self.heard
    }

    /// Whether something that was asked for came on `connection` since it was opened.
    #[cold]
    pub(super) fn has_served(&self, connection: u32) -> bool {
        self.each[connection as usize].has_served
    }

    /// Whether `connection` was open for a while when a request on it came due at `due_ns`.
    #[cold]
    pub(super) fn has_idled(&self, connection: u32, due_ns: u64) -> bool {
        due_ns > self.each[connection as usize].opened_ns + IDLE_NS
    }

    /// `bytes` were read on `connection`; whether it goes on `after` them.
    #[inline]
    pub(super) fn goes_on(
        &mut self,
        connection: u32,
        bytes: &[u8],
        now_ns: u64,
        after: After,
    ) -> bool {
        if after == After::Leaving {
            self.relieve(connection, now_ns);
        } else if after != After::GoOn {
            return false;
        }
        self.served(connection, bytes);
        true
    }

    /// `bytes` were read on `connection`, and they were asked for.
    #[inline]
    pub(super) fn served(&mut self, connection: u32, bytes: &[u8]) {
        if !self.each[connection as usize].has_served {
            self.each[connection as usize].has_served = true;
            self.each[connection as usize].ever_served = true;
            self.hear(bytes);
        }
    }

    #[cold]
    fn hear(&mut self, bytes: &[u8]) {
        if self.heard.is_empty() {
            self.heard.extend(bytes.iter().take(HEARD_BYTES));
        }
    }

    /// `connection` broke, and the transport knows it. If the server had announced that it would close
    /// it (`agreed`), or it had served or held for long, it is opened again at once: a server that
    /// closes after each reply sets the pace, not our patience.
    #[cold]
    pub(super) fn closed(&mut self, connection: u32, now_ns: u64, agreed: bool) {
        let it = &mut self.each[connection as usize];
        if it.is_down || it.is_resting {
            return;
        }
        it.is_leaving = false;
        let at_once = agreed || it.has_served || now_ns.saturating_sub(it.opened_ns) > HELD_NS;
        it.pause_ns = if at_once { 0 } else { (it.pause_ns * 2).clamp(PAUSE_NS, PAUSE_NS_MAX) };
        self.broke += u64::from(!agreed);
        if self.may_rest(connection, at_once) {
            self.each[connection as usize].rest();
        } else {
            self.goes_down(connection, now_ns);
        }
        if self.are_all_down() {
            self.all_down_since_ns = now_ns;
        }
    }

    /// `connection` is tried again after its pause.
    fn goes_down(&mut self, connection: u32, now_ns: u64) {
        let it = &mut self.each[connection as usize];
        (it.is_down, it.is_resting) = (true, false);
        it.next_try_ns = now_ns + it.pause_ns;
        self.next_try_ns = self.next_try_ns.min(it.next_try_ns);
        self.down.push(connection);
    }

    /// `connection` is of no use any more after `bytes`; the transport learns it after the poll that
    /// found it.
    #[cold]
    pub(super) fn drop_after_poll(
        &mut self,
        connection: u32,
        bytes: &[u8],
        now_ns: u64,
        after: After,
    ) {
        self.hear(bytes);
        self.each[connection as usize].ever_served |= !bytes.is_empty();
        self.overlong += u64::from(after == After::Overlong);
        self.closed(connection, now_ns, after != After::Broken);
        self.to_drop.push(connection);
    }

    /// A request on `connection`, sent before `sent_ns`, was not answered in time: the next ones get a
    /// fresh one.
    #[cold]
    pub(super) fn replace(&mut self, connection: u32, sent_ns: u64, now_ns: u64) {
        self.each[connection as usize].silent_ns.get_or_insert(sent_ns);
        self.replaced += 1;
        self.drop_after_poll(connection, &[], now_ns, After::Agreed);
    }

    /// Drops what is to be dropped, and opens what may be opened. `is_woken`: the last poll has waited and
    /// reported nothing, so that one which is being opened may have gone on.
    #[cold]
    pub(super) fn tend(
        &mut self,
        transport: &mut dyn Transport,
        connections: &mut Connections,
        now_ns: u64,
        is_woken: bool,
    ) {
        for connection in self.to_drop.drain(..) {
            transport.close(connection);
        }
        if now_ns < self.next_try_ns && !is_woken {
            return;
        }
        self.next_try_ns = u64::MAX;
        let mut at = 0;
        while let Some(&connection) = self.down.get(at) {
            let it = &self.each[connection as usize];
            let is_due = now_ns >= it.next_try_ns || (is_woken && it.give_up_ns.is_some());
            if is_due && self.try_one(connection, transport, connections, now_ns) {
                self.down.swap_remove(at);
            } else {
                self.next_try_ns = self.next_try_ns.min(self.each[connection as usize].next_try_ns);
                at += 1;
            }
        }
    }

    /// Tries one that is down; whether it is not any more.
    fn try_one(
        &mut self,
        connection: u32,
        transport: &mut dyn Transport,
        connections: &mut Connections,
        now_ns: u64,
    ) -> bool {
        let it = &mut self.each[connection as usize];
        match transport.reopen(connection) {
            Reopen::Open => {
                it.is_down = false;
                it.opened_ns = now_ns;
                it.has_served = false;
                (it.give_up_ns, it.abandoned) = (None, 0);
                self.reconnects += 1;
                connections.opened(connection, now_ns);
                owing::say(connections, connection, transport, &mut Vec::new());
                return true;
            }
            Reopen::Pending if it.goes_on(self.attempt_ns, now_ns) => {
                it.look_again(now_ns);
                return false;
            }
            Reopen::Pending => {
                transport.close(connection);
                it.abandoned += 1;
            }
            refused @ (Reopen::Refused | Reopen::NoPort) => {
                self.out_of_ports += u64::from(refused == Reopen::NoPort);
            }
        }
        if self.may_rest(connection, false) {
            self.each[connection as usize].rest();
            return true;
        }
        self.each[connection as usize].pause(now_ns);
        false
    }
}

#[cfg(test)]
mod tests;
