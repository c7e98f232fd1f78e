//! The test's own numbers against sums and literature, and its error rates by simulation.

use sojourn_base::rng::{Rng, RngExt as _, stream};

use super::*;

/// Windows of one request each: as fine as can be.
fn windows(k: Vec<u64>) -> MissWindows {
    MissWindows { length_ns: 1, n: vec![1; k.len()], k, ..MissWindows::default() }
}

/// So many requests, and misses far apart.
fn spread(requests: usize, misses: usize) -> MissWindows {
    let mut k = vec![0; requests];
    (0..misses).for_each(|nth| k[(2 * nth + 1) * requests / (2 * misses)] = 1);
    windows(k)
}

fn says(windows: &MissWindows, q: f64) -> Says {
    Sample::of(windows, q).says()
}

/// P(X ≤ misses) of a binomial, term by term.
fn summed(misses: u64, requests: u64, share: f64) -> f64 {
    let mut term = (1.0 - share).powf(requests as f64);
    (0..=misses)
        .map(|k| {
            let now = term;
            term *= (requests - k) as f64 / (k + 1) as f64 * share / (1.0 - share);
            now
        })
        .sum()
}

#[test]
fn tails_are_those_of_the_binomial_term_by_term() {
    for (misses, requests, share) in [
        (0, 299, 0.01),
        (1, 473, 0.01),
        (10, 2010, 0.01),
        (3, 30, 0.03),
        (29, 30, 0.9),
        (2, 3, 0.5),
    ] {
        let (m, n) = (misses as f64, requests as f64);
        let sum = summed(misses, requests, share);
        assert!((at_most(m, n, share) - sum).abs() < 1e-10, "{misses} of {requests}");
        let above = 1.0 - if misses > 0 { summed(misses - 1, requests, share) } else { 0.0 };
        assert!((at_least(m, n, share) - above).abs() < 1e-10, "{misses} of {requests}");
    }
    assert_eq!((at_most(5.0, 5.0, 0.2), at_least(0.0, 5.0, 0.2)), (1.0, 1.0));
    assert_eq!((at_most(1.0, 5.0, 1.0), at_least(1.0, 5.0, 0.0)), (0.0, 0.0));
}

/// `MLPerf`'s early stopping, 99 %: 459, 662 and 2,010 requests with 0, 1 and 10 misses (METHOD M12);
/// and the rule of three at 95 %: 299 for p99, 2,995 for p99.9.
#[test]
fn smallest_samples_that_pass_are_those_of_the_literature() {
    let smallest = |misses: u64, share: f64, level: f64| {
        (misses + 1..100_000).find(|&n| at_most(misses as f64, n as f64, share) <= level).unwrap()
    };
    assert_eq!([0, 1, 10].map(|k| smallest(k, 0.01, 0.01)), [459, 662, 2010]);
    assert_eq!((smallest(0, 0.01, 0.05), smallest(0, 0.001, 0.05)), (299, 2995));
}

#[test]
fn fewer_requests_than_m10_asks_decide_only_what_chance_cannot() {
    assert_eq!(says(&spread(562, 0), 0.99), Says::Open);
    assert_eq!(says(&spread(563, 0), 0.99), Says::Holds);
    assert_eq!(says(&spread(5660, 0), 0.999), Says::Open);
    assert_eq!(says(&spread(5661, 0), 0.999), Says::Holds);
    for misses in 0..=3 {
        assert_eq!(says(&spread(30, misses), 0.99), Says::Open, "{misses} of 30");
    }
    assert_eq!(says(&spread(30, 30), 0.99), Says::Violated, "it answers none in time");
    assert_eq!(says(&spread(30, 15), 0.99), Says::Violated);
}

#[test]
fn the_number_asked_for_is_the_one_that_decides() {
    for (requests, misses) in [(30, 0), (300, 0), (600, 3), (2000, 14), (2000, 26)] {
        let sample = Sample::of(&spread(requests, misses), 0.99);
        let needed = sample.needed().unwrap();
        let factor = needed as f64 / requests as f64;
        let grown = |factor: f64| Sample {
            requests: sample.requests * factor,
            misses: sample.misses * factor,
            ..sample
        };
        assert_ne!(grown(factor).says(), Says::Open, "{misses} of {requests}: {needed}");
        let less = (needed - 1) as f64 / requests as f64;
        assert_eq!(grown(less).says(), Says::Open, "{misses} of {requests}: {needed}");
    }
    assert_eq!(Sample::of(&spread(30, 0), 0.99).needed(), Some(563));
    assert_eq!(Sample::of(&spread(20_000, 200), 0.99).needed(), None, "just at the bound");
}

#[test]
fn the_interval_has_the_ends_at_which_the_test_turns() {
    let report = Sample::of(&spread(2000, 10), 0.99).report();
    let (n, k) = (2000.0 / report.together, 10.0 / report.together);
    assert!((at_most(k, n, report.share[1]) - LEVEL).abs() < 1e-6, "{report:?}");
    assert!((at_least(k, n, report.share[0]) - LEVEL).abs() < 1e-6, "{report:?}");
    assert!(report.share[0] < 0.005 && 0.005 < report.share[1]);
    assert_eq!(Sample::of(&spread(2000, 0), 0.99).report().share[0], 0.0);
}

/// Misses one by one, or `size` (geometric around it) in a row, of a true share of `share`.
fn drawn(rng: &mut Rng, requests: usize, share: f64, size: f64) -> MissWindows {
    let mut k = vec![0; requests];
    // A group begins after a hit, so that groups and gaps are geometric: mean `size`, and the share holds.
    let begins = share / size / (1.0 - share);
    let mut is_missing = rng.random::<f64>() < share;
    for one in &mut k {
        *one = u64::from(is_missing);
        let draw = rng.random::<f64>();
        is_missing = if is_missing { draw >= 1.0 / size } else { draw < begins };
    }
    windows(k)
}

/// Of 2000 runs with a true share just beyond the allowed one, how many say holds; and just within it,
/// violated.
fn wrong(requests: usize, q: f64, size: f64) -> (f64, f64) {
    let mut rng = stream(7, "sample", requests as u64);
    let runs = 2000;
    let mut count = |share: f64, wrong: Says| {
        let is_wrong = |_: &i32| says(&drawn(&mut rng, requests, share, size), q) == wrong;
        (0..runs).filter(is_wrong).count() as f64 / f64::from(runs)
    };
    (count((1.0 - q) * 1.001, Says::Holds), count((1.0 - q) * 0.999, Says::Violated))
}

/// Independent misses: at most 5 % of runs are wrong on either side, whatever the size of the sample.
#[test]
fn independent_misses_are_judged_wrong_in_5_of_100_runs_at_most() {
    for requests in [30, 100, 300, 563, 1000, 3000, 10_000] {
        let (holds, violated) = wrong(requests, 0.99, 1.0);
        assert!(holds < 0.06 && violated < 0.06, "{requests}: {holds} {violated}");
    }
}

/// Misses in groups of 10 on average: the same where a run has five groups or more to expect.
#[test]
fn misses_in_groups_are_judged_wrong_no_oftener_once_groups_are_seen() {
    for requests in [5_000, 10_000, 30_000] {
        let (holds, violated) = wrong(requests, 0.99, 10.0);
        assert!(holds < 0.06 && violated < 0.06, "{requests}: {holds} {violated}");
    }
}

/// The rule is no refusal of everything: twice or half the allowed share is told from some thousand.
#[test]
fn what_is_far_from_the_bound_is_reported() {
    let mut rng = stream(8, "sample", 0);
    let mut decided = |requests, share, size, right: Says| {
        (0..200).filter(|_| says(&drawn(&mut rng, requests, share, size), 0.99) == right).count()
    };
    assert!(decided(3000, 0.003, 1.0, Says::Holds) > 150);
    assert!(decided(3000, 0.03, 1.0, Says::Violated) > 190);
    assert!(decided(60_000, 0.003, 10.0, Says::Holds) > 150);
    assert!(decided(60_000, 0.03, 10.0, Says::Violated) > 150);
}

#[test]
fn a_sample_that_goes_on_as_one_group_counts_as_few() {
    let mut k = vec![0; 20_000];
    k[19_700..].fill(1); // the last 1.5 %, as one stall leaves them
    assert_eq!(says(&windows(k.clone()), 0.99), Says::Open);
    k[10_000..].fill(1); // from the middle on: it fell behind
    assert_eq!(says(&windows(k), 0.99), Says::Violated);
}

#[test]
fn a_short_run_may_miss_a_stall_and_a_long_one_not() {
    assert!(unseen(0.99, 20_000_000, 2_000_000_000).is_some());
    let apart_ns = unseen(0.99, 20_000_000, 5_900_000_000).unwrap();
    assert!(
        (summed(0, 1000, 5.9e9 / apart_ns / 1000.0) - 0.05).abs() < 1e-3,
        "1 in 20 runs has none"
    );
    assert_eq!(unseen(0.99, 20_000_000, 6_100_000_000), None);
}
