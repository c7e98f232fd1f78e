//! What changes while a system runs: instances, speed, the load; and storms of retries.

use super::*;
use crate::calls::job::{Scaling, Speed};

/// Fixed gaps and services, so that the queue is a fluid: one instance does 100/s and 150/s come. The
/// look after 1 s asks for a second one, which serves 10 s later: 11 s · 50/s wait by then, and the last of
/// them waits for 550 before it at 200/s.
#[test]
fn an_instance_that_starts_slowly_leaves_a_queue() {
    let wait_s = |startup: &str| {
        let scaling = Scaling {
            max: 2,
            target: 0.8,
            every: "1s".into(),
            startup: startup.into(),
            ..Scaling::default()
        };
        let one = ServiceJob {
            service: "fixed:10".into(),
            pick: "shortest".into(),
            scaling: Some(scaling),
            ..narrow("a")
        };
        let arrivals = "fixed".to_string();
        let job = Job {
            arrivals,
            rate: "150".into(),
            requests: 4000,
            warmup: 0,
            runs: 2,
            ..job(vec![one])
        };
        let result = run(&job).unwrap();
        assert!(result.services[0].instances > 1.0 && result.services[0].instances < 2.0);
        result.sojourn_ns.max.unwrap() as f64 / 1e9
    };
    // Those who came last to the only instance: 550 in 5.5 s at its own 100/s.
    assert!((wait_s("10s") - 5.5).abs() < 0.1, "{}", wait_s("10s"));
    assert!((wait_s("2s") - 1.5).abs() < 0.1, "{}", wait_s("2s"));
}

#[test]
fn instances_that_are_not_needed_stop_after_their_time() {
    let instances = |down_after: &str| {
        let scaling = Scaling {
            max: 4,
            down_after: down_after.into(),
            every: "1s".into(),
            ..Scaling::default()
        };
        let one = ServiceJob { instances: 4, scaling: Some(scaling), ..narrow("a") };
        let job = Job { rate: "20".into(), requests: 4000, warmup: 0, runs: 2, ..job(vec![one]) };
        run(&job).unwrap().services[0].instances
    };
    assert!((instances("1h") - 4.0).abs() < 1e-9, "none stops");
    assert!(instances("5s") < 1.3, "{}", instances("5s"));
}

/// Four instances at 60 % use, as wanted: none starts. The governor looks each 10 ms, in which use
/// is anything from none to all; the scaler looks each 30 s, in which it is 60 ± 1 %.
#[test]
fn the_scaler_does_not_see_the_windows_of_the_governor() {
    let scaling = Scaling {
        max: 8,
        every: "30s".into(),
        startup: "0s".into(),
        down_after: "1h".into(),
        ..Scaling::default()
    };
    let speed = Some(Speed { low: 1.0, ..Speed::default() });
    let one = ServiceJob {
        instances: 4,
        pick: "shortest".into(),
        scaling: Some(scaling),
        speed,
        ..narrow("a")
    };
    let result = run(&Job { rate: "240".into(), requests: 40_000, ..job(vec![one]) }).unwrap();
    assert!((result.services[0].instances - 4.0).abs() < 1e-9, "{}", result.services[0].instances);
}

/// At the lower speed throughout, a service is an M/M/1 of that speed; at full speed of the other.
#[test]
fn the_lower_speed_is_a_slower_service() {
    for (up_above, speed) in [(1.0, 0.8), (0.0, 1.0)] {
        let speed_of = Speed { low: 0.8, up_above, every: "100s".into() };
        let one = ServiceJob { speed: Some(speed_of), ..narrow("a") };
        let job = Job { rate: "40".into(), requests: 60_000, warmup: 10_000, ..job(vec![one]) };
        let result = run(&job).unwrap();
        let truth = 1.0 / (speed - 0.4) * UNIT_NS;
        assert!(near(result.intervals.mean.unwrap(), truth), "{speed}: {truth}");
        let slow = result.services[0].slow_share;
        assert!(if speed < 1.0 { slow > 0.999 } else { slow < 0.2 }, "{slow}");
    }
}

/// A surge of 20 s fills the queue beyond the timeout. Without retries the queue empties again; with
/// them it stays full of requests that no user waits for, long after the surge (Bronson 2021).
#[test]
fn a_storm_of_retries_outlasts_its_cause() {
    let lost = |retries: u32, retry_budget: f64| {
        let client = Call { timeout: "300ms".into(), retries, retry_budget, ..Call::default() };
        let rate = "steps:70@30s,200@20s,70@400s".to_string();
        let job =
            Job { client, rate, requests: 34_000, warmup: 0, runs: 4, ..job(vec![narrow("a")]) };
        let result = run(&job).unwrap();
        (1.0 - result.answered.mid, result.services[0].wasted)
    };
    let (calm, storm, bounded) = (lost(0, 0.0), lost(3, 0.0), lost(3, 0.1));
    assert!(calm.0 < 0.3, "without retries: {calm:?}");
    assert!(storm.0 > 0.8 && storm.1 > 0.2, "with three: {storm:?}");
    assert!(bounded.0 < 0.5, "with a budget of a tenth: {bounded:?}");
}

/// A surge of the load shows in the tail, and a steady load of the same mean has none.
#[test]
fn the_load_may_change_with_time() {
    let p99 = |rate: &str| {
        let job = Job { rate: rate.into(), requests: 30_000, warmup: 0, ..job(vec![narrow("a")]) };
        run(&job).unwrap().intervals.p99.unwrap().mid
    };
    assert!(p99("sine:50,45,100s") > 1.5 * p99("50"));
}

/// A burst is as long under a schedule of one level as at that level: the same arrivals.
#[test]
fn bursts_have_their_length_under_a_schedule() {
    let times = |rate: &str| {
        let (arrivals, rate) = ("onoff:500ms,500ms".into(), rate.into());
        let one =
            Job { arrivals, rate, requests: 2000, warmup: 0, runs: 2, ..job(vec![narrow("a")]) };
        run(&one).unwrap().sojourn_ns
    };
    let (steady, schedule) = (times("45"), times("steps:45@100s"));
    assert_eq!((schedule.p50, schedule.p99), (steady.p50, steady.p99));
}

/// A service without queues under this rate.
fn under(rate: &str, requests: u64, runs: u32) -> CallsResult {
    let rate = rate.into();
    run(&Job { rate, requests, warmup: 0, runs, ..job(vec![wide("a")]) }).unwrap()
}

/// From 10/s to 200/s in a minute: 105/s in the mean.
#[test]
fn a_ramp_takes_the_length_that_it_names() {
    let result = under("ramp:10..200@60s", 6_300, 4);
    assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
    assert!((result.offered_rps - 105.0).abs() < 3.0, "{}", result.offered_rps);
}

#[test]
fn a_schedule_that_a_run_leaves_out_is_reported() {
    let reasons = |rate, requests| under(rate, requests, 2).reasons;
    let surge = "steps:10@1s,900@10s";
    assert!(reasons(surge, 9_010).is_empty(), "{:?}", reasons(surge, 9_010));
    assert!(reasons(surge, 1_000)[0].starts_with("cut short"), "{:?}", reasons(surge, 1_000));
    let half = reasons("sine:50,45,100s", 2_500);
    assert!(half[0].contains("5000 requests, and a run has 2500"), "{half:?}");
}

/// No user comes after the last step, so a run has as many as came.
#[test]
fn a_rate_that_ends_ends_the_run() {
    let result = under("steps:100@10s,0@10s", 5_000, 2);
    assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
    assert!((1_600..2_400).contains(&result.sojourn_ns.count), "{:?}", result.sojourn_ns);
}

#[test]
fn a_trace_brings_its_own_arrivals() {
    let file = std::env::temp_dir().join(format!("sojourn-calls-trace-{}.csv", std::process::id()));
    let times: Vec<String> = (0..2000).map(|i| (f64::from(i) * 0.02).to_string()).collect();
    std::fs::write(&file, format!("timestamp_s\n{}\n", times.join("\n"))).unwrap();
    let one = ServiceJob { service: "fixed:10".into(), ..narrow("a") };
    let arrivals = format!("trace:{}", file.display());
    let asked =
        Job { arrivals, rate: String::new(), requests: 1000, warmup: 0, runs: 2, ..job(vec![one]) };
    let result = run(&asked);
    let faster = run(&Job { rate: "90".into(), ..asked.clone() });
    std::fs::remove_file(&file).unwrap();
    let (result, faster) = (result.unwrap(), faster.unwrap());
    assert!((result.offered_rps - 50.0).abs() < 1.0, "{}", result.offered_rps);
    assert!((faster.offered_rps - 90.0).abs() < 2.0, "{}", faster.offered_rps);
}
