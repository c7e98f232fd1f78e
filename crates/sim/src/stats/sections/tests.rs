use super::*;
use sojourn_base::rng::{open_unit, stream};

/// Hits of 200 that a true 95 % allows: two-sided binomial, 1 % in all.
/// P(X < 181) = 0.3 %, P(X > 197) = 0.4 %: 200 of 200 are too many.
const HITS: std::ops::RangeInclusive<u32> = 181..=197;

fn binomial_pmf(n: u32, k: u32, p: f64) -> f64 {
    let choose = (1..=k).fold(1.0, |c, i| c * f64::from(n - k + i) / f64::from(i));
    choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
}

#[test]
fn the_region_of_acceptance_is_the_binomials() {
    let mass = |range: std::ops::Range<u32>| range.map(|k| binomial_pmf(200, k, 0.95)).sum::<f64>();
    assert!(mass(0..*HITS.start()) < 0.005 && mass(0..*HITS.start() + 1) > 0.005);
    assert!(mass(*HITS.end() + 1..201) < 0.005 && mass(*HITS.end()..201) > 0.005);
}

/// Independent exponentials: each request is its own busy cycle.
fn exponentials(seed: u64, requests: u64) -> Summary {
    let mut rng = stream(seed, "cover", 0);
    let mut sections = Sections::new(requests);
    for _ in 0..requests {
        sections.begin_cycle(0);
        sections.add(0, (-open_unit(&mut rng).ln() * 1e6).round() as u64);
    }
    sections.finish()
}

/// A wrong sign, a wrong t, a missing root: each leaves the region, to either side.
#[test]
fn intervals_cover_the_truth_as_often_as_they_say_and_no_more() {
    let mut covered = [0_u32; 4];
    let log = |x: f64| 1e6 * x.ln();
    let truth = [1e6, log(2.0), log(20.0), log(100.0)];
    for seed in 0..200 {
        let result = exponentials(seed, 20_000).intervals;
        let intervals = [result.mean, result.p50, result.p95, result.p99];
        for (hits, (interval, truth)) in covered.iter_mut().zip(intervals.into_iter().zip(truth)) {
            *hits += u32::from(interval.unwrap().contains(truth));
        }
    }
    assert!(
        covered.iter().all(|hits| HITS.contains(hits)),
        "{covered:?} of 200, {HITS:?} accepted"
    );
}

/// Known widths: sd/√n of the mean; √(q(1−q)/n) over the density at the quantile. The sample's own
/// width scatters by 1/√(2·31) = 13 %, its mean over 40 runs by 2 %: 8 % are four sigma.
#[test]
fn intervals_are_as_wide_as_theory_says() {
    let (runs, requests) = (40, 20_000_u64);
    let result: Vec<Intervals> = (0..runs).map(|s| exponentials(s, requests).intervals).collect();
    let mean_half = |of: fn(&Intervals) -> Option<Interval>| {
        result.iter().map(|i| of(i).map(|i| (i.hi - i.lo) / 2.0).unwrap()).sum::<f64>()
            / f64::from(runs as u32)
    };
    let root = (requests as f64).sqrt();
    for (got, sd) in [
        (mean_half(|i| i.mean), 1e6),
        (mean_half(|i| i.p50), 1e6),
        (mean_half(|i| i.p95), 1e6 * (0.95_f64 / 0.05).sqrt()),
    ] {
        let want = T_95 * sd / root;
        assert!((got / want - 1.0).abs() < 0.08, "four sigma: {got} {want}");
    }
}

#[test]
fn the_middle_of_an_interval_is_the_value_of_all_requests() {
    let result = exponentials(1, 20_000);
    let (mean, p95) = (result.intervals.mean.unwrap(), result.intervals.p95.unwrap());
    assert_eq!(Some(mean.mid), result.span.mean);
    assert!((p95.mid / result.span.p95.unwrap() as f64 - 1.0).abs() < 2e-3, "two bins");
    assert!(p95.lo < p95.mid && p95.hi - p95.mid > p95.mid - p95.lo, "further up than down");
}

/// 6,400 requests in one crowd of 100 each: 64 busy cycles, whatever the number of requests.
#[test]
fn crowds_count_once_so_a_number_that_few_of_them_carry_has_no_interval() {
    let carried = |crowd: u64| {
        let mut sections = Sections::new(64_000);
        for index in 0..64_000_u64 {
            if index % crowd == 0 {
                sections.begin_cycle(0);
            }
            sections.add(0, 1 + index * 7919 % 64_000);
        }
        sections.finish().intervals
    };
    let alone = carried(1);
    assert!(alone.p99.is_some() && alone.mean.is_some(), "640 carry the p99");
    assert!(alone.p999.is_none() && alone.unknown.len() == 2, "64 the p99.9, 6 the p99.99");
    assert!(alone.unknown[0].starts_with("p999: carried by 6"), "{:?}", alone.unknown);
    let crowds = carried(1000);
    assert!(crowds.mean.is_none() && crowds.p50.is_none(), "64 carry all");
    assert_eq!(crowds.unknown.len(), 7);
}

#[test]
fn lost_requests_leave_every_number_without_an_interval() {
    let mut sections = Sections::new(32_000);
    (0..31_999).for_each(|ns| {
        sections.begin_cycle(0);
        sections.add(0, ns);
    });
    sections.add_lost();
    let result = sections.finish().intervals;
    assert!(result.mean.is_none() && result.p50.is_none());
    assert!(result.unknown[0].contains("lost"));
}

#[test]
fn a_run_shorter_than_its_plan_has_no_interval() {
    let mut sections = Sections::new(64_000);
    (0..32_000).for_each(|ns| {
        sections.begin_cycle(0);
        sections.add(0, ns);
    });
    assert!(sections.finish().intervals.mean.is_none());
}

/// Neighbours of a rising series agree; of an alternating one they differ; known by hand.
#[test]
fn correlation_of_neighbours_is_the_textbooks() {
    assert!((lag_1(&[1.0, 2.0, 3.0, 4.0]) - 0.25).abs() < 1e-12);
    assert!((lag_1(&[1.0, -1.0, 1.0, -1.0]) + 0.75).abs() < 1e-12);
    assert_eq!(lag_1(&[2.0, 2.0, 2.0]), 0.0);
}

#[test]
fn a_drift_through_the_run_is_doubted() {
    let mut sections = Sections::new(32_000);
    (0..32_000).for_each(|ns| sections.add(0, ns));
    let result = sections.finish();
    assert!(result.lag_1 > 0.8 && result.doubts[0].contains("not independent"));
    assert!(exponentials(2, 32_000).doubts.is_empty());
}

/// t · √(Σ (v − mid)² / (n (n − 1))): of 1 and 3 around 2 it is t, around 5 √10 of it.
#[test]
fn half_a_width_is_student_s() {
    assert!((half_width(2.0, &[1.0, 3.0]) - T_95).abs() < 1e-12);
    assert!((half_width(5.0, &[1.0, 3.0]) - T_95 * 10_f64.sqrt()).abs() < 1e-9);
    let result = around(7.0, 2.0);
    assert_eq!((result.lo, result.mid, result.hi), (5.0, 7.0, 9.0));
}

/// Half as many again as are needed: what is asked for then suffices.
#[test]
fn too_few_cycles_say_how_many_times_the_requests_would_do() {
    for (share, times) in [(1, 2), (2, 3), (3, 5), (10, 15)] {
        let words = too_few("p99", CARRIERS_MIN / share);
        assert!(
            words.ends_with(&format!("{CARRIERS_MIN} needed; {times} × the requests")),
            "{words}"
        );
    }
    assert!(too_few("p99", 0).contains("carried by 0 busy cycles"));
}
