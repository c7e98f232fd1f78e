//! What lateness, stops and steal leave of a verdict: of the quantile, as in a run that is one of several.

use crate::drive::measurement::fake;
use crate::job::Job;
use crate::judge::result::{RunResult, Verdict};
use crate::judge::summary::summarise;
use crate::watch::cpu_time::Shares;

/// Sent 200 µs late, with ε = 50 µs, answered within 30 µs more.
fn late(bound: &str, server_idle: Option<f64>) -> RunResult {
    let (q, bound) = (if bound.is_empty() { 0.0 } else { 0.99 }, bound.into());
    let job = Job { qos_quantile: q, qos_bound: bound, pooled: true, ..fake::job() };
    let mut run = fake::run(job, 200_000, 30_000);
    run.server_cpus = server_idle.map(|idle| Shares { steal: 0.0, idle, others: Some(0.0) });
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
        let job = Job { qos_quantile: q, qos_bound: bound, pooled: true, ..fake::job() };
        let mut run = fake::run(job, 0, 30_000);
        run.server_cpus = Some(Shares { steal, idle: 0.0, others: Some(0.0) });
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
    let job = Job { qos_quantile: q, qos_bound: bound, pooled: true, ..fake::job() };
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
        let job = Job { qos_quantile: 0.5, qos_bound: bound.into(), pooled: true, ..fake::job() };
        summarise(&fake::run(job, 60_000, 300_000)).unwrap()
    };
    let p50_ns = late("20ms").sojourn_ns.p50.unwrap();
    let result = late(&format!("{}ns", p50_ns - 61_000));
    assert_eq!(result.verdict, Verdict::Violated, "{:?}", result.reasons);
    assert!(result.lateness[0].starts_with("timely"), "{:?}", result.lateness);
    assert_eq!(late(&format!("{}ns", p50_ns - 59_000)).verdict, Verdict::Unknown);
}

#[test]
fn a_lag_that_is_most_of_what_was_measured_is_reported_and_one_beyond_epsilon_is_unknown() {
    let result = summarise(&fake::run(fake::job(), 40_000, 1_000)).unwrap();
    assert_eq!((result.verdict, result.lateness_ns), (Verdict::Holds, result.pick_up_ns.p99));
    assert!(result.lateness[0].starts_with("send lag"), "{:?}", result.lateness);
    let result = summarise(&fake::run(fake::job(), 60_000, 1_000)).unwrap();
    assert_eq!((result.verdict, result.lateness_ns), (Verdict::Unknown, None));
    assert!(result.reasons.iter().any(|why| why.starts_with("timely")), "{:?}", result.reasons);
}

#[test]
fn other_failed_checks_are_not_forgiven_beside_lateness() {
    let job = Job { qos_quantile: 0.99, qos_bound: "20ms".into(), pooled: true, ..fake::job() };
    let mut run = fake::run(job, 200_000, 30_000);
    run.threads[0].outages_unlisted = 1;
    let result = summarise(&run).unwrap();
    assert_eq!((result.verdict, result.upper_bounds), (Verdict::Unknown, false));
    assert!(result.reasons.iter().any(|text| text.starts_with("outage log")));
}

/// A tenth of the time stopped, in one piece: p99 is reported, and so much too high at most.
fn stopped(bound_ns: u64, share: f64) -> RunResult {
    let (q, bound) = (if bound_ns > 0 { 0.99 } else { 0.0 }, format!("{bound_ns}ns"));
    let bound = if bound_ns > 0 { bound } else { String::new() };
    let job = Job { qos_quantile: q, qos_bound: bound, pooled: true, ..fake::job() };
    let mut run = fake::run(job, 0, 30_000);
    let length_ns = (2e9 * share) as u64;
    run.threads[0].outages.push(crate::watch::outage::Outage { start_ns: 200_000_000, length_ns });
    summarise(&run).unwrap()
}

#[test]
fn a_client_that_was_stopped_gives_an_upper_bound_and_its_allowance() {
    let result = stopped(0, 0.2);
    let allowance = result.outages.allowance;
    assert!((1.09..1.12).contains(&allowance), "half of a fifth: {allowance}");
    assert_eq!((result.verdict, result.upper_bounds), (Verdict::Holds, true));
    let most = ((allowance - 1.0) * 100.0).ceil();
    let text = format!("at most {most} % too high");
    assert!(result.notes.iter().any(|note| note.contains(&text)), "{:?}", result.notes);
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
fn where_most_was_excluded_only_a_bound_that_holds_is_reported() {
    let p99_ns = stopped(0, 0.0).sojourn_ns.p99.unwrap();
    assert_eq!(stopped(0, 0.85).verdict, Verdict::Unknown);
    assert_eq!(stopped(2 * p99_ns, 0.85).verdict, Verdict::Holds);
    let missed = stopped(p99_ns / 2, 0.85);
    assert_eq!((missed.verdict, missed.upper_bounds), (Verdict::Unknown, true));
    assert!(missed.reasons[0].starts_with("client stopped"), "{:?}", missed.reasons);
}
