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
//! bound and that cannot be told, and the result says that it is an upper bound.
//!
//! Either way the quantiles themselves are upper bounds, and the result says so (`lateness`).

use sojourn_base::units::{parse_ns, show_ns};

use super::{CHECKS, Check, Evidence, content, lag, lost, protocol, steal, timely};
use crate::job::Job;
use crate::result::{Checks, Outages, Verdict};
use crate::transports::sockets::NO_PORT;

/// A server that is idle for less than this has work all the time: one tick in a second is 1 %, and
/// the run's own start and end leave it without work.
const IDLE_MAX: f64 = 0.05;
/// A server that is idle for more than this at its peak was waiting for requests.
const CLIENT_BOUND_IDLE: f64 = 0.1;

/// Up to this factor what exclusion leaves is not worth a word.
const ALLOWANCE_LITTLE: f64 = 1.05;

/// Checks of when requests were sent; what they find has a largest size.
const SENDING: [&str; 2] = [lag::CHECK.name, timely::CHECK.name];
/// Checks that say why nobody answers.
const EXPLAIN_SILENCE: [&str; 2] = [lost::CHECK.name, protocol::CHECK.name];

/// What the checks and the `QoS` target came to.
#[derive(Debug)]
pub struct Judgement {
    /// `unknown` beats `violated` and `holds`.
    pub verdict: Verdict,
    /// Why it is not `holds`, and what to do about it.
    pub reasons: Vec<String>,
    /// Checks in spite of which the verdict stands.
    pub lateness: Vec<String>,
    /// What the instrument's lag adds to the quantiles at most, if that is not little; see `lag`.
    pub lateness_ns: Option<u64>,
    /// Whether quantiles and misses are too high if anything; also where the verdict is `unknown`.
    pub upper_bounds: bool,
    /// What the reader should know and what decides nothing.
    pub notes: Vec<String>,
}

/// Asks every check, then the `QoS` target.
pub fn judge(evidence: &Evidence) -> Judgement {
    let mut failed: Vec<(&Check, String)> = CHECKS
        .iter()
        .filter(|check| check.in_closed_loop || !evidence.job.find_max)
        .filter_map(|check| Some((check, (check.failed)(evidence)?)))
        .collect();
    if failed.iter().any(|(check, _)| check.name == protocol::CHECK.name) {
        failed.retain(|(check, _)| EXPLAIN_SILENCE.contains(&check.name)); // the rest follows from it
    }
    let is_only_late = failed.iter().all(|(check, _)| check.is_lateness);
    let is_only_lag = failed.iter().all(|(check, _)| check.name == lag::CHECK.name);
    let lateness_ns = lag::bounded_ns(evidence).filter(|_| is_only_lag);
    let violation = violation(evidence);
    let stands = is_only_late
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
    let is_told = violation.is_none() || !is_loose(evidence) || exceeds(evidence, 0);
    let verdict = match (failed.is_empty() || stands, &violation) {
        (false, _) => Verdict::Unknown,
        (true, Some(_)) if !is_told => Verdict::Unknown,
        (true, Some(_)) => Verdict::Violated,
        (true, None) => Verdict::Holds,
    };
    let is_late = !failed.is_empty() && is_only_late && evidence.kept > 0;
    let texts = failed.iter().map(|(check, text)| format!("{}: {text}", check.name)).collect();
    let (mut reasons, lateness) = if stands { (Vec::new(), texts) } else { (texts, Vec::new()) };
    reasons.extend(violation);
    let notes = notes(evidence, !lateness.is_empty() && lateness_ns.is_none());
    let upper_bounds = is_late || is_loose(evidence);
    Judgement { verdict, reasons, lateness, lateness_ns, upper_bounds, notes }
}

/// Whether so much was excluded that quantiles are upper bounds.
fn is_loose(evidence: &Evidence) -> bool {
    evidence.outages.allowance > ALLOWANCE_LITTLE && !evidence.job.find_max
}

/// Whether the quantile is above the bound by more than a lag of `lag_ns`, and what exclusion leaves,
/// can have added to it.
fn exceeds(evidence: &Evidence, lag_ns: u64) -> bool {
    let found = evidence.sojourn.quantile(evidence.job.qos_quantile);
    let most = |bound_ns: u64| (bound_ns + lag_ns) as f64 * evidence.outages.allowance;
    evidence.qos_bound_ns.is_some_and(|bound_ns| found.is_none_or(|ns| ns as f64 > most(bound_ns)))
}

fn is_server_busy(evidence: &Evidence) -> bool {
    evidence.checks.server_idle_share.is_some_and(|idle| idle <= IDLE_MAX)
        && steal::excess(evidence).is_none()
}

/// Why the `QoS` target is not met: the quantile of the sample lies above the bound. Whether the
/// sample is large enough to say so is the analysis' decision (METHOD M10 intervals of quantiles, M12 a bound as a test).
fn violation(evidence: &Evidence) -> Option<String> {
    let (q, bound_ns) = (evidence.job.qos_quantile, evidence.qos_bound_ns?);
    let found = evidence.sojourn.quantile(q);
    if evidence.kept == 0 || found.is_some_and(|ns| ns <= bound_ns) {
        return None;
    }
    let found = found.map_or("infinite (failed requests)".into(), |ns| show_ns(ns as f64));
    let bound = show_ns(bound_ns as f64);
    Some(format!("qos: quantile {q} of the sojourn time is {found}, the bound is {bound}"))
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
             time, so the verdict stands, and all quantiles are upper bounds"
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
            (allowance - 1.0) * 100.0
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
    notes
}

/// What became of connections: the server's doing, and seldom what was meant to be measured.
fn broken(evidence: &Evidence) -> Option<String> {
    let (broke, (garbled, closed)) = (evidence.checks.broken_connections, evidence.broken);
    (broke > 0).then(|| {
        format!(
            "connections broke {broke} times (warm-up included): the server closed them \
             unannounced, or sent what was not asked for; {garbled} replies were garbled and \
             {closed} requests lost with them"
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
mod tests {
    use crate::cpu_time::Shares;
    use crate::job::Job;
    use crate::measurement::fake;
    use crate::result::{RunResult, Verdict};
    use crate::summary::summarise;

    /// Sent 200 µs late, with ε = 50 µs, answered within 30 µs more.
    fn late(bound: &str, server_idle: Option<f64>) -> RunResult {
        let (q, bound) = (if bound.is_empty() { 0.0 } else { 0.99 }, bound.into());
        let job = Job { qos_quantile: q, qos_bound: bound, ..fake::job() };
        let mut run = fake::run(job, 200_000, 30_000);
        run.server_cpus = server_idle.map(|idle| Shares { steal: 0.0, idle });
        summarise(&run).unwrap()
    }

    #[test]
    fn lateness_cannot_help_a_service_to_hold_its_target() {
        let result = late("20ms", None);
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        assert!(result.lateness.iter().any(|text| text.starts_with("timely")));
        assert!(result.notes.iter().any(|note| note.contains("upper bounds")));
        assert!(result.reasons.is_empty());
    }

    #[test]
    fn lateness_can_violate_a_target_unless_the_server_was_busy_all_the_time() {
        for idle in [None, Some(0.06), Some(1.0)] {
            let result = late("100us", idle);
            assert_eq!(result.verdict, Verdict::Unknown, "idle {idle:?}");
            assert!(result.reasons.iter().any(|text| text.starts_with("timely")));
            assert!(result.lateness.is_empty());
        }
        let result = late("100us", Some(0.05));
        assert_eq!(result.verdict, Verdict::Violated);
        assert!(result.reasons.iter().all(|text| text.starts_with("qos")), "{:?}", result.reasons);
        assert!(!result.lateness.is_empty());
    }

    #[test]
    fn stolen_time_cannot_violate_a_target_and_cannot_help_it_to_hold() {
        let stolen = |bound: &str, steal| {
            let (q, bound) = (if bound.is_empty() { 0.0 } else { 0.99 }, bound.into());
            let job = Job { qos_quantile: q, qos_bound: bound, ..fake::job() };
            let mut run = fake::run(job, 0, 30_000);
            run.server_cpus = Some(Shares { steal, idle: 0.0 });
            summarise(&run).unwrap()
        };
        assert_eq!(stolen("20us", 0.01).verdict, Verdict::Violated);
        let result = stolen("20us", 0.011);
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons.iter().any(|text| text.starts_with("server stopped")));
        let result = stolen("20ms", 0.2);
        assert_eq!(result.verdict, Verdict::Holds);
        assert!(result.lateness.iter().any(|text| text.contains("took 20.0 %")));
        assert_eq!(stolen("", 0.2).verdict, Verdict::Unknown);
    }

    #[test]
    fn without_a_target_lateness_is_unknown() {
        assert_eq!(late("", Some(0.0)).verdict, Verdict::Unknown);
    }

    /// Sent 20 µs late, which is no more than ε; the p99 is some 100 µs, so it is too much of it.
    fn lagging(bound: &str) -> RunResult {
        let (q, bound) = (if bound.is_empty() { 0.0 } else { 0.99 }, bound.into());
        let job = Job { qos_quantile: q, qos_bound: bound, ..fake::job() };
        summarise(&fake::run(job, 20_000, 30_000)).unwrap()
    }

    #[test]
    fn a_lag_whose_size_is_known_makes_upper_bounds_and_no_unknown() {
        let result = lagging("");
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        assert!(result.lateness.iter().all(|text| text.starts_with("send lag")));
        assert_eq!((result.lateness.len(), result.lateness_ns), (1, result.pick_up_ns.p99));
        assert!(result.notes.iter().any(|note| note.contains("upper bounds")));
        let punctual = summarise(&fake::run(fake::job(), 0, 30_000)).unwrap();
        let (late, true_p99) = (result.sojourn_ns.p99.unwrap(), punctual.sojourn_ns.p99.unwrap());
        assert!(late >= true_p99 && late - result.lateness_ns.unwrap() <= true_p99 * 1001 / 1000);
        assert_eq!((punctual.lateness_ns, punctual.lateness.len()), (None, 0));
    }

    #[test]
    fn a_bound_that_is_missed_by_more_than_the_lag_is_violated_and_by_less_unknown() {
        let p99_ns = lagging("").sojourn_ns.p99.unwrap();
        let by = |ns: u64| lagging(&format!("{}ns", p99_ns - ns)).verdict;
        assert_eq!((by(21_000), by(10_000)), (Verdict::Violated, Verdict::Unknown));
        assert_eq!(lagging(&format!("{p99_ns}ns")).verdict, Verdict::Holds);
    }

    #[test]
    fn a_bound_that_is_missed_by_more_than_the_greatest_lag_is_violated_whatever_was_timely() {
        let late = |bound: &str| {
            let job = Job { qos_quantile: 0.5, qos_bound: bound.into(), ..fake::job() };
            summarise(&fake::run(job, 60_000, 300_000)).unwrap()
        };
        let p50_ns = late("20ms").sojourn_ns.p50.unwrap();
        let result = late(&format!("{}ns", p50_ns - 61_000));
        assert_eq!(result.verdict, Verdict::Violated, "{:?}", result.reasons);
        assert!(result.lateness[0].starts_with("timely"), "{:?}", result.lateness);
        assert_eq!(late(&format!("{}ns", p50_ns - 59_000)).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_lag_that_is_most_of_what_was_measured_is_said_and_one_beyond_epsilon_is_unknown() {
        let result = summarise(&fake::run(fake::job(), 40_000, 1_000)).unwrap();
        assert_eq!((result.verdict, result.lateness_ns), (Verdict::Holds, result.pick_up_ns.p99));
        assert!(result.lateness[0].starts_with("send lag"), "{:?}", result.lateness);
        let result = summarise(&fake::run(fake::job(), 60_000, 1_000)).unwrap();
        assert_eq!((result.verdict, result.lateness_ns), (Verdict::Unknown, None));
        assert!(result.reasons.iter().any(|why| why.starts_with("timely")), "{:?}", result.reasons);
    }

    #[test]
    fn other_failed_checks_are_not_forgiven_beside_lateness() {
        let job = Job { qos_quantile: 0.99, qos_bound: "20ms".into(), ..fake::job() };
        let mut run = fake::run(job, 200_000, 30_000);
        run.threads[0].outages_unlisted = 1;
        let result = summarise(&run).unwrap();
        assert_eq!((result.verdict, result.upper_bounds), (Verdict::Unknown, false));
        assert!(result.reasons.iter().any(|text| text.starts_with("outage log")));
    }

    /// A tenth of the time stopped, in one piece: p99 is told, and so much too high at most.
    fn stopped(bound_ns: u64, share: f64) -> RunResult {
        let (q, bound) = (if bound_ns > 0 { 0.99 } else { 0.0 }, format!("{bound_ns}ns"));
        let bound = if bound_ns > 0 { bound } else { String::new() };
        let job = Job { qos_quantile: q, qos_bound: bound, ..fake::job() };
        let mut run = fake::run(job, 0, 30_000);
        let length_ns = (2e9 * share) as u64;
        run.threads[0].outages.push(crate::marks::Outage { start_ns: 200_000_000, length_ns });
        summarise(&run).unwrap()
    }

    #[test]
    fn a_client_that_was_stopped_gives_an_upper_bound_and_its_allowance() {
        let result = stopped(0, 0.2);
        let allowance = result.outages.allowance;
        assert!((1.09..1.12).contains(&allowance), "half of a fifth: {allowance}");
        assert_eq!((result.verdict, result.upper_bounds), (Verdict::Holds, true));
        assert!(result.notes.iter().any(|note| note.contains("at most 10 % too high")));
        assert_eq!(result.lateness, Vec::<String>::new(), "no check failed");
        let little = stopped(0, 0.05);
        assert_eq!((little.upper_bounds, little.notes.len()), (false, 0), "{:?}", little.notes);
    }

    #[test]
    fn a_bound_within_the_allowance_cannot_be_told_and_one_below_it_is_missed() {
        let p99_ns = stopped(0, 0.2).sojourn_ns.p99.unwrap();
        let near = stopped(p99_ns * 95 / 100, 0.2);
        assert_eq!((near.verdict, near.upper_bounds), (Verdict::Unknown, true));
        assert!(near.reasons.iter().all(|why| why.starts_with("qos")), "{:?}", near.reasons);
        assert_eq!(stopped(p99_ns * 85 / 100, 0.2).verdict, Verdict::Violated);
        assert_eq!(stopped(p99_ns, 0.2).verdict, Verdict::Holds);
    }

    #[test]
    fn where_most_was_excluded_only_a_bound_that_holds_is_told() {
        let p99_ns = stopped(0, 0.0).sojourn_ns.p99.unwrap();
        assert_eq!(stopped(0, 0.6).verdict, Verdict::Unknown);
        assert_eq!(stopped(2 * p99_ns, 0.6).verdict, Verdict::Holds);
        let missed = stopped(p99_ns / 2, 0.6);
        assert_eq!((missed.verdict, missed.upper_bounds), (Verdict::Unknown, true));
        assert!(missed.reasons[0].starts_with("client stopped"), "{:?}", missed.reasons);
    }
}
