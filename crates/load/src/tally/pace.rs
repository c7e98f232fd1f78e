//! How fast requests were due and issued, and the grid on which the self-checks look at them.

use crate::tally::request::Request;

/// Blocks of the measured part from which gaps are taken; even ones make the first sample, odd ones
/// the second.
pub const BLOCKS: usize = 20;
/// Most windows in which arrivals are counted.
pub const WINDOWS_MAX: f64 = 10_000.0;
/// Least mean count per window.
pub const COUNT_MIN: f64 = 10.0;
/// First and last request of the measured part, as due and as issued, over all threads.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    due_ns: (u64, u64),
    issued_ns: (u64, u64),
    planned: u64,
    sent: u64,
}

impl Default for Pace {
    fn default() -> Self {
        let none = (u64::MAX, 0);
        Self { due_ns: none, issued_ns: none, planned: 0, sent: 0 }
    }
}

impl Pace {
    /// Adds a request of the measured part.
    pub fn add(&mut self, request: &Request) {
        let widen = |span: &mut (u64, u64), ns: u64| *span = (span.0.min(ns), span.1.max(ns));
        self.planned += 1;
        widen(&mut self.due_ns, request.intended_ns);
        if let Some(ns) = request.issued_ns() {
            self.sent += 1;
            widen(&mut self.issued_ns, ns);
        }
    }

    /// Rate of issuing over the planned rate, minus one.
    pub fn error(&self) -> f64 {
        let (due, issued) = (self.due_ns, self.issued_ns);
        if self.sent < 2 || issued.1 == issued.0 || due.1 == due.0 {
            return 0.0;
        }
        let rate = |count: u64, span: (u64, u64)| (count - 1) as f64 / (span.1 - span.0) as f64;
        rate(self.sent, issued) / rate(self.planned, due) - 1.0
    }
}
