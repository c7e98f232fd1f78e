//! Long runs in bounded memory: plan and marks go through a ring, segment by segment.
//!
//! A short run is drawn whole, run, and summarised (see [`crate::plan::schedule`], [`crate::judge::summary`]). A long
//! one has the same requests and the same sums, but only a few seconds of it are in memory:
//!
//! ```text
//!   drawn ahead ─────────→ sent, answered ─────────→ summarised ──→ its place is drawn again
//!   [`Ring`] (Drawing)     the hot loop, [`Border`]   [`Account`], [`Seconds`]
//! ```
//!
//! One thread, the [`Keeper`], draws and summarises for all threads, on a CPU that no load thread uses
//! where there is one. The hot loop never waits for it: at the end of what is drawn it looks whether
//! more is, and if not the run is stopped ([`Overrun`]), for what is due next cannot be known.
//!
//! A request may be left out of `sojourn_ns` because of an outage, and how far an outage reaches depends
//! on the whole run. So requests near an outage are held aside and decided at its end ([`held`]);
//! of all others nothing is left but histograms and counts.

mod account;
mod backlog;
mod border;
pub mod held;
mod issued;
mod keeper;
mod ring;
mod seconds;
mod start;

#[cfg(test)]
mod tests;

pub use account::{Account, Counts, Findings};
pub use backlog::Outstanding;
pub use border::{Border, OutageLog};
pub use issued::IssuedBefore;
pub use keeper::Keeper;
pub use ring::Ring;
pub use seconds::Seconds;
pub use start::{Lanes, keeper};

use sojourn_base::Fault;
use sojourn_workload::schedule::Timetable;

use crate::job::Job;
use crate::plan::schedule;

/// Runs of more requests go through a ring: about 600 MB if they were kept whole.
pub const WHOLE_MAX: f64 = 8e6;
/// Requests in the rings of all threads together: 54 bytes each, 226 MB.
const RING_MAX: usize = 1 << 22;
/// A ring holds what is due in this time, if `RING_MAX` allows it.
const RING_S: f64 = 30.0;
/// A segment is what is due in about this time: how late the summary learns what is answered.
const SEGMENT_S: f64 = 0.1;
/// Segments in a ring at the least, and requests in a segment at the most.
const SEGMENTS_MIN: usize = 64;

/// The size of one thread's ring, requests; both are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Requests in the ring.
    pub capacity: usize,
    /// Requests in a segment, which is drawn and handed over as one.
    pub segment: usize,
}

impl Geometry {
    /// For a thread of which `rps` requests/s are due, one of `threads`.
    fn new(rps: f64, threads: u32) -> Self {
        let most = floor_power(RING_MAX / threads as usize).max(SEGMENTS_MIN);
        let wanted = (rps * RING_S).clamp(1024.0, most as f64) as usize;
        let capacity = wanted.next_power_of_two().min(most);
        let segment = floor_power((rps * SEGMENT_S) as usize).clamp(1, capacity / SEGMENTS_MIN);
        Self { capacity, segment }
    }
}

/// The largest power of two that is at most `number`; 1 for 0.
fn floor_power(number: usize) -> usize {
    1 << number.max(1).ilog2()
}

/// The ring of each thread of `job` if its run is long; `None`: it is kept whole.
///
/// A run whose seconds are written while it goes on goes through a ring, whatever its length.
pub fn geometry(job: &Job, timetable: &Timetable) -> Option<Geometry> {
    let planned = timetable.expected_by(timetable.end_ns() as f64);
    let needs_all = job.find_max || !job.raw.is_empty();
    let is_whole = needs_all || (planned <= WHOLE_MAX && job.seconds.is_empty());
    let rps = timetable.mean_rps() / f64::from(job.threads);
    (!is_whole).then(|| Geometry::new(rps, job.threads))
}

/// Refuses plans of load and probe that would be too long, before any of them is drawn.
pub fn check_length(job: &Job, timetable: &Timetable) -> Result<(), Fault> {
    let end_ns = timetable.end_ns() as f64;
    if !job.find_max && geometry(job, timetable).is_none() {
        schedule::refuse_more(timetable.expected_by(end_ns), job)?;
    }
    let probes = job.probe_rate * end_ns / 1e9;
    schedule::refuse_more(probes, job).map_err(|fault| fault.within("probe_rate"))
}
