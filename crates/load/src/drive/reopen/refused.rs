//! Connections that end: were they refused, and what was cut off with them?

use super::attempts::Broken;
use super::{HELD_NS, Reopener};
use crate::drive::Connections;

/// One that ends sooner was refused, also where nothing was sent and nothing came on it.
const AT_ONCE_NS: u64 = 100_000_000;
/// Bytes retained of what the server says when it refuses a connection: a line.
pub(super) const REFUSAL_BYTES: usize = 200;

impl Reopener {
    /// `connection` is about to end after `bytes`, and what is in flight on it with it: was it refused?
    ///
    /// So is one that ends soon after it was opened without a right answer, if something
    /// was sent or came on it, or if it ends at once. One that was idle until then had no chance to answer.
    #[cold]
    pub(in crate::drive) fn judge(
        &mut self,
        connections: &Connections,
        connection: u32,
        bytes: &[u8],
        now_ns: u64,
    ) {
        let Broken { opened_ns, has_served, is_down, is_resting, .. } =
            self.each[connection as usize];
        if is_down || is_resting || self.other_is_leaving(connection) {
            return; // its end was judged or agreed on before, or a spare alone was refused
        }
        let it = &mut self.each[connections.number(connection) as usize];
        if connections.has_hit(connection) {
            (it.is_refused, it.is_answered) = (false, false);
            return;
        }
        let lived_ns = now_ns.saturating_sub(opened_ns);
        let was_asked = connections.oldest(connection).is_some();
        let is_spoken = was_asked || has_served || !bytes.is_empty();
        if lived_ns < AT_ONCE_NS || (lived_ns < HELD_NS && is_spoken) {
            it.is_refused |= !has_served;
            it.is_answered |= has_served;
        }
        if self.refusal.is_empty() && !was_asked {
            self.refusal.extend(bytes.iter().take(REFUSAL_BYTES));
        }
    }

    /// How many connections were refused each time that they were opened: without a reply, and with one.
    /// One and its spare are one.
    pub(in crate::drive) fn refused(&self, connections: &Connections) -> (u64, u64) {
        let rests = |nth: u32| self.each[nth as usize].is_resting;
        let has_hit = |nth: u32| !rests(nth) && connections.has_hit(nth);
        let mut counts = (0, 0);
        for nth in 0..self.count {
            if has_hit(nth) || self.other(nth).is_some_and(has_hit) {
                continue;
            }
            let it = &self.each[nth as usize];
            counts.0 += u64::from(it.is_refused && !it.is_answered);
            counts.1 += u64::from(it.is_answered);
        }
        counts
    }

    /// How many connections the server left alone all the time, though a request was sent on them before
    /// `by_ns`: it takes them, and serves fewer at a time. `sent_ns`: when a request in flight was.
    pub(in crate::drive) fn unserved(
        &self,
        connections: &Connections,
        by_ns: u64,
        sent_ns: impl Fn(u32) -> u64,
    ) -> u64 {
        let is_left_alone = |nth: &u32| {
            let it = &self.each[*nth as usize];
            let waiting_ns = || connections.oldest(*nth).map(&sent_ns);
            let is_open = !it.ever_served && !it.is_refused && !it.is_answered;
            is_open && it.silent_ns.or_else(waiting_ns).is_some_and(|ns| ns < by_ns)
        };
        (0..self.count).filter(is_left_alone).count() as u64
    }

    /// What the server sent beside any request before it closed one.
    pub(in crate::drive) fn take_refusal(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.refusal)
    }

    /// TCP alone ended `connection`: was a reply being read that has no end but that of the stream?
    ///
    /// Asked of this connection: another one may have been torn between two replies, and a reset may have
    /// cut off a reply on a third.
    #[cold]
    pub(in crate::drive) fn torn(&mut self, connections: &Connections, connection: u32) {
        self.has_torn |= connections.is_open_ended(connection);
    }

    /// Whether a reply was cut off so.
    pub(in crate::drive) fn has_torn(&self) -> bool {
        self.has_torn
    }
}
