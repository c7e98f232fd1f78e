//! The run's tests on itself: may its numbers be believed? (METHOD M3 timely
//! sending, M5 separate roles, M7 fit of arrivals, M27 outages of the instrument)
//!
//! Evidence is gathered once from plan and marks; each check is one file that looks at the evidence
//! and says nothing, or why the result is unknown and how to fix it. `CHECKS` is the table.
//! `unknown` beats the rest; only a valid run is held against its `QoS` target.

mod advice;
mod bound;
mod connections;
mod content;
mod counts;
mod cpu;
mod fit;
mod issue;
mod judge;
mod judgement;
mod lag;
mod lost;
mod outage_log;
mod outages;
mod overrun;
mod poll;
mod protocol;
mod rate;
mod requests;
mod service;
mod steal;
mod timely;
mod used_up;

use sojourn_base::Fault;
use sojourn_base::span::Times;
use sojourn_base::units::parse_ns;
use sojourn_workload::schedule::Timetable;

pub use judge::judge;
pub use judgement::Judgement;
pub use lost::LOST;

use crate::drive::measurement::Measurement;
use crate::job::Job;
use crate::judge::result::{Checks, Outages, Replies};
use crate::judge::stops::ServerStops;
use crate::plan::marks::Overrun;
use crate::plan::resolve::qos_bound_ns;
use crate::protocols;
use crate::protocols::Outcome;
use crate::tally::misses::MissWindows;
use crate::tally::{Tally, share};
use crate::watch::outage::Windows;

/// One check: its name, what it asks, where that comes from, and how it answers.
pub struct Check {
    /// As reasons begin: `rate`, `timely`, …
    pub name: &'static str,
    /// The question, in a line.
    pub about: &'static str,
    /// Where the question comes from.
    pub source: &'static str,
    /// Whether it is asked of a closed loop (`find_max`) too, which has no intended times.
    pub in_closed_loop: bool,
    /// Whether all that it can find makes the service look worse and never better; see `judge`.
    pub is_lateness: bool,
    /// `None` if all is well, else why not and how to fix it.
    pub failed: fn(&Evidence) -> Option<String>,
}

/// Every check, in reading order.
pub const CHECKS: &[Check] = &[
    lost::CHECK,
    overrun::CHECK,
    protocol::CHECK,
    connections::CHECK,
    requests::CHECK,
    used_up::CHECK,
    outage_log::CHECK,
    outages::CHECK,
    steal::CHECK,
    rate::CHECK,
    timely::CHECK,
    lag::CHECK,
    poll::CHECK,
    cpu::CHECK,
    fit::PLAN,
    fit::CHECK,
    counts::CHECK,
    service::CHECK,
    content::CHECK,
];

/// What the checks look at.
#[derive(Debug)]
pub struct Evidence {
    /// The job, resolved.
    pub job: Job,
    /// The server was lost.
    pub was_lost: bool,
    /// Why a long run ended before its plan was sent.
    pub overrun: Option<Overrun>,
    /// How often no connection could be opened for want of a local port.
    pub out_of_ports: u64,
    /// Connections that the server closed each time before they answered, and what it sent on one.
    pub refused: u64,
    /// Connections that the server took and left alone, if it answered enough on others.
    pub unserved: u64,
    /// See `refused`; empty: nothing.
    pub refusal: Vec<u8>,
    /// When a closed loop had sent all of its plan, and the length of the load, ns; `None`: it never had.
    pub used_up_ns: Option<(u64, u64)>,
    /// ε of the timely ratio, ns.
    pub timely_within_ns: u64,
    /// `QoS` bound, ns; `None` without a target.
    pub qos_bound_ns: Option<u64>,
    /// Requests and misses of the bound by windows; `None` without a target.
    pub misses: Option<MissWindows>,
    /// Requests asked for: the integral of the rate over the measured part as it was.
    pub asked: f64,
    /// Variance of the planned number of requests over its mean.
    pub dispersion_planned: f64,
    /// Requests planned and kept, and how many of them failed, by kind.
    pub requests: u64,
    /// Of these, outside outages.
    pub retained: u64,
    /// Replies that were not what was asked for: miss, length, content, garbled.
    pub wrong_replies: u64,
    /// Bodies of replies, as they go into the result.
    pub replies: Replies,
    /// What the server reported about requests that it refused, the first of each kind.
    pub complaints: Vec<String>,
    /// Whether an empty body is no reply.
    pub needs_bodies: bool,
    /// Replies whose status was not one of those expected.
    pub other_statuses: u64,
    /// All that did not end as a hit, and of these those that were never sent or not answered.
    pub errors: u64,
    /// See `errors`.
    pub had_no_turn: u64,
    /// Requests that ended with their connection, warm-up included: garbled, closed.
    pub broken: (u64, u64),
    /// What became of the conversation with the server, warm-up included.
    pub talk: protocol::Talk,
    /// The measured quantiles.
    pub sojourn: Times,
    /// The instrument's own lag.
    pub pick_up: Times,
    /// The sojourn times without it.
    pub punctual: Times,
    /// Outages beyond what the logs hold.
    pub outages_unlisted: u64,
    /// Planned length of the measured part, and the length as it was, ns.
    pub measured_ns: (u64, u64),
    /// The outages, as they go into the result.
    pub outages: Outages,
    /// What kept the server's CPUs from the service; `None`: it was not watched.
    pub server_stops: Option<ServerStops>,
    /// Share of the time of the server's CPUs that tasks of others used; `None`: not known.
    pub server_others: Option<f64>,
    /// The numbers, as they go into the result.
    pub checks: Checks,
    /// A second, disjoint sample of the gaps: planned and issued. See `fit`.
    pub fit_again: (Option<f64>, Option<f64>),
}

impl Evidence {
    /// Looks at the run once; no check looks at it again.
    pub fn gather(
        run: &Measurement,
        timetable: &Timetable,
        windows: &Windows,
        all: &Tally,
        (outages, server_stops): (Outages, Option<ServerStops>),
    ) -> Result<Self, Fault> {
        let (from_ns, to_ns) = run.measured(timetable);
        let issue = issue::Issue::of(run, timetable, windows, all, (from_ns, to_ns))?;
        let asked = timetable.expected_by(to_ns as f64) - timetable.expected_by(from_ns as f64);
        let used_up_ns = run.threads.iter().filter_map(|thread| thread.used_up_ns).min();
        let checks = numbers(run, all, &issue, asked, to_ns - from_ns);
        Ok(Self {
            timely_within_ns: parse_ns(&run.job.timely_within)
                .map_err(|fault| fault.within("timely_within"))?,
            qos_bound_ns: qos_bound_ns(&run.job)?,
            misses: None,
            job: run.job.clone(),
            was_lost: run.was_lost,
            overrun: run.overrun(),
            out_of_ports: run.threads.iter().map(|thread| thread.out_of_ports).sum(),
            refused: connections::refused(run),
            unserved: connections::unserved(run, all.requests - all.errors.values().sum::<u64>()),
            refusal: run.threads.iter().fold(Vec::new(), |first, thread| {
                if first.is_empty() { thread.refusal.clone() } else { first }
            }),
            used_up_ns: used_up_ns
                .map(|after_ns| (after_ns, timetable.warmup_ns + timetable.measured_ns)),
            asked,
            dispersion_planned: issue.dispersion_planned,
            requests: all.requests,
            retained: all.retained,
            wrong_replies: ["miss", "length", "content", "garbled"]
                .iter()
                .map(|kind| all.errors_of(kind))
                .sum(),
            replies: Replies::of(all, run.looked.as_ref(), run.notices.as_ref(), &run.statuses),
            complaints: run.notices.clone().unwrap_or_default().complaints,
            needs_bodies: needs_bodies(&run.job),
            other_statuses: all.errors_of("status") + all.errors_of("miss"),
            errors: all.errors.values().sum(),
            had_no_turn: all.errors_of("unsent") + all.errors_of("unanswered"),
            broken: broken(run),
            talk: protocol::Talk::of(run),
            sojourn: all.sojourn.clone(),
            pick_up: all.pick_up.clone(),
            punctual: all.punctual.clone(),
            outages_unlisted: run.threads.iter().map(|thread| thread.outages_unlisted).sum::<u64>()
                + run.sentinels.iter().map(|watch| watch.unlisted).sum::<u64>(),
            measured_ns: (timetable.measured_ns, to_ns - from_ns),
            outages,
            server_stops,
            server_others: run.server_cpus.and_then(|shares| shares.others),
            checks,
            fit_again: (issue.planned_fit.1, issue.issued_fit.1),
        })
    }

    /// Whether its threads give their CPU away when there is nothing to do.
    pub fn sleeps(&self) -> bool {
        self.job.wait.starts_with("sleep")
    }
}

/// The numbers that checks are about, of a run measured for so many ns in which `asked` were due.
fn numbers(
    run: &Measurement,
    all: &Tally,
    issue: &issue::Issue,
    asked: f64,
    measured_ns: u64,
) -> Checks {
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole - 1.0 } else { 0.0 };
    let mut gaps = Times::new();
    for thread in &run.threads {
        gaps.merge(&thread.poll_gaps);
    }
    let cpu_share = |cpu_ns: u64| share(cpu_ns, measured_ns);
    let of_process = !run.job.find_max;
    Checks {
        rate_error: if of_process { ratio(all.requests as f64, asked) } else { 0.0 },
        sent_rate_error: issue.rate_error,
        pick_up_timely_ratio: share(all.counted_timely, all.retained),
        waited_share: share(all.waited, all.requests),
        lag_share_p99: lag::share_of_p99(&all.sojourn, &all.punctual),
        arrival_fit_a2: issue.issued_fit.0,
        planned_fit_a2: issue.planned_fit.0,
        arrival_fit_limit: issue.planned_fit.0.map(|_| fit::LIMIT),
        arrival_fit_gap_ns: issue.issued_fit.0.map(|_| issue.gap_ns as u64),
        dispersion: issue.dispersion.map(|(index, _)| index),
        dispersion_within: issue.dispersion.map(|(_, within)| within),
        poll_gap_p99_ns: gaps.quantile(0.99),
        poll_gap_max_ns: gaps.span().max,
        backlog_max: issue.backlog_max,
        broken_connections: run.threads.iter().map(|thread| thread.broke).sum(),
        timed_out: run.threads.iter().map(|thread| thread.timed_out).sum(),
        reconnects: run.threads.iter().map(|thread| thread.reconnects).sum(),
        replaced_connections: run.threads.iter().map(|thread| thread.replaced).sum(),
        sent_again: run.threads.iter().map(|thread| thread.sent_again).sum(),
        overlong_replies: run.threads.iter().map(|thread| thread.overlong).sum(),
        cpu_share_max: run.threads.iter().map(|t| cpu_share(t.cpu_ns)).fold(0.0, f64::max),
        server_idle_share: run.server_cpus.map(|shares| shares.idle),
        server_steal_share: run.server_cpus.map(|shares| shares.steal),
        steal_share: run.client_cpus.map(|shares| shares.steal),
    }
}

/// Whether an empty body is no reply to `job`.
fn needs_bodies(job: &Job) -> bool {
    let is_opaque = protocols::kind_of_job(job).is_ok_and(|kind| kind.is_opaque);
    is_opaque && protocols::http::needs_bodies(job)
}

/// Requests of the whole run, warm-up included, that were garbled, and that were lost with their
/// connection: what broke in the warm-up explains what was never sent after it.
fn broken(run: &Measurement) -> (u64, u64) {
    if let Some(result) = &run.long {
        return (result.counts.garbled, result.counts.closed);
    }
    let ended = (0..run.threads.len()).flat_map(|k| run.requests(k)).map(|r| r.outcome);
    ended.fold((0, 0), |(garbled, closed), outcome| match outcome {
        Outcome::Garbled => (garbled + 1, closed),
        Outcome::Closed => (garbled, closed + 1),
        _ => (garbled, closed),
    })
}

#[cfg(test)]
mod tests;
