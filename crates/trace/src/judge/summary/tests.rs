use super::*;
use crate::judge::result::VerdictWord;
use crate::reconstruct::record::Record;
use crate::reconstruct::record::tests::record;
use crate::reconstruct::stages::COUNT;

/// Request i of 1..=1000 takes i µs of batch wait and 1 µs of application.
fn counts() -> Counts {
    let mut rows = BTreeMap::<usize, Row>::new();
    let mut totals = vec![0; bins::TOTAL.count()];
    for i in 1..=1000 {
        let mut stage_ns = [0; COUNT];
        (stage_ns[8], stage_ns[14]) = (i * 1000, 1000);
        let total_ns = (i + 1) * 1000;
        let record = Record { stage_ns, imbalance_ns: i * 500, ..record(total_ns) };
        rows.entry(bins::row_of(total_ns)).or_default().add(&record);
        totals[bins::TOTAL.of(total_ns)] += 1;
    }
    Counts { rows: rows.into_iter().collect(), totals, ..Counts::default() }
}

#[test]
fn stages_and_residual_add_to_the_total() {
    let all = counts().from_row(0);
    let sum: f64 = stages(&all).iter().map(|s| s.times.mean_ns.unwrap()).sum();
    let total = total_times(&all, &counts().totals).mean_ns.unwrap();
    assert!((sum + stage_times(&all, RESIDUAL).mean_ns.unwrap() - total).abs() < 1e-6);
    let shares: f64 = groups(&all).iter().map(|g| g.share).sum();
    let causes: f64 = causes(&all).iter().map(|c| c.share).sum();
    assert!((shares - 1.0).abs() < 1e-9 && (causes - 1.0).abs() < 1e-9);
}

#[test]
fn imbalance_is_taken_out_of_queuing() {
    let list = causes(&counts().from_row(0));
    let of = |cause| list.iter().find(|c| c.cause == cause).unwrap().share;
    assert!((of(Cause::Imbalance) - of(Cause::Queuing)).abs() < 1e-9, "half of it each");
}

#[test]
fn a_tail_holds_the_slowest_and_says_how_many() {
    let tail = tail(&counts(), 0.99);
    assert!((10..=80).contains(&tail.requests), "one row more at most: {}", tail.requests);
    assert!(tail.from_ns <= 991_000);
    assert!(tail.total.mean_ns.unwrap() > 900_000.0);
    let answer = |word, reason: &str| {
        let reasons = vec![reason.to_owned()];
        answer(&tail, &Verdict { verdict: word, reasons, unmatched_max: 0.0, residual_max: 0.0 })
    };
    let named = answer(VerdictWord::Holds, "");
    assert!(named.contains("batch_wait"), "{named}");
    let unknown = answer(VerdictWord::Unknown, "5 records found the ring full");
    assert_eq!(unknown, "no cause is named: 5 records found the ring full");
}

#[test]
fn nothing_measured_is_no_number() {
    let tail = tail(&Counts::default(), 0.99);
    assert_eq!((tail.requests, tail.total.p99_ns, tail.total.mean_ns), (0, None, None));
}

#[test]
fn a_thread_that_sleeps_with_a_request_waits_and_does_not_work() {
    let at = |name: &str| STAGES.iter().position(|stage| stage.name == name).unwrap();
    let mut stage_ns = [0; COUNT];
    stage_ns[at("application")] = 200;
    stage_ns[at("wait_upstream")] = 700;
    stage_ns[at("wait_lock")] = 100;
    let mut row = Row::default();
    row.add(&Record { stage_ns, ..record(1000) });
    let list = causes(&row);
    let of = |cause| list.iter().find(|c| c.cause == cause).unwrap().share;
    assert_eq!((of(Cause::Waiting), of(Cause::Work)), (0.8, 0.2));
    assert_eq!(groups(&row).iter().find(|g| g.name == "waiting").unwrap().share, 0.8);
}
