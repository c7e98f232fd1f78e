//! Who serves what where, how long the end is waited for, and what refusals say.

use super::*;

/// Five connections on two workers, softIRQ on two CPUs: the first of each has three, the second two.
#[test]
fn connections_are_dealt_to_workers_and_cpus_in_turn() {
    let only = ServiceJob {
        workers: 2,
        connections: 5,
        softirq: "fixed:4".into(),
        softirq_cpus: vec![2, 3],
        cpus: vec![0, 1],
        ..service("50k", "fixed:10")
    };
    let result = run(&Job { cpus: 4, ..job("fifo", vec![only.clone()], vec![]) }).unwrap();
    for (busy, wanted) in result.busy_ratio.iter().zip([0.3, 0.2, 0.12, 0.08]) {
        assert!((busy - wanted).abs() < 0.005, "{:?}", result.busy_ratio);
    }
    let four = ServiceJob { workers: 4, connections: 0, ..only };
    let result = run(&Job { cpus: 4, ..job("fifo", vec![four], vec![]) }).unwrap();
    for (busy, wanted) in result.busy_ratio.iter().zip([0.25, 0.25, 0.1, 0.1]) {
        assert!((busy - wanted).abs() < 0.005, "{:?}", result.busy_ratio);
    }
}

/// One request, at 0.9 s of 1 s: what is done by 1.2 s counts, what is not is infinite.
#[test]
fn the_end_is_waited_for_by_a_fifth_of_the_run() {
    let at_end = |service_ms: f64| {
        let only = ServiceJob {
            arrivals: "fixed".into(),
            unit: "ms".into(),
            ..service("1.1111111", &format!("fixed:{service_ms}"))
        };
        let (warmup, duration) = ("0.5s".into(), "0.5s".into());
        let job = Job { duration, warmup, ..job("fifo", vec![only], vec![]) };
        let result = run(&job).unwrap();
        assert_eq!(result.services[0].offered_rps, 2.0, "one in half a second");
        assert_eq!(result.services[0].achieved_rps, 0.0, "not within the measured part");
        (
            result.services[0].sojourn_ns.lost,
            result.reasons.iter().any(|why| why.contains("1 of 1")),
        )
    };
    assert_eq!(at_end(295.0), (0, false));
    assert_eq!(at_end(305.0), (1, true));
}

/// What began in the warm-up and ends in the measured part was achieved there, and is in no quantile.
#[test]
fn warm_up_and_measured_part_are_distinguished() {
    let only =
        ServiceJob { arrivals: "fixed".into(), unit: "ms".into(), ..service("10", "fixed:60") };
    let (warmup, duration) = ("0.95s".into(), "1s".into());
    let result = run(&Job { duration, warmup, ..job("fifo", vec![only], vec![]) }).unwrap();
    // Arrivals at 0.1 s, 0.2 s, …: of those from 1.0 to 1.9 the last is done at 1.96, that of 0.9 at 0.96.
    let service = &result.services[0];
    assert_eq!((service.offered_rps, service.achieved_rps), (10.0, 10.0));
    assert_eq!((service.sojourn_ns.count, service.sojourn_ns.lost), (10, 0));
    assert!((service.cpu_share - 0.6).abs() < 1e-9, "10 ms of the first, 50 of the last");
    assert!((result.busy_ratio[0] - 0.6).abs() < 1e-9);
}

#[test]
fn refusals_say_what_there_is() {
    let fault = |change: &dyn Fn(&mut Job)| {
        let mut job = job("cfs", vec![service("50k", "exponential:10")], vec![]);
        job.cpus = 4;
        change(&mut job);
        run(&job)
    };
    let cpu = |cpu| fault(&|job: &mut Job| job.services[0].cpus = vec![cpu]);
    assert_eq!(cpu(4).unwrap_err().fix, "name CPUs from 0 to 3, or raise cpus");
    assert!(cpu(3).is_ok());
    assert!(fault(&|job| job.tuning.grace = "1us".into()).is_ok(), "no less than 1 µs");
    assert!(fault(&|job| job.smt_slowdown = 10.0).is_ok());
}

/// A CPU that is offered exactly what it can do has no steady state either.
#[test]
fn a_full_cpu_is_overloaded() {
    let with = |rate: &str| {
        let only = ServiceJob { arrivals: "fixed".into(), ..service(rate, "fixed:10") };
        run(&Job { duration: "100ms".into(), ..job("fifo", vec![only], vec![]) })
    };
    assert!(with("100k").unwrap_err().what.contains("CPU 0 is offered 1.000"));
    assert!(with("99k").is_ok());
    let spinning = vec![spin("spin", 1024)];
    let beside = run(&job("cfs", vec![service("1k", "fixed:10")], spinning)).unwrap();
    assert_eq!(beside.reasons, Vec::<String>::new(), "a spinner takes what is left");
}
