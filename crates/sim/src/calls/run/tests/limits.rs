//! What is refused, and what is not known.

use super::*;
use crate::calls::job::{Scaling, Speed};

#[test]
fn more_than_it_can_do_is_no_steady_state() {
    let over = run(&Job { rate: "120".into(), ..job(vec![narrow("a")]) }).unwrap();
    assert_eq!(over.verdict, Verdict::Unknown);
    assert!(over.reasons[0].starts_with("no steady state"), "{:?}", over.reasons);
    let stopped = run(&Job { events_max: 1000, ..job(vec![narrow("a")]) }).unwrap();
    assert!(stopped.reasons[0].starts_with("not finished"), "{:?}", stopped.reasons);
}

/// At a hundred times what it can do, one second of work would see a hundred seconds of arrivals.
#[test]
fn far_more_than_it_can_do_ends_with_those_that_count() {
    let over = run(&Job { rate: "1M".into(), ..job(vec![narrow("a")]) }).unwrap();
    assert!(over.reasons[0].starts_with("no steady state"), "{:?}", over.reasons);
    assert_eq!(over.sojourn_ns.count, 8 * 20_000, "all of them are answered");
    assert!(over.events < 8 * 2 * (22_000 + 250_000), "{}", over.events);
    let client = Call { timeout: "1s".into(), retries: 3, ..Call::default() };
    let late = run(&Job { rate: "1M".into(), client, ..job(vec![narrow("a")]) }).unwrap();
    assert!(late.answered.hi < 0.02 && late.events < 8 * 4_000_000, "{}", late.events);
}

/// A schedule ends at a level that it can do nothing with; those who count are not slower for that.
#[test]
fn a_schedule_that_ends_in_overload_is_played_to_its_end() {
    let rate = "steps:50@100s,5k@1s".to_string();
    let over = Job { rate, requests: 10_000, warmup: 0, runs: 2, ..job(vec![narrow("a")]) };
    let result = run(&over).unwrap();
    assert_eq!((result.verdict, result.sojourn_ns.lost), (Verdict::Holds, 0));
    // 5,000 in one second, each behind those of 10 ms that came before: the last waits some 50 s.
    let last_s = result.sojourn_ns.max.unwrap() as f64 / 1e9;
    assert!((45.0..55.0).contains(&last_s), "{last_s}");
}

/// Histograms end at one hour.
#[test]
fn times_that_were_cut_are_reported() {
    let is_cut = |s: &str| {
        let (service, unit) = (format!("fixed:{s}"), "s".into());
        let one = ServiceJob { service, unit, ..wide("a") };
        let rate = "0.1".to_string();
        let small = Job { rate, requests: 10, warmup: 0, runs: 2, ..job(vec![one]) };
        run(&small).unwrap().reasons.iter().any(|why| why.contains("above 1 h were cut"))
    };
    assert!(is_cut("3601") && !is_cut("3590"));
}

#[test]
fn a_full_queue_refuses() {
    // M/M/1/K with ρ = 1 and K = 2 in the system: a third of the arrivals find it full.
    let one = ServiceJob { queue_max: 1, ..narrow("a") };
    let result = run(&Job { rate: "100".into(), requests: 50_000, ..job(vec![one]) }).unwrap();
    assert!(near(result.answered, 2.0 / 3.0), "{:?}", result.answered);
    assert!((result.services[0].refused - 1.0 / 3.0).abs() < 0.01);
}

#[test]
fn a_quantile_that_few_requests_carry_has_no_interval() {
    let result = run(&Job { requests: 500, ..job(vec![narrow("a")]) }).unwrap();
    assert!(result.intervals.p90.is_some() && result.intervals.p99.is_none());
}

#[test]
fn mistakes_are_named_with_a_way_out() {
    let wrong = |change: &dyn Fn(&mut Job)| {
        let mut job =
            job(vec![ServiceJob { calls: vec![to("back")], ..narrow("front") }, narrow("back")]);
        change(&mut job);
        run(&job).unwrap_err()
    };
    assert!(wrong(&|j| j.services.clear()).fix.contains("at least one"));
    assert!(
        wrong(&|j| j.services[0].calls[0].to = "bakc".into()).fix.contains("did you mean back")
    );
    let circle = wrong(&|j| j.services[1].calls = vec![to("front")]);
    assert!(circle.what.contains("calls itself"), "{}", circle.what);
    assert!(wrong(&|j| j.services[0].calls[0].copies = 200_000).what.contains("calls"));
    assert!(wrong(&|j| j.services[0].calls[0].need = 2).at.contains("services[0].calls[0].copies"));
    assert!(wrong(&|j| j.client.fails = 1.0).at.contains("client.fails"));
    assert!(wrong(&|j| j.client.timeout = "soon".into()).at.contains("client.timeout"));
    assert!(wrong(&|j| j.client.retries = 2_000_000).fix.contains("1,000,000"));
    assert!(wrong(&|j| j.services[0].workers = 0).what.contains("workers is 0"));
    assert!(wrong(&|j| j.services[0].pick = "best".into()).fix.contains("shortest"));
    assert!(wrong(&|j| j.runs = 1).what.contains("runs is 1"));
    assert!(wrong(&|j| j.requests = 0).what.contains("requests is 0"));
    assert!(wrong(&|j| (j.warmup, j.requests) = (u64::MAX, 1)).what.contains("requests is 1"));
    assert!(wrong(&|j| j.rate = "0".into()).at.contains("rate"));
    assert!(wrong(&|j| j.rate = "1e308k".into()).at.contains("rate"));
    assert!(wrong(&|j| j.rate = String::new()).fix.contains("rate"));
    for ramp in ["ramp:10..200", "ramp:10..200@0s", "ramp:10..200@soon"] {
        let fault = wrong(&|j| j.rate = ramp.into());
        assert!(fault.at == "rate" && fault.fix.contains("ramp:10..200@60s"), "{ramp}: {fault}");
    }
    assert!(wrong(&|j| j.schema = "x".into()).what.contains("'x'"));
    let scaling = |change: fn(&mut Scaling)| {
        let mut one = Scaling::default();
        change(&mut one);
        wrong(&|j| j.services[0].scaling = Some(one.clone()))
    };
    assert!(scaling(|s| s.min = 2).at.contains("scaling"));
    assert!(scaling(|s| s.target = 0.0).at.contains("target"));
    assert!(scaling(|s| s.every = "0s".into()).at.contains("every"));
    let speed = Speed { low: 0.0, ..Speed::default() };
    assert!(wrong(&|j| j.services[0].speed = Some(speed.clone())).at.contains("speed"));
}

/// Whichever form is wrong, and wherever.
#[test]
fn every_rate_that_advice_names_can_be_used() {
    for wrong in [
        "fast",
        "steps:50",
        "steps:fast@1s",
        "steps:50@soon",
        "ramp:10..200",
        "ramp:10..200@soon",
        "ramp:10..200@0s",
        "ramp:x@60s",
        "ramp:10..x@60s",
        "sine:50,20",
        "sine:50,20,0s",
        "sine:20,50,60s",
        "surge:50",
    ] {
        let fault = rate(wrong).unwrap_err();
        let advice = fault.fix.strip_prefix("write ").unwrap_or_else(|| panic!("{wrong}: {fault}"));
        for text in advice.split(", ").flat_map(|part| part.split(" or ")) {
            let job = Job { rate: text.into(), requests: 10, ..job(vec![wide("a")]) };
            assert!(run(&job).is_ok(), "{wrong}: {text}");
        }
    }
}

#[test]
fn student_is_the_tables() {
    for (freedom, table) in [(1.0, 12.706), (3.0, 3.182), (4.0, 2.776), (7.0, 2.365), (31.0, 2.040)]
    {
        assert!((t_95(freedom) / table - 1.0).abs() < 0.003, "{freedom}: {}", t_95(freedom));
    }
}
