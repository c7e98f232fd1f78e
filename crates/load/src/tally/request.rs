//! One request of a run, from the moment it was due to the end of its reply.

use sojourn_workload::plan::Op;

use crate::protocols::Outcome;

/// One request as it is judged; times in ns after the start of the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its place in the plan of its thread.
    pub index: usize,
    /// What it asks for.
    pub op: Op,
    /// The key or path number.
    pub item: u32,
    /// When it was due.
    pub intended_ns: u64,
    /// Since when a connection had been free when it was sent; if it never was for want of one, the
    /// end of the run.
    pub free_ns: u64,
    /// When it was sent; 0: never.
    pub sent_ns: u64,
    /// When the first byte of its reply was there.
    pub first_byte_ns: u64,
    /// When its reply was complete.
    pub done_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Body bytes of its reply.
    pub reply_bytes: u32,
}

impl Request {
    /// The part of the send lag that is the instrument's own; `None` if it was never sent although
    /// there was a connection for it. One for which there was none had no lag of the instrument's.
    pub fn pick_up_ns(&self) -> Option<u64> {
        match self.sent_ns {
            0 => self.waited().then_some(0),
            sent_ns => Some(sent_ns.saturating_sub(self.intended_ns.max(self.free_ns))),
        }
    }

    /// Whether no connection was free when it was due.
    pub fn waited(&self) -> bool {
        self.free_ns > self.intended_ns
    }

    /// When the instrument issued it: its intended time plus the instrument's own lag; `None`: never,
    /// though it could have.
    pub fn issued_ns(&self) -> Option<u64> {
        Some(self.intended_ns + self.pick_up_ns()?)
    }
}
