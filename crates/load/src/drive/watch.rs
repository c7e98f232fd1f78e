//! What the loop notes about itself: gaps between polls, CPU time, system calls; and what it lets
//! others see while it runs.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use sojourn_base::clock::thread_cpu_ns;
use sojourn_base::span;

use super::Times;
use super::queued::{GAP_MIN_NS, OwnThread, Queued};
use crate::drive::long::Border;
use crate::metrics::Buckets;
use crate::plan::marks::ThreadMeasurement;
use crate::plan::resolve::Wait;
use crate::protocols::Outcome;
use crate::transports::Transport;
use crate::watch::outage::Outage;

/// Outages listed; more are counted only.
const OUTAGES_MAX: usize = 65_536;
/// Last sojourn times that others may look at.
pub const RECENT: usize = 4096;

/// Gaps between polls, and what the measured part cost.
pub struct Watch {
    times: Times,
    spins: bool,
    outage_over_ns: u64,
    last_poll_ns: u64,
    /// Of a loop that spins apart from the server.
    queued: Option<Queued<OwnThread>>,
    poll_gaps: span::Times,
    outages: Vec<Outage>,
    outages_unlisted: u64,
    /// Where outages are reported as they happen, in a long run.
    border: Option<Arc<Border>>,
    at_start: Option<Used>,
    at_end: Option<Used>,
}

/// What the thread had used at one moment.
#[derive(Clone, Copy, Default)]
struct Used {
    cpu_ns: u64,
    syscalls: u64,
}

impl Used {
    fn now(transport: &dyn Transport) -> Self {
        Self { cpu_ns: thread_cpu_ns(), syscalls: transport.syscalls() }
    }
}

impl Watch {
    /// `is_apart`: it never gives its CPU away, and no thread of the server may run there. Else who ran
    /// while it waited may be the server, whose time is not to be left out. Nor does it matter in a
    /// closed loop: nothing falls due meanwhile, so nothing is sent in clumps.
    pub(crate) fn new(times: Times, wait: Wait, outage_over_ns: u64, is_apart: bool) -> Self {
        let mut outages = vec![Outage { start_ns: 1, length_ns: 1 }; OUTAGES_MAX]; // touch the pages
        outages.clear();
        Self {
            times,
            spins: wait.is_busy(),
            outage_over_ns,
            last_poll_ns: 0,
            queued: is_apart.then(|| Queued::new(OwnThread::open())),
            poll_gaps: span::Times::new(),
            outages,
            outages_unlisted: 0,
            border: None,
            at_start: None,
            at_end: None,
        }
    }

    /// The loop is about to poll. A thread that sleeps has gaps by intent, so only one that spins
    /// is judged by them.
    #[inline]
    pub(crate) fn polled(&mut self, now_ns: u64, transport: &dyn Transport) {
        if self.spins {
            let gap_ns = now_ns.saturating_sub(self.last_poll_ns);
            if self.is_outage(now_ns, gap_ns) {
                self.note_outage(gap_ns);
            }
            if now_ns >= self.times.measured_ns {
                self.poll_gaps.add(gap_ns);
            }
            self.last_poll_ns = now_ns;
        }
        if self.at_start.is_none() && now_ns >= self.times.measured_ns {
            self.at_start = Some(Used::now(transport));
        }
        if self.at_end.is_none() && now_ns >= self.times.end_ns {
            self.at_end = Some(Used::now(transport));
        }
    }

    /// A gap that is too long for the loop's own work, or one that the kernel says it waited through.
    #[inline]
    fn is_outage(&mut self, now_ns: u64, gap_ns: u64) -> bool {
        let Some(queued) = &mut self.queued else { return gap_ns > self.outage_over_ns };
        if gap_ns > GAP_MIN_NS.min(self.outage_over_ns) {
            return queued.was_stopped(now_ns, gap_ns) || gap_ns > self.outage_over_ns;
        }
        queued.polled(now_ns, gap_ns);
        false
    }

    #[cold]
    fn note_outage(&mut self, length_ns: u64) {
        if self.outages.len() == OUTAGES_MAX {
            self.outages_unlisted += 1;
        } else {
            let outage = Outage { start_ns: self.last_poll_ns, length_ns };
            self.outages.push(outage);
            if let Some(border) = &self.border {
                border.outages.push(outage);
            }
        }
    }

    /// Tells `border` of outages as they happen.
    pub(crate) fn tell(&mut self, border: Arc<Border>) {
        self.border = Some(border);
    }

    /// The load ends earlier than planned.
    pub(crate) fn ends_at(&mut self, end_ns: u64) {
        self.times.end_ns = self.times.end_ns.min(end_ns);
    }

    /// Adds to `run` what was noted.
    pub(crate) fn finish(
        self,
        mut run: ThreadMeasurement,
        transport: &dyn Transport,
    ) -> ThreadMeasurement {
        let end = self.at_end.unwrap_or_else(|| Used::now(transport));
        let start = self.at_start.unwrap_or(end);
        run.outages = self.outages;
        run.outages_unlisted = self.outages_unlisted;
        run.poll_gaps = self.poll_gaps;
        run.cpu_ns = end.cpu_ns - start.cpu_ns;
        run.syscalls = end.syscalls - start.syscalls;
        run
    }
}

/// Counts of one thread that others may look at while it runs; written without locks.
pub struct Live {
    /// Set by others: send nothing that is due later.
    pub stop: Arc<AtomicBool>,
    /// Time of the last look, ns after the start of the warm-up.
    pub now_ns: AtomicU64,
    /// Requests sent.
    pub sent: AtomicU64,
    /// Requests answered, in whatever way.
    pub done: AtomicU64,
    /// Requests that ended without a reply: given up, or their connection closed.
    pub gone: AtomicU64,
    /// Requests that did not end as a hit.
    pub errors: AtomicU64,
    /// The last [`RECENT`] sojourn times, ns; entry `done % RECENT` is the next to be written.
    pub recent_ns: Box<[AtomicU64]>,
    /// All sojourn times in buckets, if somebody listens; set before the thread begins.
    pub times: OnceLock<Buckets>,
}

impl Live {
    /// Counters that are all zero, and the flag by which the run is stopped.
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        Self {
            stop,
            now_ns: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            done: AtomicU64::new(0),
            gone: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            recent_ns: (0..RECENT).map(|_| AtomicU64::new(0)).collect(),
            times: OnceLock::new(),
        }
    }

    #[inline]
    pub(crate) fn publish(&self, sent: usize, now_ns: u64) {
        self.sent.store(sent as u64, Relaxed);
        self.now_ns.store(now_ns, Relaxed);
    }

    /// Only the owning thread writes, so a load and a store do for an addition.
    #[inline]
    pub(crate) fn done(&self, sojourn_ns: u64, outcome: Outcome) {
        let done = self.done.load(Relaxed);
        self.recent_ns[done as usize % RECENT].store(sojourn_ns, Relaxed);
        self.done.store(done + 1, Relaxed);
        if let Some(times) = self.times.get() {
            times.add(sojourn_ns);
        }
        if outcome != Outcome::Hit {
            self.errors.store(self.errors.load(Relaxed) + 1, Relaxed);
        }
    }

    /// One that no reply will come for.
    #[inline]
    pub(crate) fn gone(&self) {
        self.gone.store(self.gone.load(Relaxed) + 1, Relaxed);
        self.errors.store(self.errors.load(Relaxed) + 1, Relaxed);
    }
}
