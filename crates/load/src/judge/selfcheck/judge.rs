//! The checks' answers and the `QoS` target → one verdict.
//!
//! `unknown` beats the rest: only a valid run is held against its target. One exception: checks
//! that find *lateness* of the instrument. Sojourn times count from the moment a request was due. In
//! a system that serves in order of arrival, sending a request later never completes any request
//! earlier (Lindley's recursion is monotone in the arrival times; Loynes 1962), so a late instrument
//! can only make the service look worse, never better:
//!
//! - a quantile within the bound is within the bound without the lateness too: `holds`;
//! - a quantile above the bound proves something only if the server cannot have waited for the
//!   instrument: its CPUs had work all the time, and the hypervisor left them to it. Then no lateness
//!   took capacity from it: `violated`.
//!
//! One kind of lateness has a size: the lag of each send ([`lag`]). Where it is all that is wrong, a run
//! without a target is believed too, and a quantile that is above the bound by more than the lag is
//! above it without the lag: `violated`. So it is where too many were sent late ([`timely`]) and the quantile
//! is above the bound by more than the greatest lag of all: had each request come that much later still,
//! every completion would have been late by that and no more (Lindley's recursion again).
//!
//! The same holds of time that the hypervisor takes from the server.
//!
//! What exclusion by the log of outages leaves is too high by a factor of `allowance` at most (METHOD
//! M33). A quantile that is above the bound by more than that is above it: `violated`. One between the
//! bound and that cannot be known, and the result says that it is an upper bound.
//!
//! Either way the quantiles themselves are upper bounds, and the result says so (`lateness`).
//!
//! All this is about the quantile of the sample. Last comes the sample's own error ([`bound`]): what it
//! cannot decide is `unknown`, unless the run is one of several that are judged together (`pooled`).

use sojourn_base::units::{Way, outward, parse_ns, show_ns};
use sojourn_workload::arrivals;

use super::judgement::{Judgement, is_loose, is_server_busy};
use super::{CHECKS, Check, Evidence, bound, connections, content, lag, lost, protocol, timely};
use crate::job::Job;
use crate::judge::result::{Checks, Outages, Verdict};
use crate::protocols::http;
use crate::transports::sockets::{NO_PORT, files};

/// A server that is idle for more than this at its peak was waiting for requests.
const CLIENT_BOUND_IDLE: f64 = 0.1;

/// Checks of when requests were sent; what they find has a largest size.
const SENDING: [&str; 2] = [lag::CHECK.name, timely::CHECK.name];
/// Checks that say why there is no answer.
const EXPLAIN_SILENCE: [&str; 2] = [lost::CHECK.name, protocol::CHECK.name];
/// The same where it takes no connection.
const EXPLAIN_REFUSAL: [&str; 2] = [lost::CHECK.name, connections::CHECK.name];

/// Asks every check, then the `QoS` target, then whether the sample is large enough to decide.
pub fn judge(evidence: &Evidence) -> Judgement {
    let mut judged = by_quantile(evidence);
    bound::decide(evidence, &mut judged);
    judged
}

/// What the sample's quantile says, as if it had no error.
fn by_quantile(evidence: &Evidence) -> Judgement {
    let mut failed: Vec<(&Check, String)> = CHECKS
        .iter()
        .filter(|check| check.in_closed_loop || !evidence.job.find_max)
        .filter_map(|check| Some((check, (check.failed)(evidence)?)))
        .collect();
    if connections::are_all_refused(evidence) {
        failed.retain(|(check, _)| EXPLAIN_REFUSAL.contains(&check.name));
    } else if failed.iter().any(|(check, _)| check.name == protocol::CHECK.name) {
        failed.retain(|(check, _)| EXPLAIN_SILENCE.contains(&check.name)); // the rest follows from it
    }
    let is_only_late = failed.iter().all(|(check, _)| check.is_lateness);
    let is_only_lag = failed.iter().all(|(check, _)| check.name == lag::CHECK.name);
    let lateness_ns = lag::bounded_ns(evidence).filter(|_| is_only_lag);
    let violation = violation(evidence);
    let stored = is_only_late
        && match (evidence.qos_bound_ns, &violation) {
            (None, _) => lateness_ns.is_some(),
            (Some(_), None) => true,
            (Some(_), Some(_)) => {
                is_server_busy(evidence)
                    || lateness_ns.is_some_and(|ns| exceeds(evidence, ns))
                    || failed.iter().all(|(check, _)| SENDING.contains(&check.name))
                        && evidence.pick_up.quantile(1.0).is_some_and(|ns| exceeds(evidence, ns))
            }
        };
    let is_reported = violation.is_none() || !is_loose(evidence) || exceeds(evidence, 0);
    let verdict = match (failed.is_empty() || stored, &violation) {
        (false, _) => Verdict::Unknown,
        (true, Some(_)) if !is_reported => Verdict::Unknown,
        (true, Some(_)) => Verdict::Violated,
        (true, None) => Verdict::Holds,
    };
    let is_late = !failed.is_empty() && is_only_late && evidence.retained > 0;
    let texts = failed.iter().map(|(check, text)| format!("{}: {text}", check.name)).collect();
    let (mut reasons, lateness) = if stored { (Vec::new(), texts) } else { (texts, Vec::new()) };
    reasons.extend(violation);
    let notes = notes(evidence, !lateness.is_empty() && lateness_ns.is_none());
    let upper_bounds = is_late || is_loose(evidence);
    Judgement { verdict, reasons, lateness, lateness_ns, upper_bounds, notes, qos: None }
}

/// Whether the quantile is above the bound by more than a lag of `lag_ns`, and what exclusion leaves,
/// can have added to it.
fn exceeds(evidence: &Evidence, lag_ns: u64) -> bool {
    let result = evidence.sojourn.quantile(evidence.job.qos_quantile);
    let most = |bound_ns: u64| (bound_ns + lag_ns) as f64 * evidence.outages.allowance;
    evidence.qos_bound_ns.is_some_and(|bound_ns| result.is_none_or(|ns| ns as f64 > most(bound_ns)))
}

/// Why the `QoS` target is not met: the quantile of the sample lies above the bound. Whether the
/// sample is large enough to say so is for [`bound`].
fn violation(evidence: &Evidence) -> Option<String> {
    let (q, bound_ns) = (evidence.job.qos_quantile, evidence.qos_bound_ns?);
    let result = evidence.sojourn.quantile(q);
    if evidence.retained == 0 || result.is_some_and(|ns| ns <= bound_ns) {
        return None;
    }
    let result = result.map_or("infinite (failed requests)".into(), |ns| show_ns(ns as f64));
    let bound = show_ns(bound_ns as f64);
    Some(format!("qos: quantile {q} of the sojourn time is {result}, the bound is {bound}"))
}

fn notes(evidence: &Evidence, is_late: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let (planned_ns, measured_ns) = evidence.measured_ns;
    if measured_ns < planned_ns {
        let [was, planned] = [measured_ns, planned_ns].map(|ns| show_ns(ns as f64));
        notes.push(format!("stopped after {was} of {planned}"));
    }
    if is_late {
        notes.push(
            "client or server were kept from running (see lateness); that only adds to the sojourn \
             time, so the verdict is valid, and all quantiles are upper bounds"
                .into(),
        );
    }
    let Outages { share_excluded, .. } = evidence.outages;
    if is_loose(evidence) && share_excluded <= evidence.job.excluded_share_max {
        let Outages { share_time, allowance, .. } = evidence.outages;
        notes.push(format!(
            "client stopped: for {:.1} % of the time; {:.0} % of the requests are excluded, so \
             quantiles are upper bounds, at most {:.0} % too high",
            share_time * 100.0,
            share_excluded * 100.0,
            outward((allowance - 1.0) * 100.0, 0, Way::Up)
        ));
    }
    let waited = evidence.checks.waited_share;
    if waited > 0.01 && evidence.talk.understood > 0 {
        let Job { connections, depth, .. } = evidence.job;
        notes.push(format!(
            "{:.1} % of requests waited for a free connection ({connections} connections, depth \
             {depth}): the wait is in their sojourn time; more connections let them queue at the \
             server instead",
            waited * 100.0
        ));
    }
    if evidence.errors > 0 {
        let all = evidence.requests;
        notes.push(format!("{} of {all} requests failed and count as infinite", evidence.errors));
    }
    notes.extend(content::notes(evidence));
    notes.extend(broken(evidence));
    notes.extend(newest_first(evidence));
    notes.extend(unrelieved(evidence));
    notes.extend(timed_out(evidence));
    notes.extend(out_of_ports(evidence));
    if let Some(idle) = evidence.checks.server_idle_share
        && evidence.job.find_max
        && idle > CLIENT_BOUND_IDLE
    {
        notes.push(format!(
            "the server's CPUs were idle for {:.0} % of the time: the client, not the server, may \
             have set the pace",
            idle * 100.0
        ));
    }
    notes.extend(lag::note(evidence).filter(|_| !is_late));
    notes.extend(replay(&evidence.job));
    notes.extend(http::log::note(&evidence.job));
    notes
}

/// What is to be known of arrivals that a file brings along: it was read before the run, and is not again.
fn replay(job: &Job) -> Option<String> {
    let is_planned = !job.find_max && arrivals::trace_file(&job.arrivals).is_some();
    is_planned.then(|| arrivals::parse(&job.arrivals, 1.0).ok()?.note()).flatten()
}

/// What to do where a server ends idle connections under requests that may do harm twice.
const NOT_REPEATED: &str = "; POST and PATCH are not sent again, because they may do harm twice: give the \
                            server a longer keep-alive time-out, or use fewer connections, which idle less";

/// What became of connections: the server's doing, and seldom what was meant to be measured.
fn broken(evidence: &Evidence) -> Option<String> {
    let (broke, (garbled, closed)) = (evidence.checks.broken_connections, evidence.broken);
    let is_once = closed > 0 && !http::is_idempotent(&evidence.job.method);
    (broke > 0).then(|| {
        let once = if is_once { NOT_REPEATED } else { "" };
        format!(
            "connections broke {broke} times (warm-up included): the server closed them \
             unannounced, or sent what was not asked for; {garbled} replies were garbled and \
             {closed} requests lost with them{once}"
        )
    })
}

/// From when on requests were not spread over all connections.
fn newest_first(evidence: &Evidence) -> Option<String> {
    evidence.talk.newest_first_ns.map(|since_ns| {
        format!(
            "the server ends idle connections: from {} after the start (warm-up included) requests, which \
             may not be sent again, took the connection used last and not each in turn, as pools of clients \
             do; a longer keep-alive time-out at the server keeps all in use",
            show_ns(since_ns as f64)
        )
    })
}

/// Connections that drained while no other one was open in their stead.
fn unrelieved(evidence: &Evidence) -> Option<String> {
    let (times, allowed) = evidence.talk.unrelieved;
    let needed = files::needed(evidence.job.connections, true);
    (times > 0).then(|| {
        format!(
            "{times} times (warm-up included) the server sent GOAWAY and the connection took no request \
             until it had drained and was open again, because {allowed} files may be open: with {needed} \
             (ulimit -n {needed}) another one is opened at once, as other clients do"
        )
    })
}

/// Requests that were given up, and what that did to connections.
fn timed_out(evidence: &Evidence) -> Option<String> {
    let Checks { timed_out, replaced_connections, .. } = evidence.checks;
    (timed_out > 0).then(|| {
        let replaced = match replaced_connections {
            0 => String::new(),
            times => format!(", and {times} connections replaced for it"),
        };
        format!(
            "{timed_out} requests were given up because no reply came within {} (timeout){replaced}; \
             warm-up included",
            parse_ns(&evidence.job.timeout)
                .map_or_else(|_| evidence.job.timeout.clone(), |ns| show_ns(ns as f64))
        )
    })
}

fn out_of_ports(evidence: &Evidence) -> Option<String> {
    let times = evidence.out_of_ports;
    (times > 0 && !evidence.was_lost).then(|| {
        format!("{times} times no local port was left to open a connection again; {NO_PORT}")
    })
}

#[cfg(test)]
mod tests;
