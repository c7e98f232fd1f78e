//! Stops of the server's CPUs, as a result has them, and the windows of misses that they disturb.
//!
//! A stop disturbs what was due from shortly before it until the service had worked off what it
//! left: the rule of outages of the instrument ([`crate::watch::outage`]), with the same look-back and
//! recovery. The requests stay in every number of the result; only who asks for the undisturbed
//! part leaves the marked windows out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::drive::measurement::Measurement;
use crate::judge::excluded;
use crate::tally::misses::MissWindows;
use crate::tally::share;
use crate::watch::cpu;
use crate::watch::outage::Outage;
use crate::watch::outage::{Windows, union};
use crate::watch::server_watch::{By, Seen, Stop, TICK_NS};

/// Stops listed in a result.
const LISTED_MAX: usize = 1000;

/// Times in which the server's CPUs were kept from the service (METHOD M29), measured part only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerStops {
    /// How many; those that overlap count once.
    pub count: u64,
    /// Together, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// How many the sentinels saw by waking late: nothing ran there that the kernel can preempt.
    pub by_late_wake_up: u64,
    /// How many were waits of the service's threads in the run queue, behind threads of others.
    pub by_run_delay: u64,
    /// Share of the requests that count which were due in one, or in the recovery from one.
    #[serde(default)]
    pub share_disturbed: f64,
    /// Share of the time of these CPUs that others took, without what clients that run there used.
    #[serde(default)]
    pub share_taken: f64,
    /// Threads of the service that were watched.
    pub threads: u64,
    /// What the sentinels used, as a share of one CPU.
    pub cpu_share: f64,
    /// What could not be watched, and why; stops of that kind are missing.
    pub lacks: Vec<String>,
    /// Start (ns after the start of the measured part) and length (ns) of each; the first 1000.
    pub log: Vec<[i64; 2]>,
}

/// Whether all that kept the service from its CPUs is in the log.
pub fn is_whole(stops: &ServerStops) -> bool {
    stops.threads > 0 && stops.lacks.is_empty()
}

/// Times whose requests a stop of the server's CPUs disturbed; `None`: they were not watched.
pub fn windows(run: &Measurement) -> Option<Windows> {
    let seen = run.server_seen.as_ref()?;
    Some(excluded::windows_around(run, &union(seen.stops.iter().map(widest).collect())))
}

/// What the result says of `run`'s stops in [from, to), whose requests lie in `reach`; marks the
/// windows that they disturb.
///
/// `share_disturbed`: of the requests, where it was counted; else that of `windows` is taken.
pub fn report(
    run: &Measurement,
    reach: Option<&Windows>,
    share_disturbed: Option<f64>,
    windows: Option<&mut MissWindows>,
    (from_ns, to_ns): (u64, u64),
) -> Option<ServerStops> {
    let seen = run.server_seen.as_ref()?;
    let stops = union(seen.stops.iter().map(Stop::outage).collect());
    let mut share_disturbed = share_disturbed.unwrap_or(0.0);
    if let Some((windows, reach)) = windows.zip(reach) {
        let spans =
            reach.within(from_ns, to_ns).map(|(start, end)| (start - from_ns, end - from_ns));
        windows.disturbed = overlapped(spans, windows.length_ns);
        if run.long.is_some() {
            share_disturbed = windows.share_disturbed();
        }
    }
    let is_inside =
        |start_ns: u64, length_ns: u64| start_ns < to_ns && start_ns + length_ns > from_ns;
    let within: Vec<&Outage> =
        stops.iter().filter(|stop| is_inside(stop.start_ns, stop.length_ns)).collect();
    let by = |by: By| {
        let kind = seen.stops.iter().filter(|stop| stop.by == by);
        kind.filter(|stop| is_inside(stop.start_ns, stop.length_ns)).count() as u64
    };
    let mut lacks = seen.lacks.clone();
    if seen.unlisted > 0 {
        lacks.push(format!("{} stops beyond what the log holds", seen.unlisted));
    }
    Some(ServerStops {
        count: within.len() as u64,
        total_ns: within.iter().map(|stop| stop.length_ns).sum(),
        longest_ns: within.iter().map(|stop| stop.length_ns).max().unwrap_or(0),
        by_late_wake_up: by(By::Stopped),
        by_run_delay: by(By::RunDelay),
        share_disturbed,
        share_taken: taken(run, seen, (from_ns, to_ns)),
        threads: seen.threads as u64,
        cpu_share: seen.cpu_share,
        lacks,
        log: within
            .iter()
            .take(LISTED_MAX)
            .map(|stop| [stop.start_ns as i64 - from_ns as i64, stop.length_ns as i64])
            .collect(),
    })
}

/// See [`ServerStops::share_taken`]. A client on a CPU of the server keeps it from the service too, for
/// the time that it uses at most.
fn taken(run: &Measurement, seen: &Seen, (from_ns, to_ns): (u64, u64)) -> f64 {
    let within =
        |stop: &Outage| stop.end_ns().min(to_ns).saturating_sub(stop.start_ns.max(from_ns));
    let stopped_ns: u64 = seen.of_each.iter().flatten().map(within).sum();
    let cpus = |text: &str| cpu::list("cpus", text).unwrap_or_default();
    let (own, server) = (cpus(&run.job.cpus), cpus(&run.job.server_cpus));
    let may_be_there = |nth: usize| own.get(nth).is_none_or(|cpu| server.contains(cpu));
    let beside = run.threads.iter().enumerate().filter(|(nth, _)| may_be_there(*nth));
    let clients_ns: u64 = beside.map(|(_, thread)| thread.cpu_ns).sum();
    share(stopped_ns.saturating_sub(clients_ns), seen.of_each.len() as u64 * (to_ns - from_ns))
}

/// All the time in which it may have been: a run delay ended somewhere between two ticks.
fn widest(stop: &Stop) -> Outage {
    let blur_ns = if stop.by == By::RunDelay { TICK_NS / 2 } else { 0 };
    let start_ns = stop.start_ns.saturating_sub(blur_ns);
    Outage { start_ns, length_ns: stop.start_ns + stop.length_ns + blur_ns - start_ns }
}

/// Indices, ascending, of the windows of `length_ns` that ascending, disjoint `spans` overlap.
fn overlapped(spans: impl Iterator<Item = (u64, u64)>, length_ns: u64) -> Vec<u64> {
    let mut indices: Vec<u64> =
        spans.flat_map(|(start, end)| start / length_ns..end.div_ceil(length_ns)).collect();
    indices.dedup();
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::summary::summarise;

    const MS: u64 = 1_000_000;

    /// 10k requests/s for 2 s, answered in 30 µs; the server's CPU stands still for 5 ms at
    /// 1 s, and what is due meanwhile is answered when it runs again.
    fn stopped(stops: &[(u64, u64, By)]) -> Measurement {
        let job = Job { qos_quantile: 0.99, qos_bound: "2ms".into(), ..fake::job() };
        let mut run = fake::run(job, 0, 0);
        let thread = &mut run.threads[0];
        let mut idle_ns = 0;
        for (i, &due_ns) in thread.plan.intended_ns.iter().enumerate() {
            let halt = (1000 * MS..1005 * MS).contains(&due_ns.max(idle_ns));
            let start_ns = if halt { 1005 * MS } else { due_ns.max(idle_ns) };
            idle_ns = start_ns + 30_000;
            thread.marks.done_ns[i] = idle_ns;
        }
        let stop = |&(start_ns, length_ns, by)| Stop { start_ns, length_ns, by };
        let stops: Vec<Stop> = stops.iter().map(stop).collect();
        let of_each = vec![union(stops.iter().map(Stop::outage).collect()), vec![]];
        run.server_seen = Some(Seen { stops, of_each, threads: 1, ..Seen::default() });
        run
    }

    #[test]
    fn a_stop_marks_its_windows_and_the_recovery_and_nothing_else_changes() {
        let marked = summarise(&stopped(&[(1000 * MS, 5 * MS, By::Stopped)])).unwrap();
        let silent = summarise(&stopped(&[])).unwrap();
        assert_eq!(marked.sojourn_ns, silent.sojourn_ns, "as experienced: everything stays");
        let (windows, before) = (marked.windows.unwrap(), silent.windows.unwrap());
        assert!(windows.over > 0);
        assert_eq!((&windows.n, &windows.k), (&before.n, &before.k));
        assert!(before.disturbed.is_empty(), "misses alone mark nothing");
        let missed: Vec<u64> = (0..1000).filter(|&i| windows.k[i as usize] > 0).collect();
        assert!(missed.iter().all(|i| windows.disturbed.contains(i)), "{missed:?}");
        assert!(windows.disturbed.len() <= 7, "look-back, 5 ms, 2 ms of recovery: {windows:?}");
        let stops = marked.server_stops.unwrap();
        assert_eq!((stops.count, stops.total_ns, stops.longest_ns), (1, 5 * MS, 5 * MS));
        assert_eq!(stops.log, [[900_000_000, 5_000_000]]);
    }

    #[test]
    fn stops_seen_twice_count_once_and_those_outside_not_at_all() {
        let stops = [
            (1000 * MS, 5 * MS, By::Stopped),
            (1001 * MS, 5 * MS, By::RunDelay),
            (10 * MS, 5 * MS, By::RunDelay), // in the warm-up
        ];
        let result = summarise(&stopped(&stops)).unwrap();
        let stops = result.server_stops.unwrap();
        assert_eq!((stops.count, stops.total_ns), (1, 6 * MS));
        assert_eq!((stops.by_late_wake_up, stops.by_run_delay), (1, 1));
    }

    #[test]
    fn what_no_stop_reached_is_a_reading_of_its_own() {
        let marked = summarise(&stopped(&[(1000 * MS, 5 * MS, By::Stopped)])).unwrap();
        let undisturbed = marked.undisturbed_ns.unwrap();
        let share = marked.server_stops.unwrap().share_disturbed;
        assert!((0.002..0.006).contains(&share), "5 ms and their recovery of 2 s: {share}");
        let left = (marked.sojourn_ns.count as f64 * (1.0 - share)).round() as u64;
        assert_eq!(undisturbed.count, left, "every request is in one of the two");
        assert!(undisturbed.max.unwrap() < 2 * MS && marked.sojourn_ns.max.unwrap() > 4 * MS);
        let calm = summarise(&stopped(&[])).unwrap();
        assert_eq!(calm.undisturbed_ns.unwrap(), calm.sojourn_ns, "nothing was left out");
    }

    #[test]
    fn what_others_took_is_a_share_of_all_cpus_without_what_clients_there_used() {
        let stops = [(1000 * MS, 300 * MS, By::RunDelay), (1100 * MS, 300 * MS, By::RunDelay)];
        let taken = |cpus: &str, used_ns: u64| {
            let mut run = stopped(&stops);
            (run.job.cpus, run.job.server_cpus) = (cpus.into(), "0-1".into());
            run.threads[0].cpu_ns = used_ns;
            summarise(&run).unwrap().server_stops.unwrap().share_taken
        };
        assert!((taken("2", 200 * MS) - 0.1).abs() < 1e-9, "400 ms of 2 s on one of two CPUs");
        assert!((taken("1", 200 * MS) - 0.05).abs() < 1e-9, "the client may have used half of it");
        assert!((taken("", 400 * MS)).abs() < 1e-9, "it runs wherever it likes");
    }

    #[test]
    fn each_window_is_named_once() {
        let spans = [(0, 1), (5, 10), (12, 19), (19, 31)];
        assert_eq!(overlapped(spans.into_iter(), 10), [0, 1, 2, 3]);
        assert_eq!(overlapped([(20, 30)].into_iter(), 10), [2], "its end is not in it");
    }

    #[test]
    fn without_a_watch_nothing_is_reported() {
        let result = summarise(&fake::run(fake::job(), 0, 0)).unwrap();
        assert_eq!(result.server_stops, None);
    }
}
