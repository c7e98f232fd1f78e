//! What callers do about copies: a hedge beside its first, and calls that no one waits for.

use super::*;

/// Two calls at once fill the worker (10 ms) and the queue of one, so both hedges after 5 ms are
/// refused. The first copies are answered all the same, after 10 and 20 ms.
#[test]
fn a_hedge_that_is_refused_does_not_end_the_first_copy() {
    let client = Call { copies: 2, hedge: "5ms".into(), ..Call::default() };
    let one = ServiceJob { service: "fixed:10".into(), queue_max: 1, ..narrow("a") };
    let (arrivals, rate) = ("fixed".into(), "10".into());
    let small = Job { requests: 1000, warmup: 0, runs: 2, ..job(vec![one]) };
    let result = run(&Job { arrivals, rate, client, ..small }).unwrap();
    assert_eq!((result.answered.mid, result.sojourn_ns.lost), (1.0, 0));
    assert!((result.sojourn_ns.mean.unwrap() - 2.0 * UNIT_NS).abs() < 10.0);
    assert!((result.services[0].refused - 0.5).abs() < 0.01, "{}", result.services[0].refused);
}

/// Half of the replies are errors. An attempt of two copies fails if both do.
#[test]
fn an_attempt_with_a_hedge_fails_with_the_last_of_its_copies() {
    let client = Call { fails: 0.5, hedge: "5ms".into(), ..Call::default() };
    let one = ServiceJob { service: "fixed:10".into(), ..wide("a") };
    let result = run(&Job { client, ..job(vec![one]) }).unwrap();
    assert!(near(result.answered, 0.75), "{:?}", result.answered);
}

/// One of two replies is enough, so only if both are late (e⁻² each) is any call sent again. The
/// second reply is of no use: one of two, or three of four where calls were sent again.
#[test]
fn calls_that_no_one_waits_for_are_not_sent_again() {
    let client = Call { copies: 2, need: 1, timeout: "20ms".into(), retries: 1, ..Call::default() };
    let result = run(&Job { client, ..job(vec![wide("a")]) }).unwrap();
    let (late, got) = ((-4.0_f64).exp(), &result.services[0]);
    assert!((got.retries - late).abs() < 0.002, "{}", got.retries);
    assert!((got.per_request - 2.0 * (1.0 + late)).abs() < 0.005, "{}", got.per_request);
    let wasted = (1.0 + 2.0 * late) / (2.0 * (1.0 + late));
    assert!((got.wasted - wasted).abs() < 0.01, "{} {wasted}", got.wasted);
}
