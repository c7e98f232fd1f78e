//! Connections that broke: opened again, with patience, until it is hopeless.
//!
//! An attempt that the server leaves unanswered (a full backlog, a handshake that hangs) is given up after the
//! time-out of requests and begun anew, because requests wait for the connection. Each further attempt may take
//! twice as long, so that a slow server is not asked for one handshake after another in vain.

mod attempts;

use attempts::{ATTEMPT_NS, Broken, PAUSE_NS, PAUSE_NS_MAX};

use super::read::After;
use super::{Connections, owing};
use crate::transports::{Reopen, Transport};

/// A connection that held this long is tried again at once.
const HELD_NS: u64 = 1_000_000_000;
/// With no connection open for this long, the run ends.
const HOPELESS_NS: u64 = 5_000_000_000;
/// How many of the server's first bytes are stored.
const HEARD_BYTES: usize = 32;
/// One that ends sooner was refused, also where nothing was sent and nothing came on it.
const AT_ONCE_NS: u64 = 100_000_000;
/// Bytes retained of what the server says when it refuses a connection: a line.
const REFUSAL_BYTES: usize = 200;
/// A connection that is open for so long before a request is due idles.
const IDLE_NS: u64 = 1_000_000;

/// Which connections are down, and when each is tried again.
pub(super) struct Reopener {
    each: Vec<Broken>,
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
    heard: Vec<u8>,
    refusal: Vec<u8>,
}

impl Reopener {
    /// `timeout_ns`: how long a reply is waited for.
    pub(super) fn new(connections: u32, timeout_ns: u64) -> Self {
        Self {
            each: vec![Broken::default(); connections as usize],
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
            heard: Vec::with_capacity(HEARD_BYTES),
            refusal: Vec::with_capacity(REFUSAL_BYTES),
        }
    }

    #[inline]
    pub(super) fn has_work(&self) -> bool {
        !self.down.is_empty()
    }

    /// How long until there is work, ns; for ever where none is down.
    #[inline]
    pub(super) fn due_ns(&self, now_ns: u64) -> u64 {
        if self.has_work() { self.next_try_ns.saturating_sub(now_ns) } else { u64::MAX }
    }

    #[inline]
    pub(super) fn is_hopeless(&self, now_ns: u64) -> bool {
        self.down.len() == self.each.len()
            && self.has_work()
            && now_ns.saturating_sub(self.all_down_since_ns) > HOPELESS_NS
    }

    pub(super) fn connections(&self) -> u32 {
        self.each.len() as u32
    }

    pub(super) fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// How often a connection ended unannounced, or on what was not asked for.
    pub(super) fn broke(&self) -> u64 {
        self.broke
    }

    /// How many were replaced because a request on them was not answered in time.
    pub(super) fn replaced(&self) -> u64 {
        self.replaced
    }

    /// How often none could be opened for want of a local port.
    pub(super) fn out_of_ports(&self) -> u64 {
        self.out_of_ports
    }

    /// How often more came than a reply has.
    pub(super) fn overlong(&self) -> u64 {
        self.overlong
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

    /// `bytes` were read on `connection`, and they were asked for.
    #[inline]
    pub(super) fn served(&mut self, connection: u32, bytes: &[u8]) {
        if !self.each[connection as usize].has_served {
            self.each[connection as usize].has_served = true;
            self.hear(bytes);
        }
    }

    #[cold]
    fn hear(&mut self, bytes: &[u8]) {
        if self.heard.is_empty() {
            self.heard.extend(bytes.iter().take(HEARD_BYTES));
        }
    }

    /// `connection` is about to end after `bytes`, and what is in flight on it with it: was it refused?
    ///
    /// So is one that ends soon after it was opened without a right answer, if it was asked or told
    /// something, or ends at once. One that was idle until then had no chance to answer.
    #[cold]
    pub(super) fn judge(
        &mut self,
        connections: &Connections,
        connection: u32,
        bytes: &[u8],
        now_ns: u64,
    ) {
        let it = &mut self.each[connection as usize];
        if connections.has_hit(connection) {
            (it.is_refused, it.is_answered) = (false, false);
            return;
        }
        let lived_ns = now_ns.saturating_sub(it.opened_ns);
        let was_asked = connections.oldest(connection).is_some();
        let is_spoken = was_asked || it.has_served || !bytes.is_empty();
        if lived_ns < AT_ONCE_NS || (lived_ns < HELD_NS && is_spoken) {
            it.is_refused |= !it.has_served;
            it.is_answered |= it.has_served;
        }
        if self.refusal.is_empty() && !was_asked {
            self.refusal.extend(bytes.iter().take(REFUSAL_BYTES));
        }
    }

    /// How many connections were refused each time that they were opened: without a reply, and with one.
    pub(super) fn refused(&self, connections: &Connections) -> (u64, u64) {
        let each = || self.each.iter().zip(0..).filter(|(_, nth)| !connections.has_hit(*nth));
        let count = |is_it: fn(&Broken) -> bool| each().filter(|(it, _)| is_it(it)).count() as u64;
        (count(|it| it.is_refused && !it.is_answered), count(|it| it.is_answered))
    }

    /// What the server sent beside any request before it closed one.
    pub(super) fn take_refusal(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.refusal)
    }

    /// `connection` broke, and the transport knows it. If the server had announced that it would close
    /// it (`agreed`), or it had served or held for long, it is opened again at once: a server that
    /// closes after each reply sets the pace, not our patience.
    #[cold]
    pub(super) fn closed(&mut self, connection: u32, now_ns: u64, agreed: bool) {
        let it = &mut self.each[connection as usize];
        if it.is_down {
            return;
        }
        let at_once = agreed || it.has_served || now_ns.saturating_sub(it.opened_ns) > HELD_NS;
        it.pause_ns = if at_once { 0 } else { (it.pause_ns * 2).clamp(PAUSE_NS, PAUSE_NS_MAX) };
        it.is_down = true;
        self.broke += u64::from(!agreed);
        it.next_try_ns = now_ns + it.pause_ns;
        self.next_try_ns = self.next_try_ns.min(it.next_try_ns);
        self.down.push(connection);
        if self.down.len() == self.each.len() {
            self.all_down_since_ns = now_ns;
        }
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
        self.overlong += u64::from(after == After::Overlong);
        self.closed(connection, now_ns, after != After::Broken);
        self.to_drop.push(connection);
    }

    /// A request on `connection` was not answered in time: the next ones get a fresh one.
    #[cold]
    pub(super) fn replace(&mut self, connection: u32, now_ns: u64) {
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

    /// Tries one that is down; whether it is open now.
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
            Reopen::Pending if it.goes_on(self.attempt_ns, now_ns) => it.look_again(now_ns),
            Reopen::Pending => {
                transport.close(connection);
                it.abandoned += 1;
                it.pause(now_ns);
            }
            refused @ (Reopen::Refused | Reopen::NoPort) => {
                self.out_of_ports += u64::from(refused == Reopen::NoPort);
                it.pause(now_ns);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
