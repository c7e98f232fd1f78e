//! Up to when time is booked, what falls due while softIRQ runs, and times too long for the clock.

use super::*;

/// After its wake at 0 nothing happens to it any more, under any policy.
#[test]
fn a_spinner_alone_on_its_cpu_is_busy_throughout() {
    for entry in KINDS {
        let only = ServiceJob { cpus: vec![0], ..service("1k", "fixed:10") };
        let spinner = NeighbourJob { cpus: vec![1], ..spin("spin", 1024) };
        let job = Job { cpus: 2, ..job(entry.kind.name, vec![only], vec![spinner]) };
        let result = run(&job).unwrap();
        let got = &result.neighbours[0];
        for share in [got.progress, got.cpu_share, result.busy_ratio[1]] {
            assert!((0.999..=1.0).contains(&share), "{}: {got:?}", entry.kind.name);
        }
    }
    // One switch, when it began: in 5 s, not in no time.
    let alone = run(&job("fifo", vec![], vec![spin("spin", 1024)])).unwrap();
    assert!((alone.switches_rps[0] - 0.2).abs() < 1e-9, "{:?}", alone.switches_rps);
}

/// A spinner on each of two CPUs leaves none idle, also not at the end; what comes after it, while
/// requests that a spinner starves are waited for, is no one's.
#[test]
fn the_time_of_all_owners_is_that_of_all_cpus() {
    for entry in KINDS {
        let softirq = "fixed:4".into();
        let only = ServiceJob { cpus: vec![0], softirq, ..service("10k", "fixed:10") };
        let spinner = NeighbourJob { cpus: vec![0, 1], ..spin("spin", 1024) };
        let job = Job { cpus: 2, ..job(entry.kind.name, vec![only], vec![spinner]) };
        let result = run(&job).unwrap();
        let owned = result.services[0].cpu_share + result.neighbours[0].cpu_share;
        let all = owned + result.softirq_ratio.iter().sum::<f64>();
        assert!((all - 2.0).abs() < 1e-9, "{}: {all}", entry.kind.name);
        assert_eq!(result.busy_ratio, [1.0, 1.0], "{}", entry.kind.name);
    }
}

/// On CPU 0 softIRQ runs for 10 of every 20 µs, and always when a tick (4 ms) or a period (24 ms)
/// ends: 1,200 gaps are 160 ns less than 24 ms, so after 50 of them an arrival is 8 µs early.
fn under_softirq(policy: &str, neighbours: Vec<NeighbourJob>) -> Job {
    let only = ServiceJob {
        arrivals: "fixed".into(),
        softirq: "fixed:10".into(),
        softirq_cpus: vec![0],
        cpus: vec![1],
        ..service("50000.333", "fixed:1")
    };
    let (warmup, duration) = ("240ms".into(), "960ms".into());
    Job { cpus: 2, warmup, duration, ..job(policy, vec![only], neighbours) }
}

/// 6 of 24 ms and what is left, where softIRQ takes half. Also if a task of low priority wakes just
/// after the first release (24.002 ms), in the same softIRQ.
#[test]
fn a_quota_comes_back_while_softirq_runs() {
    let ranked = |name: &str, priority, quota: &str| {
        let grant = Grant { priority, quota: quota.into(), ..Grant::default() };
        NeighbourJob { grant, ..spin(name, 1024) }
    };
    let wakes = ServiceJob { arrivals: "fixed".into(), ..service("41.663", "fixed:1") };
    for others in [vec![], vec![wakes]] {
        let neighbours = vec![ranked("high", 2, "6ms"), ranked("low", 1, "")];
        let mut job = under_softirq("rt", neighbours);
        job.services.extend(others);
        let result = run(&job).unwrap();
        let shares: Vec<f64> = result.neighbours.iter().map(|n| n.cpu_share).collect();
        assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.01), "{shares:?}");
    }
}

/// Else the first of two spinners would run for ever. A turn of CFS is 12 to 14 ms of 480.
#[test]
fn a_tick_while_softirq_runs_is_not_lost() {
    for policy in ["cfs", "eevdf"] {
        let result = run(&under_softirq(policy, vec![spin("a", 1024), spin("b", 1024)])).unwrap();
        let shares: Vec<f64> = result.neighbours.iter().map(|n| n.cpu_share).collect();
        assert!(shares.iter().all(|share| (share - 0.25).abs() < 0.04), "{policy}: {shares:?}");
    }
}

/// A sleep, a quota and a period that are longer than the clock counts: none ends.
#[test]
fn what_is_longer_than_the_clock_does_not_end() {
    let wave = NeighbourJob { off: "1e12s".into(), ..NeighbourJob::default() };
    let warmup = "0".to_string();
    let job_of = |policy, one| Job { warmup: warmup.clone(), ..job(policy, vec![], vec![one]) };
    let share = |job: &Job| run(job).unwrap().neighbours[0].cpu_share;
    let once = share(&job_of("cfs", wave));
    assert!((once - 0.006 / 4.0).abs() < 1e-9, "one burst of 6 ms in 4 s: {once}");
    let (quota, period) = ("1e30".into(), "1e30".into());
    let grant = Grant { quota, period, ..Grant::default() };
    let always = share(&job_of("rt", NeighbourJob { grant, ..spin("spin", 1024) }));
    assert!((always - 1.0).abs() < 1e-9, "{always}");
}

#[test]
fn a_run_or_a_virtual_time_too_long_to_count_is_refused() {
    let fault = |change: &dyn Fn(&mut Job)| {
        let services = vec![service("1k", "fixed:1")];
        let mut job = Job { duration: "10ms".into(), ..job("bvt", services, vec![]) };
        change(&mut job);
        run(&job).map(|_| ()).map_err(|fault| fault.at)
    };
    for text in ["1e30", "1e9s"] {
        assert_eq!(fault(&|job| job.duration = text.into()), Err("duration".into()), "{text}");
        assert_eq!(fault(&|job| job.warmup = text.into()), Err("duration".into()), "{text}");
    }
    for text in ["1e30", "1001s"] {
        let slice = fault(&|job| job.tuning.slice = text.into());
        let gran = fault(&|job| job.tuning.wakeup_granularity = text.into());
        let warp = fault(&|job| job.services[0].grant.warp = text.into());
        assert_eq!(slice, Err("tuning.slice".into()));
        assert_eq!(gran, Err("tuning.wakeup_granularity".into()));
        assert_eq!(warp, Err("services[0].grant.warp".into()));
    }
    assert_eq!(fault(&|job| job.tuning.latency = "1000s".into()), Ok(()));
    let weight = |weight| fault(&|job: &mut Job| job.services[0].grant.weight = weight);
    assert_eq!(weight(u64::MAX), Err("services[0].grant.weight".into()));
    assert_eq!(weight(u64::from(u32::MAX)), Ok(()));
    let rate = fault(&|job| job.services[0].rate = "1e308k".into());
    assert_eq!(rate, Err("services[0].rate".into()));
}

/// Histograms end at one hour.
#[test]
fn times_that_were_cut_are_reported() {
    let is_cut = |s: &str| {
        let unit = "s".to_string();
        let only = ServiceJob { unit, arrivals: "fixed".into(), ..service("0.0001", s) };
        let result = run(&Job { duration: "1e5s".into(), ..job("fifo", vec![only], vec![]) });
        result.unwrap().reasons.iter().any(|why| why.contains("above 1 h were cut"))
    };
    assert!(is_cut("fixed:3601") && !is_cut("fixed:3590"));
}
