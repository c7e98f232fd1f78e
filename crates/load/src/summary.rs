//! From plans and marks to a result: every number of a run is computed here, after the run. Of a
//! long run the sums were taken while it went on ([`crate::long`]), and stand in for plans and marks.

mod tally;

use sojourn_base::Fault;
use sojourn_base::span::Times;
use sojourn_workload::schedule::Timetable;

pub use tally::Tally;

use crate::cpu_time::Shares;
use crate::job::Job;
use crate::long::{Findings, Overrun};
use crate::marks::{Outage, Outcome, ThreadRun};
use crate::misses;
use crate::outage::{self, Windows};
use crate::result::{Cost, RunResult, SCHEMA, ThreadShare};
use crate::schedule;
use crate::selfcheck;
use crate::server_watch::Seen;
use crate::stops;

/// Everything that a run brings home.
#[derive(Debug)]
pub struct Run {
    /// The job, resolved.
    pub job: Job,
    /// Start of the measured part, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Start of the warm-up, ns of the monotonic clock.
    pub start_ns: u64,
    /// One entry per thread.
    pub threads: Vec<ThreadRun>,
    /// What the sentinels saw.
    pub sentinels: Vec<outage::Watch>,
    /// What the client's CPUs did.
    pub client_cpus: Option<Shares>,
    /// What the server's CPUs did; `None` where they are unknown.
    pub server_cpus: Option<Shares>,
    /// What kept the server's CPUs from the service; `None`: nobody watched.
    pub server_seen: Option<Seen>,
    /// Whether `ThreadRun::syscalls` was counted.
    pub are_syscalls_counted: bool,
    /// The server was lost: no connection could be opened again.
    pub was_lost: bool,
    /// What is left of the requests of a long run; `None`: plans and marks are whole.
    pub long: Option<Findings>,
}

/// One request as it is judged; times in ns after the start of the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Its place in the plan of its thread.
    pub index: usize,
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
}

impl Run {
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
        let ThreadRun { plan, marks, .. } = &self.threads[index];
        let is_closed = self.job.find_max;
        (0..marks.sent_ns.len()).filter(move |&i| !is_closed || marks.sent_ns[i] > 0).map(
            move |i| Request {
                index: i,
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

/// What the run found. The job must be resolved; see `resolve`.
pub fn summarise(run: &Run) -> Result<RunResult, Fault> {
    let timetable = schedule::timetable(&run.job)?;
    let (from_ns, to_ns) = run.measured(&timetable);
    let log = outage::log(run)?;
    let windows = match &run.long {
        Some(found) => found.windows.clone(),
        None => Windows::of(run, &log),
    };
    let tallies = tally(run, &windows, (from_ns, to_ns))?;
    let mut all = Tally::default();
    for tally in &tallies {
        all.merge(tally);
    }

    let measured_s = (to_ns - from_ns) as f64 / 1e9;
    let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let outages = outage::report(&log, &all, (from_ns, to_ns));
    let evidence = selfcheck::Evidence::gather(run, &timetable, &windows, &all, outages)?;
    let judgement = selfcheck::judge(&evidence);
    let mut miss_windows = misses::count(run, &windows, (from_ns, to_ns))?;
    let server_stops = stops::report(run, miss_windows.as_mut(), (from_ns, to_ns));
    Ok(RunResult {
        schema: SCHEMA.into(),
        program: format!("sojourn-load {}", env!("CARGO_PKG_VERSION")),
        job: run.job.clone(),
        started_unix_ns: run.started_unix_ns,
        start_ns: run.start_ns,
        measured_s,
        offered_rps: per_s(all.requests),
        achieved_rps: per_s(hits_within(run, from_ns, to_ns)),
        requests: all.requests,
        errors: all.errors.iter().map(|(kind, count)| ((*kind).to_string(), *count)).collect(),
        reply_bytes: all.reply_bytes,
        timely_ratio: share(all.timely, all.requests),
        verdict: judgement.verdict,
        reasons: judgement.reasons,
        lateness: judgement.lateness,
        lateness_ns: judgement.lateness_ns,
        notes: judgement.notes,
        sojourn_ns: all.sojourn.span(),
        sojourn_all_ns: all.sojourn_all.span(),
        wire_ns: all.wire.span(),
        first_byte_ns: all.first_byte.span(),
        send_lag_ns: all.send_lag.span(),
        pick_up_ns: all.pick_up.span(),
        probe_sojourn_ns: probe(run),
        windows: miss_windows,
        server_stops,
        threads: thread_shares(run, &tallies, &all, to_ns - from_ns),
        cost: cost(run, (from_ns, to_ns)),
        outages: evidence.outages,
        checks: evidence.checks,
    })
}

/// One tally per thread over the requests due in [from, to).
fn tally(run: &Run, windows: &Windows, measured: (u64, u64)) -> Result<Vec<Tally>, Fault> {
    if let Some(found) = &run.long {
        return Ok(found.tallies.clone());
    }
    let timely_within_ns = sojourn_base::units::parse_ns(&run.job.timely_within)
        .map_err(|fault| fault.within("timely_within"))?;
    let of_thread = |index: usize| {
        let mut tally = Tally::default();
        let mut is_out = windows.cursor();
        for request in run.measured_requests(index, measured) {
            let is_kept = !is_out.covers(request.intended_ns);
            tally.add(&request, is_kept, timely_within_ns);
        }
        tally
    };
    Ok((0..run.threads.len()).map(of_thread).collect())
}

fn hits_within(run: &Run, from_ns: u64, to_ns: u64) -> u64 {
    if let Some(found) = &run.long {
        return found.counts.hits_within;
    }
    let is_counted =
        |r: &Request| r.outcome == Outcome::Hit && (from_ns..to_ns).contains(&r.done_ns);
    (0..run.threads.len()).map(|k| run.requests(k).filter(is_counted).count() as u64).sum()
}

fn probe(run: &Run) -> Option<sojourn_base::span::Span> {
    let mut all = Times::new();
    for thread in &run.threads {
        all.merge(&thread.probe_sojourn_ns);
    }
    (all.count() > 0).then(|| all.span())
}

fn thread_shares(run: &Run, tallies: &[Tally], all: &Tally, measured_ns: u64) -> Vec<ThreadShare> {
    let p99 = all.sojourn.quantile(0.99);
    let above = |tally: &Tally| p99.map_or(tally.sojourn.lost(), |ns| tally.sojourn.above(ns));
    let above_all: u64 = tallies.iter().map(above).sum();
    let share_of = |(thread, tally): (&ThreadRun, &Tally)| ThreadShare {
        requests: tally.kept,
        p50: tally.sojourn.quantile(0.5),
        p99: tally.sojourn.quantile(0.99),
        tail_factor: (above_all >= 100 && tally.kept > 0)
            .then(|| share(above(tally), above_all) / share(tally.kept, all.kept)),
        cpu_share: share(thread.cpu_ns, measured_ns),
    };
    run.threads.iter().zip(tallies).map(share_of).collect()
}

/// What the measured part cost, over the requests sent in it: CPU time and system calls are
/// counted from its start to its end.
fn cost(run: &Run, (from_ns, to_ns): (u64, u64)) -> Cost {
    let is_counted = |r: &Request| r.sent_ns > 0 && (from_ns..to_ns).contains(&r.sent_ns);
    let sent = |k: usize| run.requests(k).filter(is_counted).count() as u64;
    let requests: u64 = match &run.long {
        Some(found) => found.counts.sent_within,
        None => (0..run.threads.len()).map(sent).sum(),
    };
    let syscalls: u64 = run.threads.iter().map(|thread| thread.syscalls).sum();
    Cost {
        cpu_ns_per_request: share(run.threads.iter().map(|thread| thread.cpu_ns).sum(), requests),
        syscalls_per_request: run.are_syscalls_counted.then(|| share(syscalls, requests)),
        transport: run.job.transport.clone(),
        wait: run.job.wait.clone(),
    }
}

/// `part` over `whole`; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Ascending, non-overlapping union of `outages`.
pub(crate) fn union(mut outages: Vec<Outage>) -> Vec<Outage> {
    outages.sort_unstable_by_key(|outage| outage.start_ns);
    let mut merged: Vec<Outage> = Vec::with_capacity(outages.len());
    for outage in outages {
        match merged.last_mut() {
            Some(last) if outage.start_ns <= last.end_ns() => {
                last.length_ns = last.end_ns().max(outage.end_ns()) - last.start_ns;
            }
            _ => merged.push(outage),
        }
    }
    merged
}

#[cfg(test)]
pub(crate) mod fake;

#[cfg(test)]
mod tests;
