//! What will be sent: a set of arrays that is drawn before it is due and never changes.

/// The number of an operation: its place in the table of whoever carries it out, as a protocol does.
/// 0 is the usual one, which is asked for where no other is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Op(pub u8);

/// What one thread will send, request by request, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Intended arrival of each request, ns after the start of the warm-up; ascending.
    pub intended_ns: Vec<u64>,
    /// What each request asks for: a key or path number.
    pub item: Vec<u32>,
    /// Which operation it is.
    pub op: Vec<Op>,
    /// Requests with an index below this are warm-up: sent, checked, not measured.
    pub measured_from: usize,
}

/// One request of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it is due, ns after the start of the warm-up.
    pub intended_ns: u64,
    /// Which key or path it asks for.
    pub item: u32,
    /// What it does.
    pub op: Op,
}

impl Plan {
    /// Forgets all requests from index `requests` on.
    pub fn truncate(&mut self, requests: usize) {
        self.intended_ns.truncate(requests);
        self.item.truncate(requests);
        self.op.truncate(requests);
        self.measured_from = self.measured_from.min(requests);
    }
}
