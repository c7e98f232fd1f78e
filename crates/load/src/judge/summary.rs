//! From plans and marks to a result: every number of a run is computed here, after the run. Of a
//! long run the sums were taken while it went on ([`crate::drive::long`]), and replace plans and marks.

mod parts;
mod peak;

use std::collections::BTreeMap;

use sojourn_base::Fault;
use sojourn_base::span::Times;

use crate::drive::measurement::Measurement;
use crate::judge::carried;
use crate::judge::excluded;
use crate::judge::result::{Cost, RunResult, SCHEMA, ThreadShare, Tls};
use crate::judge::selfcheck;
use crate::judge::stops;
use crate::plan::marks::ThreadMeasurement;
use crate::plan::schedule;
use crate::protocols::Outcome;
use crate::tally::request::Request;
use crate::tally::{Place, Tally, share};
use crate::watch::outage::Windows;

/// What the run found. The job must be resolved; see `resolve`.
pub fn summarise(run: &Measurement) -> Result<RunResult, Fault> {
    let timetable = schedule::timetable(&run.job)?;
    let (from_ns, to_ns) = run.measured(&timetable);
    let log = excluded::log(run)?;
    let windows = match &run.long {
        Some(outcome) => outcome.windows.clone(),
        None => excluded::windows_around(run, &log),
    };
    let reach = stops::windows(run);
    let tallies = tally(run, &windows, reach.as_ref(), (from_ns, to_ns))?;
    let mut all = Tally::default();
    for tally in &tallies {
        all.merge(tally);
    }

    let measured_s = (to_ns - from_ns) as f64 / 1e9;
    let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let outages = parts::outages(&log, &all, (from_ns, to_ns));
    let mut miss_windows = parts::misses(run, &windows, (from_ns, to_ns))?;
    let undisturbed = parts::undisturbed(run, &all);
    let share_disturbed = undisturbed.as_ref().map(|span| 1.0 - share(span.count, all.retained));
    let server_stops = stops::report(
        run,
        reach.as_ref(),
        share_disturbed,
        miss_windows.as_mut(),
        (from_ns, to_ns),
    );
    let stopped = (outages, server_stops.clone());
    let mut evidence = selfcheck::Evidence::gather(run, &timetable, &windows, &all, stopped)?;
    evidence.misses = miss_windows.take();
    let judgement = selfcheck::judge(&evidence);
    let peak = peak::Peak::of(run, hits_within(run, from_ns, to_ns), (from_ns, to_ns))?;
    let mut result = RunResult {
        schema: SCHEMA.into(),
        program: format!("sojourn-load {}", env!("CARGO_PKG_VERSION")),
        job: run.job.clone(),
        addresses: run.addresses.clone(),
        started_unix_ns: run.started_unix_ns,
        start_ns: run.start_ns,
        measured_s,
        offered_rps: per_s(all.requests),
        achieved_rps: peak.rps,
        requests: all.requests,
        errors: all.errors.iter().map(|(kind, count)| ((*kind).to_string(), *count)).collect(),
        reply_bytes: all.reply_bytes,
        replies: evidence.replies,
        timely_ratio: share(all.timely, all.requests),
        verdict: judgement.verdict,
        reasons: judgement.reasons,
        lateness: judgement.lateness,
        lateness_ns: judgement.lateness_ns,
        upper_bounds: judgement.upper_bounds,
        notes: judgement.notes.into_iter().chain(peak.note()).collect(),
        qos: judgement.qos,
        refused: BTreeMap::new(),
        sojourn_ns: all.sojourn.span(),
        sojourn_all_ns: all.sojourn_all.span(),
        undisturbed_ns: undisturbed,
        wire_ns: all.wire.span(),
        first_byte_ns: all.first_byte.span(),
        send_lag_ns: all.send_lag.span(),
        pick_up_ns: all.pick_up.span(),
        probe_sojourn_ns: probe(run),
        sessions: parts::sessions(run, &all, (from_ns, to_ns))?,
        windows: evidence.misses.filter(|_| !run.job.find_max),
        server_stops,
        threads: thread_shares(run, &tallies, &all, to_ns - from_ns),
        tls: Tls::of(run.threads.iter().filter_map(|thread| thread.tls.clone())),
        cost: cost(run, (from_ns, to_ns)),
        outages: evidence.outages,
        checks: evidence.checks,
    };
    if !run.job.pooled {
        carried::withhold(&mut result);
    }
    Ok(result)
}

/// One tally per thread over the requests due in [from, to).
fn tally(
    run: &Measurement,
    windows: &Windows,
    reach: Option<&Windows>,
    measured: (u64, u64),
) -> Result<Vec<Tally>, Fault> {
    if let Some(result) = &run.long {
        return Ok(result.tallies.clone());
    }
    let timely_within_ns = sojourn_base::units::parse_ns(&run.job.timely_within)
        .map_err(|fault| fault.within("timely_within"))?;
    let of_thread = |index: usize| {
        let mut tally = Tally::of(&run.job);
        let mut is_out = windows.cursor();
        let mut is_disturbed = reach.map(Windows::cursor);
        for request in run.measured_requests(index, measured) {
            let due_ns = request.intended_ns;
            let place = Place {
                is_out: is_out.covers(due_ns),
                is_disturbed: is_disturbed.as_mut().is_some_and(|cursor| cursor.covers(due_ns)),
            };
            tally.add(&request, place, timely_within_ns);
        }
        tally
    };
    Ok((0..run.threads.len()).map(of_thread).collect())
}

fn hits_within(run: &Measurement, from_ns: u64, to_ns: u64) -> u64 {
    if let Some(result) = &run.long {
        return result.counts.hits_within;
    }
    let is_counted =
        |r: &Request| r.outcome == Outcome::Hit && (from_ns..to_ns).contains(&r.done_ns);
    (0..run.threads.len()).map(|k| run.requests(k).filter(is_counted).count() as u64).sum()
}

fn probe(run: &Measurement) -> Option<sojourn_base::span::Span> {
    let mut all = Times::new();
    for thread in &run.threads {
        all.merge(&thread.probe_sojourn_ns);
    }
    (all.count() > 0).then(|| all.span())
}

fn thread_shares(
    run: &Measurement,
    tallies: &[Tally],
    all: &Tally,
    measured_ns: u64,
) -> Vec<ThreadShare> {
    let p99 = all.sojourn.quantile(0.99);
    let above = |tally: &Tally| p99.map_or(tally.sojourn.lost(), |ns| tally.sojourn.above(ns));
    let above_all: u64 = tallies.iter().map(above).sum();
    let share_of = |(thread, tally): (&ThreadMeasurement, &Tally)| ThreadShare {
        requests: tally.retained,
        p50: tally.sojourn.quantile(0.5),
        p99: tally.sojourn.quantile(0.99),
        tail_factor: (above_all >= 100 && tally.retained > 0)
            .then(|| share(above(tally), above_all) / share(tally.retained, all.retained)),
        cpu_share: share(thread.cpu_ns, measured_ns),
    };
    run.threads.iter().zip(tallies).map(share_of).collect()
}

/// What the measured part cost, over the requests sent in it: CPU time and system calls are
/// counted from its start to its end.
fn cost(run: &Measurement, (from_ns, to_ns): (u64, u64)) -> Cost {
    let is_counted = |r: &Request| r.sent_ns > 0 && (from_ns..to_ns).contains(&r.sent_ns);
    let sent = |k: usize| run.requests(k).filter(is_counted).count() as u64;
    let requests: u64 = match &run.long {
        Some(result) => result.counts.sent_within,
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

#[cfg(test)]
mod tests;
