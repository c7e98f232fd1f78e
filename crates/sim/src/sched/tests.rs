//! The machine against closed forms, invariants that hold under every policy, and the effects
//! that each policy is known for.

use super::KINDS;
use super::job::{Grant, Job, NeighbourJob, ServiceJob};
use super::result::{SchedResult, ServiceResult};
use super::run::run;
use crate::closed::MmN;
use crate::result::Verdict;

mod clock;
mod costs;
mod places;

const US: f64 = 1e3;

fn service(rate: &str, service: &str) -> ServiceJob {
    ServiceJob { rate: rate.into(), service: service.into(), ..ServiceJob::default() }
}

fn job(policy: &str, services: Vec<ServiceJob>, neighbours: Vec<NeighbourJob>) -> Job {
    let (policy, duration) = (policy.into(), "4s".into());
    Job { policy, services, neighbours, duration, ..Job::default() }
}

fn spin(name: &str, weight: u64) -> NeighbourJob {
    let grant = Grant { weight, ..Grant::default() };
    NeighbourJob { name: name.into(), kind: "spin".into(), grant, ..NeighbourJob::default() }
}

/// The mean is that of the closed form, within twice the run's own interval.
fn agrees(service_result: &ServiceResult, known_ns: f64) {
    let mean = service_result.intervals.mean.unwrap();
    let half = mean.hi - mean.mid;
    assert!(
        (mean.mid - known_ns).abs() < 2.0 * half,
        "{}: {mean:?}, known {known_ns}",
        service_result.name
    );
}

#[test]
fn one_service_alone_is_an_m_m_1_under_every_policy() {
    for entry in KINDS {
        let result =
            run(&job(entry.kind.name, vec![service("70k", "exponential:10")], vec![])).unwrap();
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        let known = MmN::new(70e3 / 1e9, 10.0 * US, 1).unwrap();
        agrees(&result.services[0], known.mean_sojourn());
        let p99 = result.services[0].intervals.p99.unwrap();
        let known_p99 = known.sojourn_quantile(0.99);
        assert!((p99.mid - known_p99).abs() < 2.0 * (p99.hi - p99.mid), "{p99:?} {known_p99}");
        assert!((result.busy_ratio[0] - 0.7).abs() < 0.01);
    }
}

/// Preemptive-resume priorities. Source: Kleinrock, Queueing Systems II (1976), 3.6.
#[test]
fn two_priorities_have_the_known_means() {
    let first = ServiceJob {
        name: "first".into(),
        grant: Grant { priority: 2, ..Grant::default() },
        ..service("3k", "exponential:100")
    };
    let second = ServiceJob { name: "second".into(), ..service("400", "exponential:1000") };
    let result =
        run(&Job { duration: "60s".into(), ..job("rt", vec![first, second], vec![]) }).unwrap();
    let (s1, s2, r1, r2) = (100.0 * US, 1000.0 * US, 0.3, 0.4);
    agrees(&result.services[0], s1 / (1.0 - r1));
    let left = r1 * s1 + r2 * s2; // Σ λE[S²]/2 for exponential service
    agrees(&result.services[1], (s2 * (1.0 - r1 - r2) + left) / ((1.0 - r1) * (1.0 - r1 - r2)));
}

#[test]
fn spinners_share_by_weight_with_and_without_warp() {
    for (policy, warp) in [("cfs", "0"), ("bvt", "0"), ("bvt", "20ms"), ("eevdf", "0")] {
        let mut heavy = spin("heavy", 2048);
        heavy.grant.warp = warp.into();
        let neighbours = vec![heavy, spin("a", 1024), spin("b", 1024)];
        let result = run(&job(policy, vec![service("1", "fixed:1")], neighbours)).unwrap();
        let shares: Vec<f64> = result.neighbours.iter().map(|n| n.cpu_share).collect();
        for (share, want) in shares.iter().zip([0.5, 0.25, 0.25]) {
            assert!((share - want).abs() < 0.01, "{policy} warp {warp}: {shares:?}");
        }
    }
}

fn beside_square_wave(policy: &str, rate: &str, warp: &str) -> SchedResult {
    let grant = Grant { warp: warp.into(), ..Grant::default() };
    let critical = ServiceJob { grant, ..service(rate, "exponential:10") };
    run(&job(policy, vec![critical], vec![NeighbourJob::default()])).unwrap()
}

/// L18: at 30 % load CFS lets the square wave in for its 6 ms. BVT does not if the warp exceeds L
/// and the wake-up granularity together: the paper's "warp > L" is that with a granularity of 0.
#[test]
fn square_wave_breaks_cfs_and_not_bvt() {
    let p95 = |policy, warp| {
        beside_square_wave(policy, "30k", warp).services[0].sojourn_ns.p95.unwrap() as f64
    };
    let alone = MmN::new(30e3 / 1e9, 10.0 * US, 1).unwrap().sojourn_quantile(0.95);
    assert!(p95("cfs", "0") > 1e6, "milliseconds");
    assert!(p95("bvt", "13ms") > 1e6, "12 + 4 ms are not exceeded");
    assert!(p95("bvt", "17ms") < 1.1 * alone);
}

/// The wave itself loses nothing under either: 6 of every 48 ms.
#[test]
fn square_wave_gets_its_share_under_every_fair_policy() {
    for policy in ["cfs", "bvt", "eevdf"] {
        let result = beside_square_wave(policy, "30k", "0");
        let share = result.neighbours[0].cpu_share;
        assert!((share - 0.125).abs() < 0.01, "{policy}: {share}");
    }
}

/// Not work-conserving: a quota of 12 ms in 24 ms stalls a lone service at 45 % load now and then.
#[test]
fn quota_throttles_although_the_cpu_is_idle() {
    let p99 = |quota: &str| {
        let grant = Grant { quota: quota.into(), ..Grant::default() };
        let only = ServiceJob { grant, ..service("450", "exponential:1000") };
        run(&job("rt", vec![only], vec![])).unwrap().services[0].sojourn_ns.p99.unwrap()
    };
    assert!(p99("12ms") > 2 * p99(""));
}

#[test]
fn every_policy_conserves_requests_and_repeats_by_seed() {
    for entry in KINDS {
        let services = vec![service("20k", "exponential:10"), service("300", "exponential:1000")];
        let job = job(entry.kind.name, services, vec![NeighbourJob::default()]);
        let first = run(&job).unwrap();
        for service in &first.services {
            assert_eq!(service.sojourn_ns.lost, 0, "{}", entry.kind.name);
        }
        let cpu =
            first.services.iter().map(|s| s.cpu_share).sum::<f64>() + first.neighbours[0].cpu_share;
        assert!((cpu - first.busy_ratio[0]).abs() < 1e-9, "all CPU time has an owner");
        assert_eq!(first, run(&job).unwrap());
    }
}

#[test]
fn siblings_that_are_both_busy_slow_each_other_down() {
    let mut job = job("fifo", vec![service("1", "fixed:1")], vec![spin("sibling", 1024)]);
    job.cpus = 2;
    job.smt_slowdown = 1.5;
    job.services[0] = ServiceJob { cpus: vec![1], ..service("10k", "fixed:30") };
    let result = run(&job).unwrap();
    assert!((result.busy_ratio[1] - 0.45).abs() < 0.01, "30 % of work takes 45 % of time");
}

#[test]
fn softirq_runs_before_the_service_and_on_its_own_cpus_beside_it() {
    let with = |cpus: Vec<u32>| {
        let softirq = "fixed:4".into();
        let only =
            ServiceJob { softirq, softirq_cpus: cpus, cpus: vec![0], ..service("50k", "fixed:10") };
        let mut job = job("cfs", vec![only], vec![]);
        job.cpus = 2;
        run(&job).unwrap()
    };
    let (own, apart) = (with(vec![]), with(vec![1]));
    assert!((own.busy_ratio[0] - 0.7).abs() < 0.01 && own.busy_ratio[1] == 0.0);
    assert!((apart.busy_ratio[0] - 0.5).abs() < 0.01 && (apart.busy_ratio[1] - 0.2).abs() < 0.01);
    assert!(own.services[0].sojourn_ns.mean > apart.services[0].sojourn_ns.mean);
}

#[test]
fn overload_is_refused_unless_allowed_and_then_unknown() {
    let mut job = job("cfs", vec![service("90k", "exponential:10")], vec![NeighbourJob::default()]);
    let fault = run(&job).unwrap_err();
    assert!(fault.what.contains("unstable") && fault.fix.contains("allow_overload"));
    job.allow_overload = true;
    let result = run(&job).unwrap();
    assert_eq!(result.verdict, Verdict::Unknown);
    assert!((result.services[0].achieved_rps / 87_500.0 - 1.0).abs() < 0.01, "all that is left");
}

#[test]
fn mistakes_are_named_with_a_way_out() {
    let base = job("cfs", vec![service("50k", "exponential:10")], vec![]);
    let wrong = |change: fn(&mut Job)| {
        let mut job = base.clone();
        change(&mut job);
        run(&job).unwrap_err()
    };
    assert!(wrong(|j| j.policy = "bvd".into()).fix.contains("bvt"));
    assert!(wrong(|j| j.services[0].cpus = vec![1]).what.contains("no CPU 1"));
    assert!(wrong(|j| j.services[0].grant.quota = "1ms".into()).fix.contains("rt"));
    assert!(wrong(|j| j.tuning.tick = "0".into()).at.contains("tick"));
    assert!(wrong(|j| j.services[0].rate = "1.1G".into()).fix.contains("at most 1G"));
    assert!(wrong(|j| j.smt_slowdown = 0.5).what.contains("0.5"));
}
