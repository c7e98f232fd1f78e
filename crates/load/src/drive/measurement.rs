//! What a run brings home, before anything is made of it: plans, marks, and what was seen beside them.
//!
//! Below it is what is measured ([`crate::plan::marks`], [`crate::watch::outage`], [`crate::drive::long`]), above it
//! what judges: [`crate::judge::excluded`], [`crate::judge::selfcheck`], [`crate::judge::stops`], and [`crate::judge::summary`] on
//! top of all.

use std::collections::BTreeMap;

use sojourn_workload::schedule::Timetable;

use crate::drive::long::Findings;
use crate::job::Job;
use crate::plan::marks::{Overrun, ThreadMeasurement};
use crate::protocols::sampled::Looked;
use crate::protocols::server_notices::Notices;
use crate::tally::request::Request;
use crate::watch::cpu_time::Shares;
use crate::watch::outage;
use crate::watch::server_watch::Seen;

/// One run as it was: of every thread what it sent and what became of it, and what was seen beside.
#[derive(Debug)]
pub struct Measurement {
    /// The job, resolved.
    pub job: Job,
    /// Start of the measured part, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Start of the warm-up, ns of the monotonic clock: all marks count from there.
    pub start_ns: u64,
    /// One entry per thread.
    pub threads: Vec<ThreadMeasurement>,
    /// What the sentinels saw.
    pub sentinels: Vec<outage::Watch>,
    /// What the client's CPUs did.
    pub client_cpus: Option<Shares>,
    /// What the server's CPUs did; `None` where they are unknown.
    pub server_cpus: Option<Shares>,
    /// What kept the server's CPUs from the service; `None`: it was not watched.
    pub server_seen: Option<Seen>,
    /// Whether `ThreadMeasurement::syscalls` was counted.
    pub are_syscalls_counted: bool,
    /// The server was lost: no connection could be opened again.
    pub was_lost: bool,
    /// The address that connections led to, of each server that the target names; empty: there is none.
    pub addresses: Vec<String>,
    /// What the bodies that were kept came to; `None`: nothing is expected of them.
    pub looked: Option<Looked>,
    /// Notices of the server beside its replies; `None`: its protocol has none.
    pub notices: Option<Notices>,
    /// Statuses of replies that were no success, counted by name, the warm-up's too.
    pub statuses: BTreeMap<String, u64>,
    /// What is left of the requests of a long run; `None`: plans and marks are whole.
    pub long: Option<Findings>,
}

impl Measurement {
    /// Start and end of the measured part as it was, ns after the start of the warm-up.
    pub fn measured(&self, timetable: &Timetable) -> (u64, u64) {
        let planned = timetable.warmup_ns + timetable.measured_ns;
        let stopped = self.threads.iter().filter_map(|thread| thread.stopped_ns).min();
        let end = stopped.map_or(planned, |ns| ns.min(planned));
        (timetable.warmup_ns, end.max(timetable.warmup_ns))
    }

    /// Why a long run ended before its plan was sent.
    pub fn overrun(&self) -> Option<Overrun> {
        self.threads.iter().find_map(|thread| thread.ending?.overrun)
    }

    /// Requests of thread `index` that were due in the measured part.
    pub fn measured_requests(
        &self,
        index: usize,
        (from_ns, to_ns): (u64, u64),
    ) -> impl Iterator<Item = Request> + '_ {
        self.requests(index).filter(move |r| (from_ns..to_ns).contains(&r.intended_ns))
    }

    /// Requests of thread `index`, warm-up included. In a closed loop they are due when sent.
    pub fn requests(&self, index: usize) -> impl Iterator<Item = Request> + '_ {
        let ThreadMeasurement { plan, marks, .. } = &self.threads[index];
        let is_closed = self.job.find_max;
        (0..marks.sent_ns.len()).filter(move |&i| !is_closed || marks.sent_ns[i] > 0).map(
            move |i| Request {
                index: i,
                op: plan.op[i],
                item: plan.item[i],
                intended_ns: if is_closed { marks.sent_ns[i] } else { plan.intended_ns[i] },
                free_ns: if is_closed { marks.sent_ns[i] } else { marks.free_ns[i] },
                sent_ns: marks.sent_ns[i],
                first_byte_ns: marks.first_byte_ns[i],
                done_ns: marks.done_ns[i],
                outcome: marks.outcome[i],
                reply_bytes: marks.reply_bytes[i],
            },
        )
    }
}

#[cfg(test)]
pub(crate) mod fake;
