//! What the hot loop and the keeper share: counts that only grow.
//!
//! Requests of one thread are numbered from 0 on. Request i lies in place i modulo the ring:
//!
//! ```text
//!  0 ... summarised ... finished ... taken ... drawn ... end of the load
//!        └──── the keeper's ────┘└─ the hot loop's ─┘
//! ```
//!
//! Who raises a count hands over the requests below it: with release, and the other reads it with
//! acquire. The keeper draws at most one ring beyond what it has summarised.

#[cfg(sojourn_loom)] // `make loom` tries every interleaving of this file
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
#[cfg(not(sojourn_loom))]
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use crate::watch::outage::Outage;

/// Outages that a log holds; the thread's own log holds no more either.
const OUTAGES_MAX: usize = if cfg!(sojourn_loom) { 2 } else { 65_536 };

/// What the loop and the keeper share: counts of requests, and times in ns.
#[derive(Debug, Default)]
pub struct Border {
    /// Requests drawn: the hot loop may send those below.
    drawn: AtomicUsize,
    /// No more will be drawn.
    is_complete: AtomicBool,
    /// All requests below have been answered or have failed.
    finished: AtomicUsize,
    /// Time of the loop when it published that, ns after the start of the warm-up.
    now_ns: AtomicU64,
    /// Another thread overran: end.
    halt: AtomicBool,
    /// This one overran.
    overrun: AtomicBool,
    /// Outages of the thread.
    pub outages: OutageLog,
}

impl Border {
    /// The keeper has drawn `drawn` requests, and will draw no more if `is_complete`.
    pub fn tell_drawn(&self, drawn: usize, is_complete: bool) {
        self.drawn.store(drawn, Release);
        self.is_complete.store(is_complete, Release);
    }

    /// Requests drawn, and whether these are all.
    pub fn drawn(&self) -> (usize, bool) {
        let is_complete = self.is_complete.load(Acquire); // first: then the count is the last one
        (self.drawn.load(Acquire), is_complete)
    }

    /// The loop has nothing more to do with the requests below `finished`.
    #[inline]
    pub fn tell_finished(&self, finished: usize, now_ns: u64) {
        self.finished.store(finished, Release);
        self.now_ns.store(now_ns, Release);
    }

    /// What the loop published last: requests finished, and a time up to which that is so, ns.
    pub fn finished(&self) -> (usize, u64) {
        let now_ns = self.now_ns.load(Acquire); // first: a later count is no harm
        (self.finished.load(Acquire), now_ns)
    }

    /// The loop came to the end of what is drawn before the end of the plan.
    pub fn tell_overrun(&self) {
        self.overrun.store(true, Relaxed);
    }

    /// Whether the loop had to end for want of requests or of room.
    pub fn is_overrun(&self) -> bool {
        self.overrun.load(Relaxed)
    }

    /// Ends the run of this thread.
    pub fn halt(&self) {
        self.halt.store(true, Relaxed);
    }

    /// Whether it is to end.
    #[inline]
    pub fn is_halted(&self) -> bool {
        self.halt.load(Relaxed)
    }
}

/// Outages as they happen: written by one thread without a lock, read by another.
#[derive(Debug)]
pub struct OutageLog {
    each: Box<[(AtomicU64, AtomicU64)]>,
    len: AtomicUsize,
}

impl Default for OutageLog {
    fn default() -> Self {
        let each = (0..OUTAGES_MAX).map(|_| Default::default()).collect();
        Self { each, len: AtomicUsize::new(0) }
    }
}

impl OutageLog {
    /// Adds one; only its thread does. What does not fit is counted by the thread's own log.
    pub fn push(&self, outage: Outage) {
        let len = self.len.load(Relaxed);
        if let Some((start_ns, length_ns)) = self.each.get(len) {
            start_ns.store(outage.start_ns, Relaxed);
            length_ns.store(outage.length_ns, Relaxed);
            self.len.store(len + 1, Release);
        }
    }

    /// Those from the `from`-th on.
    pub fn since(&self, from: usize) -> impl Iterator<Item = Outage> + '_ {
        let len = self.len.load(Acquire);
        self.each[from.min(len)..len].iter().map(|(start_ns, length_ns)| Outage {
            start_ns: start_ns.load(Relaxed),
            length_ns: length_ns.load(Relaxed),
        })
    }
}
