use super::*;
use crate::calls::job::{Call, ServiceJob};
use crate::closed::{hedged, max_of};

mod callers;
mod control;
mod limits;

/// Times in units of 10 ms: the default service's mean.
const UNIT_NS: f64 = 1e7;

fn to(name: &str) -> Call {
    Call { to: name.into(), ..Call::default() }
}

/// A service without queueing.
fn wide(name: &str) -> ServiceJob {
    ServiceJob { name: name.into(), workers: 10_000, ..ServiceJob::default() }
}

fn narrow(name: &str) -> ServiceJob {
    ServiceJob { name: name.into(), ..ServiceJob::default() }
}

fn job(services: Vec<ServiceJob>) -> Job {
    Job { services, requests: 20_000, warmup: 2_000, ..Job::default() }
}

/// Six half-widths of 95 %: beyond ten sigma; and never wider than 5 % of the truth.
fn near(interval: Interval, truth: f64) -> bool {
    let half = (interval.hi - interval.lo) / 2.0;
    half < 0.05 * truth && (interval.mid - truth).abs() <= 3.0 * half + 1e-3 * truth
}

fn mean(job: &Job) -> Interval {
    let result = run(job).unwrap();
    assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
    result.intervals.mean.unwrap()
}

#[test]
fn a_fan_out_waits_for_the_slowest_of_n_exponentials() {
    for copies in [1_u32, 5, 20] {
        let client = Call { copies, ..Call::default() };
        let result = run(&Job { client, ..job(vec![wide("leaf")]) }).unwrap();
        let harmonic: f64 = (1..=copies).map(|i| 1.0 / f64::from(i)).sum();
        assert!(near(result.intervals.mean.unwrap(), harmonic * UNIT_NS), "{copies}");
        let p99 = max_of(copies, 0.99, |q| -(-q).ln_1p()) * UNIT_NS;
        assert!(
            near(result.intervals.p99.unwrap(), p99),
            "{copies}: {p99} {:?}",
            result.intervals.p99
        );
    }
}

/// The first of n is exponential of n times the rate; two of three are 1/3 + 1/2.
#[test]
fn a_quorum_waits_for_as_many_as_it_needs() {
    for (copies, need, units) in [(2, 1, 0.5), (3, 2, 1.0 / 3.0 + 0.5), (3, 3, 11.0 / 6.0)] {
        let client = Call { copies, need, ..Call::default() };
        let result = mean(&Job { client, ..job(vec![wide("leaf")]) });
        assert!(near(result, units * UNIT_NS), "{copies} {need}: {result:?}");
    }
}

/// Two queues that get the same arrivals: (12 − ρ)/8 of the time in one (Flatto and Hahn 1984; Nelson
/// and Tantawi 1988). Independent queues would give another number: 1.5.
#[test]
fn two_shards_with_queues_are_a_fork_and_join() {
    let shards = ServiceJob { instances: 2, pick: "each".into(), ..narrow("shard") };
    for rho in [0.3, 0.6] {
        let client = Call { copies: 2, ..Call::default() };
        let rate = format!("{}", rho * 100.0);
        let result = mean(&Job { client, rate, requests: 60_000, ..job(vec![shards.clone()]) });
        let truth = (12.0 - rho) / 8.0 / (1.0 - rho) * UNIT_NS;
        assert!(near(result, truth), "{rho}: {truth} {result:?}");
    }
}

/// Three queues in a row are three M/M/1 (Burke 1956, Jackson 1957), equal ones an Erlang of three.
#[test]
fn a_chain_is_the_sum_of_its_queues() {
    let calling = |name: &str, next: &str| ServiceJob { calls: vec![to(next)], ..narrow(name) };
    let chain = vec![calling("front", "middle"), calling("middle", "back"), narrow("back")];
    let result = run(&Job { requests: 60_000, ..job(chain) }).unwrap();
    assert!(near(result.intervals.mean.unwrap(), 3.0 / 0.5 * UNIT_NS));
    let p99 = 8.405_95 / 0.5 * UNIT_NS; // of an Erlang(3, 1): 1 − e^−x (1 + x + x²/2) = 0.99
    assert!(near(result.intervals.p99.unwrap(), p99), "{p99} {:?}", result.intervals.p99);
    assert!(result.services.iter().all(|one| (one.utilisation - 0.5).abs() < 0.02));
}

/// A reply that is an error is asked for again, at the end of the queue: Bernoulli feedback. The number
/// in the system is that of one visit with the sum of all services (Takács 1963).
#[test]
fn retries_of_errors_are_a_queue_with_feedback() {
    let p = 0.3;
    for (service, scv) in [("exponential:10", 1.0), ("fixed:10", 0.0)] {
        let client = Call { fails: p, retries: 1_000_000, ..Call::default() };
        let one = ServiceJob { service: service.into(), ..narrow("service") };
        let result = mean(&Job { client, rate: "50".into(), requests: 60_000, ..job(vec![one]) });
        let (lambda, sum) = (0.5, 1.0 / (1.0 - p));
        // Of a geometric number of services: mean n, variance n·scv + p/(1 − p)².
        let second = sum * sum + sum * scv + p / (1.0 - p) / (1.0 - p);
        let rho = lambda * sum;
        let number = rho + lambda * lambda * second / (2.0 * (1.0 - rho));
        let truth = number / lambda * UNIT_NS;
        assert!(near(result, truth), "{service}: {truth} {result:?}");
    }
}

#[test]
fn errors_beyond_the_last_retry_are_lost() {
    for retries in [0, 2] {
        let client = Call { fails: 0.2, retries, ..Call::default() };
        let result = run(&Job { client, ..job(vec![wide("service")]) }).unwrap();
        let truth = 1.0 - 0.2_f64.powi(retries as i32 + 1);
        assert!(near(result.answered, truth), "{retries}: {truth} {:?}", result.answered);
        let sent: f64 = (0..=retries).map(|k| 0.2_f64.powi(k as i32)).sum();
        assert!((result.services[0].per_request / sent - 1.0).abs() < 0.01);
    }
}

/// C26: five calls that each make it within their p99 all do in 0.99⁵ of the requests.
#[test]
fn five_calls_within_their_p99_are_95_percent() {
    let timeout = format!("{}ns", (100.0_f64.ln() * UNIT_NS) as u64);
    let client = Call { copies: 5, timeout, ..Call::default() };
    let result = run(&Job { client: client.clone(), ..job(vec![wide("leaf")]) }).unwrap();
    assert!(near(result.answered, 0.99_f64.powi(5)), "{:?}", result.answered);
    // One retry of each: 0.9999⁵.
    let client = Call { retries: 1, ..client };
    let result = run(&Job { client, ..job(vec![wide("leaf")]) }).unwrap();
    assert!(near(result.answered, 0.9999_f64.powi(5)), "{:?}", result.answered);
    assert!((result.services[0].timeouts - 0.0101).abs() < 0.001);
    assert!((result.services[0].retries - 0.01).abs() < 0.001);
}

/// Closed form of `closed/hedge.rs`: two exponentials, the second one later.
#[test]
fn a_hedge_is_the_faster_of_two() {
    for share in [0.05_f64, 0.5] {
        let delay_ns = -share.ln() * UNIT_NS;
        let client = Call { hedge: format!("{}ns", delay_ns as u64), ..Call::default() };
        let result = run(&Job { client, ..job(vec![wide("service")]) }).unwrap();
        let above = |t: f64| (-t / UNIT_NS).exp();
        let (p99, extra) = hedged(0.99, delay_ns, above);
        assert!(near(result.intervals.p99.unwrap(), p99), "{share}: {p99}");
        assert!((result.services[0].hedges / extra - 1.0).abs() < 0.05);
        // E(min(X, d + Y)) = 1 − e^−d/2.
        assert!(near(result.intervals.mean.unwrap(), (1.0 - share / 2.0) * UNIT_NS));
    }
}

/// A worker that waits for the call is busy for both: M/M/1 of two stages' time, not two queues.
#[test]
fn a_worker_that_holds_serves_nobody_meanwhile() {
    let front = ServiceJob { holds: true, calls: vec![to("back")], ..narrow("front") };
    let rate = "30".to_string(); // ρ = 0.3 · 2
    let result = mean(&Job { rate, requests: 60_000, ..job(vec![front, wide("back")]) });
    // M/G/1: mean 2, second moment 4 + 2 (Pollaczek and Khinchine).
    let truth = (2.0 + 0.3 * 6.0 / (2.0 * 0.4)) * UNIT_NS;
    assert!(near(result, truth), "{truth} {result:?}");
}

#[test]
fn same_job_same_bytes() {
    let job = Job { requests: 500, ..job(vec![narrow("a")]) };
    let text = |job: &Job| serde_json::to_string(&run(job).unwrap()).unwrap();
    assert_eq!(text(&job), text(&job));
    assert_ne!(text(&job), text(&Job { seed: 2, ..job.clone() }));
}
