use super::*;
use crate::closed::{MmN, max_of};
use crate::fleet::job::Level;

fn small() -> Job {
    Job { servers: 600, load_by_hour: vec![0.7], roots: 40_000, ..Job::default() }
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let job = Job {
        servers: 700,
        load_by_hour: vec![0.2, 0.6],
        imbalance_cv: 0.2,
        placement: "random:0.5".into(),
        neighbour_slowdown: 1.3,
        roots: 3000,
        ..Job::default()
    };
    let bytes = |threads| serde_json::to_string(&run(&job, threads).unwrap()).unwrap();
    let one = bytes(1);
    assert_eq!(one, bytes(2));
    assert_eq!(one, bytes(5));
}

/// One level of 5: the p95 is the largest of five independent sojourn times of an M/M/12.
#[test]
fn the_root_waits_for_the_slowest() {
    let tree = vec![Level { name: "leaf".into(), fanout: 5, scale: 1.0 }];
    let found = run(&Job { tree, ..small() }, 2).unwrap();
    let queue = MmN::new(0.7 * 12.0 / 10_900.0, 10_900.0, 12).unwrap();
    let known = max_of(5, 0.95, |q| queue.sojourn_quantile(q));
    let got = found.root_ns.p95.unwrap() as f64;
    assert!((got / known - 1.0).abs() < 0.02, "{got} {known}");
    let mean = found.server_ns.mean.unwrap();
    assert!((mean / queue.mean_sojourn() - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn neighbours_use_what_the_table_says_and_slow_the_service() {
    let all = run(&Job { placement: "all".into(), neighbour_slowdown: 1.2, ..small() }, 2).unwrap();
    let none = run(&small(), 2).unwrap();
    assert!((all.hours[0].neighbour_throughput - 0.18).abs() < 1e-9);
    assert_eq!(none.hours[0].neighbour_throughput, 0.0);
    assert!(all.server_ns.p95 > none.server_ns.p95);
}

#[test]
fn throughput_between_points_is_on_the_line() {
    let job = Job::default();
    assert!((job.throughput_at(0.2) - 0.61).abs() < 1e-12);
    assert_eq!((job.throughput_at(0.0), job.throughput_at(1.0)), (0.75, 0.20));
}

#[test]
fn more_than_a_server_can_do_is_unknown_and_mistakes_are_named() {
    let over = Job { placement: "all".into(), neighbour_slowdown: 1.5, ..small() };
    assert_eq!(run(&over, 2).unwrap().verdict, Verdict::Unknown);
    let wrong = |change: fn(&mut Job)| {
        let mut job = small();
        change(&mut job);
        run(&job, 1).unwrap_err()
    };
    assert!(wrong(|j| j.load_by_hour = vec![1.0]).fix.contains("unstable"));
    assert!(wrong(|j| j.platforms[0].share = 0.5).what.contains("0.5"));
    assert!(wrong(|j| j.platforms[0].price_usd = -1.0).what.contains("-1"));
    assert!(wrong(|j| j.placement = "al".into()).fix.contains("all"));
}
