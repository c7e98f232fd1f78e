//! Requests without an answer: given up after a time, so that none holds its connection for ever.
//!
//! What counts is how long a reply was looked for in vain, and not how long ago the request was
//! sent: what came while this thread did not run still lies in its sockets, and a machine that stood
//! still stopped the server too. So a gap between two rounds of the loop puts off all time-outs by
//! its length, and where a poll found as much as it takes at once, after which more may lie there,
//! twice the time is given.

use super::read::note_begun;
use super::{Drive, lose};
use crate::plan::lanes::MarksLanes;
use crate::protocols::Outcome;

/// A longer gap between two rounds puts time-outs off, ns.
const GAP_NS: u64 = 1_000_000;
/// Looks per time-out: a request is given up late by one look at most.
const LOOKS: u64 = 8;
/// Shortest and longest time between two looks, ns.
const LOOK_NS: (u64, u64) = (100_000, 10_000_000);
/// A poll that finds fewer events has emptied the sockets.
const EVENTS_BEHIND: u32 = 16;

/// Which requests are overdue.
pub(super) struct Overdue {
    timeout_ns: u64,
    next_look_ns: u64,
    /// When the next round is to begin at the latest.
    expected_ns: u64,
    /// When the last gap ended, and by how much it puts off what was sent before.
    gap_end_ns: u64,
    gap_ns: u64,
    /// Requests given up.
    pub(super) timed_out: u64,
}

impl Overdue {
    pub(super) fn new(timeout_ns: u64) -> Self {
        let (next_look_ns, expected_ns) = (0, u64::MAX);
        Self { timeout_ns, next_look_ns, expected_ns, gap_end_ns: 0, gap_ns: 0, timed_out: 0 }
    }

    /// Between two looks, ns.
    #[inline]
    pub(super) fn look_ns(&self) -> u64 {
        (self.timeout_ns / LOOKS).clamp(LOOK_NS.0, LOOK_NS.1)
    }

    /// A round begins at `now_ns`, and will wait for `wait_ns` at most; the gap before it, if there is one.
    #[inline]
    pub(super) fn round(&mut self, now_ns: u64, wait_ns: u64) -> Option<u64> {
        let gap_ns = now_ns.saturating_sub(self.expected_ns);
        self.expected_ns = now_ns + wait_ns;
        if gap_ns <= GAP_NS {
            return None;
        }
        self.note_gap(now_ns, gap_ns);
        Some(gap_ns)
    }

    /// Gaps that follow one another add up, to a time-out at most: else many short ones would put
    /// it off for ever.
    #[cold]
    fn note_gap(&mut self, now_ns: u64, gap_ns: u64) {
        let earlier_ns = if now_ns < self.gap_end_ns + self.timeout_ns { self.gap_ns } else { 0 };
        self.gap_ns = (earlier_ns + gap_ns).min(self.timeout_ns.max(gap_ns));
        self.gap_end_ns = now_ns;
    }

    /// What was sent before this is overdue; `None`: it is not time to look. `found` events came
    /// in the poll that began at `now_ns`.
    #[inline]
    fn late_ns(&mut self, now_ns: u64, result: u32) -> Option<u64> {
        if now_ns < self.next_look_ns {
            return None;
        }
        self.next_look_ns = now_ns + self.look_ns();
        let factor = if result < EVENTS_BEHIND { 1 } else { 2 };
        let late_ns = now_ns.checked_sub(self.timeout_ns.saturating_mul(factor))?;
        if late_ns < self.gap_end_ns { late_ns.checked_sub(self.gap_ns) } else { Some(late_ns) }
    }
}

impl Drive {
    /// After a poll that began at `now_ns` and found so many events: gives up what is overdue.
    #[inline]
    pub(super) fn give_up_overdue(&mut self, now_ns: u64, result: u32) {
        if let Some(late_ns) = self.overdue.late_ns(now_ns, result) {
            self.give_up(late_ns, now_ns);
        }
    }

    #[cold]
    fn give_up(&mut self, late_ns: u64, now_ns: u64) {
        let is_late = |marks: &MarksLanes, request: u32| marks.sent_ns[request as usize] < late_ns;
        for connection in 0..self.reopener.connections() {
            let oldest = self.connections.oldest(connection);
            if !oldest.is_some_and(|request| is_late(&self.marks, request)) {
                continue;
            }
            if self.interleaves && self.give_up_some(connection, late_ns, now_ns) {
                continue;
            }
            if !self.datagrams {
                self.connections.closed(connection); // what follows must not give it room
                note_begun(&mut self.connections, connection, &mut self.marks);
            }
            while let Some(request) = self.connections.oldest(connection)
                && is_late(&self.marks, request)
            {
                self.connections.pop(connection, now_ns);
                self.time_out(request);
            }
            if !self.datagrams {
                lose(&mut self.connections, connection, now_ns, &mut self.marks, &self.live);
                self.reopener.replace(connection, late_ns, now_ns);
            }
        }
        while let Some(request) = self.again.take_late(|request| is_late(&self.marks, request)) {
            self.connections.open().ended(request);
            self.time_out(request);
        }
        while let Some(request) =
            self.connections.take_overtaken(|request| is_late(&self.marks, request))
        {
            self.time_out(request);
        }
    }

    /// Gives up the overdue of the requests on `connection`, which the others outlive; `false`: there are
    /// no others, and a fresh connection does no harm.
    fn give_up_some(&mut self, connection: u32, late_ns: u64, now_ns: u64) -> bool {
        if self.connections.heard_ns(connection) < late_ns {
            return false; // it is silent, however young what was sent to it last
        }
        let is_late = |this: &Self, request: u32| this.marks.sent_ns[request as usize] < late_ns;
        if self.connections.newest(connection).is_none_or(|newest| is_late(self, newest)) {
            return false;
        }
        while let Some(request) = self.connections.oldest(connection)
            && is_late(self, request)
        {
            if let Some(it) = self.connections.interleaved(connection) {
                it.cancel(request);
            }
            self.connections.pop(connection, now_ns);
            self.time_out(request);
        }
        self.owing.add(connection);
        true
    }

    fn time_out(&mut self, request: u32) {
        self.overdue.timed_out += 1;
        self.marks.outcome[request as usize] = Outcome::TimedOut;
        self.live.gone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn overdue() -> Overdue {
        let mut overdue = Overdue::new(10 * MS);
        overdue.round(0, 0);
        overdue
    }

    /// What is overdue at `now_ns`, whenever it was looked last.
    fn late_ns(overdue: &mut Overdue, now_ns: u64, result: u32) -> Option<u64> {
        overdue.next_look_ns = 0;
        overdue.late_ns(now_ns, result)
    }

    #[test]
    fn overdue_is_what_was_sent_a_time_out_ago() {
        let mut overdue = overdue();
        assert_eq!(late_ns(&mut overdue, 9 * MS, 0), None);
        assert_eq!(overdue.late_ns(25 * MS, 0), Some(15 * MS));
        assert_eq!(overdue.late_ns(25 * MS + 1, 0), None, "not twice at once");
        assert_eq!(late_ns(&mut overdue, 25 * MS, EVENTS_BEHIND), Some(5 * MS));
    }

    #[test]
    fn a_gap_puts_off_what_was_sent_before_it_and_a_planned_wait_is_none() {
        let mut overdue = overdue();
        overdue.round(MS / 2, 20 * MS);
        overdue.round(20 * MS, 0);
        assert_eq!(late_ns(&mut overdue, 21 * MS, 0), Some(11 * MS), "it had meant to sleep");
        overdue.round(60 * MS, 0);
        assert_eq!(late_ns(&mut overdue, 60 * MS, 0), Some(10 * MS), "40 ms later");
        assert_eq!(late_ns(&mut overdue, 70 * MS, 0), Some(60 * MS), "all of it is after the gap");
    }

    #[test]
    fn many_short_gaps_do_not_put_it_off_for_ever() {
        let mut overdue = overdue();
        for ms in 1..=500 {
            overdue.round(2 * ms * MS, 0);
        }
        assert_eq!(late_ns(&mut overdue, 1000 * MS, 0), Some(980 * MS));
    }
}
