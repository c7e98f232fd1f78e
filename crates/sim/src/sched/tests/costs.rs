//! What a request or a switch costs, stage by stage, and who is told when it is too much.

use super::*;

/// Two services with a request each at the same time, every ms: every request is a switch. The first
/// takes c + 10 µs, the second waits for it: 2c + 20 µs. 2,000 switches a second use 2,000 c of CPU time.
#[test]
fn a_switch_costs_what_it_should_and_delays_what_is_behind() {
    let each = || ServiceJob { arrivals: "fixed".into(), ..service("1k", "fixed:10") };
    for c in [0.0, 5.0 * US] {
        let mut job = job("fifo", vec![each(), each()], vec![]);
        job.switch = format!("{c}ns");
        let result = run(&job).unwrap();
        let mean = |i: usize| result.services[i].sojourn_ns.mean.unwrap();
        let (first, second) = (mean(0), mean(1)); // ties are broken by place
        assert!((first - (c + 10.0 * US)).abs() < 2.0, "{first}");
        assert!((second - (2.0 * c + 20.0 * US)).abs() < 2.0, "{second}");
        assert!((result.switches_rps[0] / 2000.0 - 1.0).abs() < 1e-3, "{}", result.switches_rps[0]);
        let used = 2000.0 * (c + 10.0 * US) / 1e9;
        assert!((result.busy_ratio[0] - used).abs() < 1e-6, "{}", result.busy_ratio[0]);
        assert!((result.services[0].cpu_share - used / 2.0).abs() < 1e-6, "half each");
    }
}

/// A task that goes on where it stopped is no switch: one service alone pays once, before any counts.
#[test]
fn a_task_alone_does_not_switch() {
    let only = ServiceJob { arrivals: "fixed".into(), ..service("1k", "fixed:10") };
    let result = run(&Job { switch: "5us".into(), ..job("fifo", vec![only], vec![]) }).unwrap();
    assert_eq!(result.services[0].sojourn_ns.max, result.services[0].sojourn_ns.p50);
    assert!((result.services[0].sojourn_ns.mean.unwrap() - 10.0 * US).abs() < 2.0);
    assert!(result.switches_rps[0] < 1.0);
}

/// One request at a time: softIRQ 4 µs, wake-up 3 and loop 2, service 10, nothing else.
#[test]
fn a_lone_request_goes_through_its_stages() {
    let only = ServiceJob {
        arrivals: "fixed".into(),
        wake: "3us".into(),
        r#loop: "2us".into(),
        softirq: "fixed:4".into(),
        ..service("1k", "fixed:10")
    };
    let result = run(&job("fifo", vec![only], vec![])).unwrap();
    let service = &result.services[0];
    for (got, want) in [
        (service.softirq_ns_mean, 4.0),
        (service.epoll_ns_mean, 5.0),
        (service.after_ns_mean, 10.0),
        (service.sojourn_ns.mean.unwrap(), 19.0),
    ] {
        assert!((got - want * US).abs() < 2.0, "{got} {want}");
    }
    assert_eq!((service.offered_rps, service.achieved_rps), (1000.0, 1000.0));
    assert!((service.cpu_share - 0.015).abs() < 1e-5, "{}", service.cpu_share);
    assert!((result.softirq_ratio[0] - 0.004).abs() < 1e-6);
    // 4,999 requests until 5 s: it arrives, softIRQ ends, the loop ends, service ends.
    assert_eq!(result.events, 4 * 4999);
    assert!((result.busy_ratio[0] - 0.019).abs() < 1e-5, "{}", result.busy_ratio[0]);
}

#[test]
fn neighbours_progress_is_what_they_got_over_what_they_want() {
    let result =
        run(&job("cfs", vec![service("1", "fixed:1")], vec![spin("a", 1024), spin("b", 3072)]));
    let progress: Vec<f64> = result.unwrap().neighbours.iter().map(|n| n.progress).collect();
    assert!((progress[0] - 0.25).abs() < 0.01 && (progress[1] - 0.75).abs() < 0.01);
    let wave = NeighbourJob { cpus: vec![0, 1], ..NeighbourJob::default() };
    let job = Job { cpus: 2, ..job("cfs", vec![service("1", "fixed:1")], vec![wave]) };
    let result = run(&job).unwrap();
    assert!((result.neighbours[0].cpu_share - 0.25).abs() < 0.005, "an eighth of each of two");
    assert!((result.neighbours[0].progress - 1.0).abs() < 0.02);
}

/// Three connections on two workers: CPU 0 carries two thirds of the load, and softIRQ all of its own.
#[test]
fn overload_is_found_by_connection_and_cpu() {
    let with = |rate: &str, softirq_cpus: Vec<u32>| {
        let only = ServiceJob {
            workers: 2,
            connections: 3,
            softirq: "fixed:2".into(),
            softirq_cpus,
            ..service(rate, "exponential:10")
        };
        run(&Job { cpus: 3, ..job("cfs", vec![only], vec![]) })
    };
    let what = |rate: &str, cpus: Vec<u32>| with(rate, cpus).unwrap_err().what;
    assert!(what("130k", vec![]).contains("CPU 0 is offered 1.040"), "(10 + 2) µs × 130k × ⅔");
    assert!(with("120k", vec![]).is_ok());
    assert!(what("600k", vec![2]).contains("CPU 0 is offered 4.000"));
    assert!(with("140k", vec![2]).is_ok(), "0.933 without softIRQ");
    assert!(what("140k", vec![0]).contains("CPU 0 is offered 1.213"));
}

/// A worker that may hold one request loses the rest: the M/M/1/1, where 1/(1 + ρ) gets in.
#[test]
fn requests_beyond_the_most_in_flight_are_lost() {
    let mut job = job("fifo", vec![service("50k", "exponential:10")], vec![]);
    job.in_flight_max = 1;
    let result = run(&job).unwrap();
    let share =
        result.services[0].sojourn_ns.lost as f64 / result.services[0].sojourn_ns.count as f64;
    assert!((share - 1.0 / 3.0).abs() < 0.01, "{share}");
    assert_eq!(result.verdict, Verdict::Unknown);
    assert!(result.reasons[0].contains("count as infinite"), "{:?}", result.reasons);
    assert!((result.services[0].achieved_rps / 33_333.0 - 1.0).abs() < 0.02);
}

#[test]
fn more_mistakes_are_named() {
    let base = job("cfs", vec![service("50k", "exponential:10")], vec![NeighbourJob::default()]);
    let wrong = |change: fn(&mut Job)| {
        let mut job = base.clone();
        change(&mut job);
        run(&job).unwrap_err()
    };
    assert!(wrong(|j| j.cpus = 0).what.contains("cpus is 0"));
    assert!(wrong(|j| j.cpus = 4097).what.contains("4097"));
    assert!(wrong(|j| j.smt_slowdown = 10.1).what.contains("10.1"));
    assert!(wrong(|j| j.duration = "0".into()).at.contains("duration"));
    assert!(wrong(|j| j.services[0].rate = "0".into()).at.contains("services[0]"));
    assert!(wrong(|j| j.services[0].workers = 0).what.contains("workers is 0"));
    assert!(wrong(|j| j.services[0].softirq_cpus = vec![1]).what.contains("no CPU 1"));
    assert!(wrong(|j| j.services[0].grant.weight = 0).what.contains("weight is 0"));
    assert!(wrong(|j| j.services[0].grant.period = "0".into()).fix.contains("period"));
    assert!(wrong(|j| j.neighbours[0].cpus = vec![7]).at.contains("neighbours[0]"));
    assert!(wrong(|j| j.neighbours[0].kind = "sine".into()).fix.contains("square"));
    assert!(wrong(|j| j.tuning.grace = "999ns".into()).at.contains("grace"));
    assert!(wrong(|j| j.tuning.slice = "999ns".into()).at.contains("slice"));
}

#[test]
fn a_sibling_that_is_idle_slows_no_one_down() {
    let mut job =
        job("fifo", vec![ServiceJob { cpus: vec![1], ..service("10k", "fixed:30") }], vec![]);
    (job.cpus, job.smt_slowdown) = (3, 1.5);
    let result = run(&job).unwrap();
    assert!((result.busy_ratio[1] - 0.3).abs() < 0.01, "{:?}", result.busy_ratio);
    assert_eq!((result.busy_ratio[0], result.busy_ratio[2]), (0.0, 0.0));
    // The last CPU of an odd number has no sibling.
    job.services[0].cpus = vec![2];
    assert!((run(&job).unwrap().busy_ratio[2] - 0.3).abs() < 0.01);
}
