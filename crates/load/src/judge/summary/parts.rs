//! Parts of a result that are made from the whole run: misses by windows, outages, and sessions.

use sojourn_base::Fault;
use sojourn_base::span::Span;

use crate::drive::measurement::Measurement;
use crate::judge::result::{Outages, Sessions};
use crate::plan::resolve::qos_bound_ns;
use crate::plan::schedule;
use crate::tally::misses::MissWindows;
use crate::tally::playback::Playback;
use crate::tally::{Tally, share};
use crate::watch::outage::Outage;
use crate::watch::outage::Windows;

/// Outages listed in a result.
const LISTED_MAX: usize = 1000;

/// Counts the requests due in [from, to) that lie in none of the outage windows `out`, those of a
/// closed loop when they were sent; `None` without a `QoS` bound.
pub(super) fn misses(
    run: &Measurement,
    out: &Windows,
    (from_ns, to_ns): (u64, u64),
) -> Result<Option<MissWindows>, Fault> {
    let Some(bound_ns) = qos_bound_ns(&run.job)? else {
        return Ok(None);
    };
    if let Some(result) = &run.long {
        return Ok(result.misses.clone());
    }
    let planned_ns = schedule::timetable(&run.job)?.measured_ns;
    let mut counted = MissWindows::empty(bound_ns, planned_ns).cut(to_ns - from_ns);
    for thread in 0..run.threads.len() {
        let mut is_out = out.cursor();
        for request in run.measured_requests(thread, (from_ns, to_ns)) {
            if !is_out.covers(request.intended_ns) {
                counted.add_due(&request, from_ns, bound_ns);
            }
        }
    }
    Ok(Some(counted))
}

/// What users of sessions saw of the requests due in [from, to); `None` without sessions.
pub(super) fn sessions(
    run: &Measurement,
    all: &Tally,
    (from_ns, to_ns): (u64, u64),
) -> Result<Option<Sessions>, Fault> {
    let Some(mut playback) = Playback::of(&run.job, (from_ns, to_ns))? else { return Ok(None) };
    let Some(by_kind) = &all.by_kind else { return Ok(None) };
    for thread in 0..run.threads.len() {
        run.requests(thread).for_each(|request| playback.add(thread, &request));
    }
    let seen = run.long.as_ref().and_then(|result| result.sessions.as_ref());
    let seen = seen.unwrap_or_else(|| playback.seen());
    Ok(Some(Sessions::of(seen, by_kind, (playback.chunks(), to_ns - from_ns))))
}

/// Sojourn times that no stop of the server's CPUs reached; `None` where that is not known.
pub(super) fn undisturbed(run: &Measurement, all: &Tally) -> Option<Span> {
    let is_known = run.server_seen.is_some() && run.long.is_none() && !run.job.find_max;
    is_known.then(|| all.undisturbed.span())
}

/// By which factor quantiles are too high at most where so large a share of the requests was excluded.
///
/// What comes soon after a recovery still meets a longer queue and colder caches than usual. Simulated
/// queues stay below it up to `excluded_share_max` (`outage/tests/bias.rs`), as do stops that were planted
/// beside a real M/M/1 (docs/method.md, M33).
fn allowance(share_excluded: f64) -> f64 {
    1.0 + 0.5 * share_excluded
}

/// What the result says of `log` within [from, to), and of what `all` left out because of it.
pub(super) fn outages(log: &[Outage], all: &Tally, (from_ns, to_ns): (u64, u64)) -> Outages {
    let inside = |outage: &&Outage| outage.start_ns < to_ns && outage.end_ns() > from_ns;
    let within: Vec<&Outage> = log.iter().filter(inside).collect();
    let share_excluded = share(all.requests - all.retained, all.requests);
    let clipped = |o: &&Outage| o.end_ns().min(to_ns) - o.start_ns.max(from_ns);
    let listed = |o: &&Outage| [o.start_ns as i64 - from_ns as i64, o.length_ns as i64];
    Outages {
        count: within.len() as u64,
        total_ns: within.iter().map(|outage| outage.length_ns).sum(),
        longest_ns: within.iter().map(|outage| outage.length_ns).max().unwrap_or(0),
        share_time: share(within.iter().map(clipped).sum(), to_ns - from_ns),
        share_excluded,
        allowance: allowance(share_excluded),
        log: within.iter().take(LISTED_MAX).map(listed).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of [10, 20): one before it, one over its start, one over its end, one after it.
    #[test]
    fn the_report_counts_what_reaches_into_the_measured_part() {
        let of = |start_ns, length_ns| Outage { start_ns, length_ns };
        let log = [of(0, 10), of(5, 10), of(18, 12), of(20, 5)];
        let all = Tally { requests: 8, retained: 6, ..Tally::default() };
        let result = outages(&log, &all, (10, 20));
        assert_eq!((result.count, result.total_ns, result.longest_ns), (2, 22, 12));
        assert_eq!((result.share_time, result.share_excluded), (0.7, 0.25));
        assert_eq!(result.log, [[-5, 10], [8, 12]]);
    }
}
