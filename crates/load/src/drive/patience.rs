//! How long the loop may wait for the next event.

use super::{Drive, LOOKS_IN_TURN, NAP_NS};
use crate::transports::Patience;

impl Drive {
    /// Opens what has closed and is due, after a poll that was to end at `until_ns`. If it is empty and ended
    /// before, a connection that is being opened has ended it.
    #[inline]
    pub(super) fn reopen_due(&mut self, is_empty: bool, until_ns: u64) {
        if self.reopener.has_work() {
            let now_ns = self.now(); // what the poll has closed is due after it began
            let is_woken = is_empty && now_ns < until_ns;
            self.reopener.tend(self.transport.as_mut(), &mut self.connections, now_ns, is_woken);
        }
    }

    /// How long the next poll may wait: 0 when spinning, else until the next request is due.
    #[inline]
    pub(super) fn patience(&mut self, now_ns: u64) -> Patience {
        if self.turns.is_some() {
            return Patience { most: LOOKS_IN_TURN, ..Patience::NONE };
        }
        if self.wait.is_busy() {
            return Patience::NONE;
        }
        let wait_ns = self.wait_ns(now_ns);
        if wait_ns == 0 {
            return Patience::NONE; // more is due than one batch
        }
        if self.doze_ns == 0 {
            return Patience::for_first(wait_ns);
        }
        let wait_ns = doze_until(now_ns + wait_ns, self.now(), self.doze_ns);
        if self.connections.in_flight() == 0 {
            return Patience::for_first(wait_ns);
        }
        let together_ns = wait_ns.min(self.doze_ns);
        Patience { together_ns, arrivals: Patience::ALL, ..Patience::for_first(wait_ns) }
    }

    /// How long nothing will be due.
    fn wait_ns(&mut self, now_ns: u64) -> u64 {
        let nap_ns = self.nap_ns(now_ns);
        if self.pick().is_none() {
            return nap_ns; // only a reply, or the deadline, can change anything for the load
        }
        if !self.again.is_empty() {
            return 0;
        }
        if self.next == self.load_len {
            return nap_ns;
        }
        self.plan.intended_ns[self.next & self.mask].saturating_sub(now_ns).min(nap_ns)
    }

    /// Longest wait while the load has nothing due.
    #[inline]
    pub(super) fn nap_ns(&self, now_ns: u64) -> u64 {
        let mut nap_ns = self.reopener.due_ns(now_ns).min(NAP_NS);
        if !self.is_idle() {
            nap_ns = nap_ns.min(self.overdue.look_ns());
        }
        nap_ns.min(self.probe_due_ns(now_ns))
    }
}

/// How long a thread whose next request is due at `due_ns` may sleep at `now_ns`, so that it wakes
/// `doze_ns` late at most, ns: what fell due while others were sent has waited since.
fn doze_until(due_ns: u64, now_ns: u64, doze_ns: u64) -> u64 {
    (due_ns + doze_ns).saturating_sub(now_ns)
}

#[cfg(test)]
mod tests {
    use super::doze_until;

    #[test]
    fn a_wake_up_is_put_off_from_the_time_something_was_due() {
        assert_eq!(doze_until(1_000, 400, 100), 700);
        assert_eq!(doze_until(1_000, 1_030, 100), 70, "it has waited for 30 already");
        assert_eq!(doze_until(1_000, 1_200, 100), 0);
    }
}
