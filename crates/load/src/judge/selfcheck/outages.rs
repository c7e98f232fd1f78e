//! Did the instrument itself run? A client that was stopped sees latency that no server caused.
//!
//! Requests that a stop reached are excluded by the log, so the stops themselves void nothing. What
//! voids a run is that little is left of it, or that the server never recovers before the next stop
//! (METHOD M33): with a share s of the time stopped and a load ρ that needs ρ (1 + s) ≥ 1, recovery
//! has no end, and its windows cover more than `excluded_share_max`. What exclusion leaves is too high
//! if anything. A closed loop has no due times, so it is judged by the time.

use sojourn_base::units::{percents, show_ns};

use super::{Check, Evidence};

/// Share of the time that stops may take where there are no due times: a closed loop.
const TIME_SHARE_MAX: f64 = 0.5;

pub(super) const CHECK: Check = Check {
    name: "client stopped",
    about: "outages of the client exclude at most excluded_share_max of the requests",
    source: "METHOD M27, M33",
    in_closed_loop: true,
    is_lateness: true,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let (outages, job) = (&evidence.outages, &evidence.job);
    let of_time = job.excluded_share_max.min(TIME_SHARE_MAX);
    let limit = if job.find_max && outages.share_time > of_time {
        let [time, most] = percents(outages.share_time, of_time, 1);
        format!("{time} % of the time, {most} % may be")
    } else if !job.find_max && outages.share_excluded > job.excluded_share_max {
        let time = outages.share_time * 100.0;
        let [excluded, most] = percents(outages.share_excluded, job.excluded_share_max, 0);
        format!(
            "{time:.1} % of the time; with the recovery {excluded} % of the requests are \
                 excluded, {most} % may be"
        )
    } else if outages.share_time > job.outage_share_max {
        let [time, most] = percents(outages.share_time, job.outage_share_max, 2);
        format!("{time} % of the time, {most} % may be")
    } else {
        return None;
    };
    let [total, longest] = [outages.total_ns, outages.longest_ns].map(|ns| show_ns(ns as f64));
    let steal = evidence.checks.steal_share.filter(|&share| share > 0.001);
    let steal = steal.map_or(String::new(), |s| format!(" (steal {:.1} %)", s * 100.0));
    Some(format!(
        "the client did not run for {total} in {} outages, the longest {longest}: {limit}{steal}; \
         lower the rate, or {}",
        outages.count,
        evidence.next_step()
    ))
}
