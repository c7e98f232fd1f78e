use std::collections::BTreeMap;

use super::*;
use crate::drive::measurement::fake;
use crate::job::Job;
use crate::judge::result::Verdict;
use crate::watch::outage::Outage;

#[test]
fn a_clean_run_holds_and_its_spans_add_up() {
    let result = summarise(&fake::run(fake::job(), 1_000, 30_000)).unwrap();
    assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
    assert_eq!(result.requests, result.sojourn_ns.count);
    assert_eq!(result.timely_ratio, 1.0);
    let mean = |span: &sojourn_base::span::Span| span.mean.unwrap();
    let sum = mean(&result.wire_ns) + mean(&result.send_lag_ns);
    assert!((mean(&result.sojourn_ns) - sum).abs() < 1.0, "sojourn = send lag + wire");
    assert!((result.achieved_rps / result.offered_rps - 1.0).abs() < 0.001);
}

#[test]
fn cost_is_over_the_requests_of_the_measured_part_alone() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    run.threads[0].cpu_ns = 1_000_000;
    assert!(run.threads[0].plan.measured_from > 0, "there is a warm-up");
    let result = summarise(&run).unwrap();
    let expected = 1e6 / result.requests as f64;
    assert!((result.cost.cpu_ns_per_request / expected - 1.0).abs() < 1e-3);
}

#[test]
fn latency_counts_from_the_intended_time() {
    let result = summarise(&fake::run(fake::job(), 5_000_000, 1_000)).unwrap();
    assert!(result.sojourn_ns.p50.unwrap() >= 5_000_000, "sent 5 ms late");
    assert!(result.wire_ns.p50.unwrap() < 10_000);
    assert_eq!((result.verdict, result.timely_ratio), (Verdict::Unknown, 0.0));
    assert!(result.reasons.iter().any(|reason| reason.starts_with("timely")));
    assert!(result.reasons.iter().any(|reason| reason.starts_with("send lag")));
}

#[test]
fn a_wait_for_a_connection_is_not_the_instruments_lag() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    let marks = &mut run.threads[0].marks;
    for i in (0..marks.sent_ns.len()).step_by(5) {
        marks.sent_ns[i] += 1_000_000; // waits 1 ms until a connection is free
        marks.done_ns[i] += 1_000_000;
        marks.first_byte_ns[i] += 1_000_000;
        marks.free_ns[i] = marks.sent_ns[i];
    }
    let result = summarise(&run).unwrap();
    assert!((result.timely_ratio - 0.8).abs() < 0.001);
    assert_eq!(result.checks.pick_up_timely_ratio, 1.0);
    assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
    assert!(result.notes[0].contains("waited for a free connection"));
    assert!(result.checks.backlog_max >= 1);
}

#[test]
fn failed_requests_are_infinite_and_named_by_kind() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    let marks = &mut run.threads[0].marks;
    let last = marks.outcome.len() - 1;
    for i in 0..300 {
        marks.outcome[last - i] = [Outcome::Closed, Outcome::Pending, Outcome::Pending][i % 3];
        if i % 3 == 2 {
            marks.sent_ns[last - i] = 0;
        }
    }
    let result = summarise(&run).unwrap();
    let expected = [("closed", 100), ("unanswered", 100), ("unsent", 100)];
    let expected = expected.map(|(kind, count)| (kind.to_string(), count));
    assert_eq!(result.errors, BTreeMap::from(expected));
    assert_eq!(result.sojourn_ns.p99, None, "1.5 % of 20 000 are infinite");
    assert!(result.sojourn_ns.p95.is_some());
}

#[test]
fn what_falls_into_an_outage_is_left_out_by_the_log_alone() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    let outage = Outage { start_ns: 1_000_000_000, length_ns: 10_000_000 };
    let thread = &mut run.threads[0];
    for (i, &due_ns) in thread.plan.intended_ns.iter().enumerate() {
        if (outage.start_ns..outage.end_ns()).contains(&due_ns) {
            thread.marks.sent_ns[i] = outage.end_ns();
            thread.marks.first_byte_ns[i] = outage.end_ns() + 1_000;
            thread.marks.done_ns[i] = outage.end_ns() + 1_000;
        }
    }
    let blamed = summarise(&run).unwrap();
    run.threads[0].outages.push(outage);
    let result = summarise(&run).unwrap();
    assert_eq!((result.outages.count, result.outages.longest_ns), (1, 10_000_000));
    assert!((result.outages.share_time - 0.005).abs() < 1e-9);
    assert!((result.outages.share_excluded - 0.005).abs() < 0.002, "10 ms of 2 s");
    assert!(result.sojourn_ns.p999.unwrap() < 100_000);
    assert!(result.sojourn_all_ns.p999.unwrap() > 5_000_000);
    assert_eq!(result.sojourn_all_ns, blamed.sojourn_all_ns, "nothing is dropped in silence");
    assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
    assert_eq!(result.outages.log, vec![[900_000_000, 10_000_000]]);
}

#[test]
fn long_outages_make_the_result_unknown() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    run.threads[0].outages.push(Outage { start_ns: 100_000_000, length_ns: 600_000_000 });
    assert_eq!(summarise(&run).unwrap().verdict, Verdict::Holds, "what is left is enough");
    run.threads[0].outages.push(Outage { start_ns: 800_000_000, length_ns: 1_150_000_000 });
    let result = summarise(&run).unwrap();
    assert_eq!(result.verdict, Verdict::Unknown);
    assert!(result.reasons[0].starts_with("client stopped"), "{:?}", result.reasons);
}

#[test]
fn the_target_decides_only_a_valid_run() {
    let qos = Job { qos_quantile: 0.99, qos_bound: "10us".into(), ..fake::job() };
    let result = summarise(&fake::run(qos.clone(), 100, 30_000)).unwrap();
    assert_eq!(result.verdict, Verdict::Violated);
    let result = summarise(&fake::run(qos.clone(), 5_000_000, 1_000)).unwrap();
    assert_eq!(result.verdict, Verdict::Unknown, "unknown beats violated");
    let result = summarise(&fake::run(qos, 5_000_000, 30_000)).unwrap();
    assert_eq!(result.verdict, Verdict::Violated, "had all been on time it were missed too");
}

#[test]
fn threads_merge_by_histogram_and_a_biased_one_shows() {
    let job = Job { threads: 2, ..fake::job() };
    let mut run = fake::run(job, 0, 1_000);
    for (i, ns) in run.threads[1].marks.done_ns.iter_mut().enumerate().step_by(40) {
        *ns += 50_000_000 + i as u64 * 1_000;
    }
    let result = summarise(&run).unwrap();
    assert_eq!(result.threads.len(), 2);
    assert_eq!(result.threads.iter().map(|t| t.requests).sum::<u64>(), result.requests);
    assert!(result.sojourn_ns.p99.unwrap() > 40_000_000, "1.25 % are slow");
    assert!(result.threads[0].p99.unwrap() < 1_000_000);
    assert!((result.threads[1].tail_factor.unwrap() - 2.0).abs() < 0.1);
}

#[test]
fn a_run_that_was_stopped_counts_what_was_due_until_then() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    let thread = &mut run.threads[0];
    let cut = thread.plan.intended_ns.partition_point(|&ns| ns < 1_100_000_000);
    thread.plan.truncate(cut);
    thread.marks.truncate(cut);
    thread.stopped_ns = Some(1_100_000_000);
    let result = summarise(&run).unwrap();
    assert!((result.measured_s - 1.0).abs() < 1e-9);
    assert!((result.offered_rps / 10_000.0 - 1.0).abs() < 0.05);
    assert!(result.notes[0].starts_with("stopped after 1 s of 2 s"), "{:?}", result.notes);
}
