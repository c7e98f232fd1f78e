//! Where finished requests go: warm-up left out, the rest summed up in constant memory.

use crate::stats::{Cycles, Regenerative, Sections, Summary};

/// Counts arrivals, and keeps what became of those after the warm-up.
#[derive(Debug)]
pub struct Tally {
    arrived: u64,
    measured_from: u64,
    sections: Sections,
    cycles: Cycles,
    epoll_ns: f64,
    dispatch_ns: f64,
}

impl Tally {
    /// For `warmup` requests that are left out and `requests` that count.
    pub fn new(warmup: u64, requests: u64) -> Self {
        Self {
            arrived: 0,
            measured_from: warmup,
            sections: Sections::new(requests),
            cycles: Cycles::default(),
            epoll_ns: 0.0,
            dispatch_ns: 0.0,
        }
    }

    /// A request arrives; `found_empty` if no one was in the system. Returns its index.
    #[inline]
    pub fn arrive(&mut self, found_empty: bool) -> u64 {
        let index = self.arrived;
        self.arrived += 1;
        if found_empty && index >= self.measured_from {
            self.cycles.begin();
        }
        index
    }

    /// The request that just arrived found a server of `queue` idle: no one waited there.
    #[inline]
    pub fn idle(&mut self, queue: usize) {
        self.sections.begin_cycle(queue);
    }

    /// Request `index`, served by `queue`, is done after `sojourn_ns`.
    #[inline]
    pub fn finish(&mut self, index: u64, queue: usize, sojourn_ns: f64) {
        if index >= self.measured_from {
            self.sections.add(queue, (sojourn_ns + 0.5) as u64); // `round` is a call into libm
            self.cycles.add(sojourn_ns);
        }
    }

    /// How request `index` waited for its event loop.
    #[inline]
    pub fn stages(&mut self, index: u64, epoll_ns: f64, dispatch_ns: f64) {
        if index >= self.measured_from {
            self.epoll_ns += epoll_ns;
            self.dispatch_ns += dispatch_ns;
        }
    }

    /// Summary, cycles, and the summed epoll and dispatch waits, ns.
    pub fn finish_run(self) -> (Summary, Regenerative, [f64; 2]) {
        (self.sections.finish(), self.cycles.finish(), [self.epoll_ns, self.dispatch_ns])
    }
}
