use sojourn_base::rng::{self, RngExt as _};

use super::*;

/// A queue that serves one request after another, and is held up now and then: times in ns, ascending.
fn queue(load: f64, step_ns: f64, steps: usize, seconds: f64) -> Vec<f64> {
    let mut rng = rng::stream(6, "queue", 0);
    let mut exponential = |mean: f64| -mean * rng::open_unit(&mut rng).ln();
    let (length_ns, service_ns) = (seconds * 1e9, 20_000.0);
    let every_ns = length_ns / (steps as f64 + 1.0);
    let (mut now, mut free, mut next, mut times) = (0.0, 0.0_f64, every_ns, Vec::new());
    while now < length_ns {
        now += exponential(service_ns / load);
        while steps > 0 && next <= now {
            free = free.max(next) + step_ns;
            next += every_ns;
        }
        free = free.max(now) + exponential(service_ns);
        times.push(free - now);
    }
    times.sort_by(f64::total_cmp);
    times
}

fn totals(times: &[f64]) -> Vec<u64> {
    let mut totals = vec![0; bins::TOTAL.count()];
    for ns in times {
        totals[bins::TOTAL.of(*ns as u64)] += 1;
    }
    totals
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

fn at(times: &[f64], q: f64) -> f64 {
    times[(q * times.len() as f64) as usize]
}

/// What the estimate says of a queue that is known without steps, and what steps really do to it.
#[test]
fn what_steps_do_to_a_queue_is_foreseen() {
    let seconds = 20.0;
    for (load, step_us, steps) in
        [(0.5, 150.0, 800), (0.5, 2600.0, 80), (0.8, 500.0, 400), (0.3, 5000.0, 100)]
    {
        let (without, with) =
            (queue(load, 0.0, 0, seconds), queue(load, step_us * 1e3, steps, seconds));
        let mut stalls = Stalls::default();
        (0..steps).for_each(|_| stalls.add((step_us * 1e3) as u64));
        let totals = totals(&without);
        let seen = Seen {
            totals: &totals,
            mean_ns: mean(&without),
            busy: load,
            inside: 0.0,
            longer: (1.0, 1.0),
            elapsed_ns: seconds * 1e9,
        };
        let cost = stalls.cost(&seen);
        let truths = [mean(&with) / mean(&without), at(&with, 0.99) / at(&without, 0.99)];
        let text = [cost.mean_ratio.unwrap(), cost.p99_ratio.unwrap()];
        for (truth, text) in truths.into_iter().zip(text) {
            let is_near = (text - 1.0) / (truth - 1.0).max(0.05);
            assert!(
                (0.6..1.5).contains(&is_near) || (text - truth).abs() < 0.05,
                "{load} {step_us} {steps}: {truths:?} {cost:?}"
            );
        }
    }
}

fn cost(step_us: u64, steps: u64, inside: f64, longer: (f64, f64)) -> TailCost {
    let mut rng = rng::stream(7, "cost", 0);
    let times: Vec<f64> = (0..50_000).map(|_| 40_000.0 + 40_000.0 * rng.random::<f64>()).collect();
    let mut stalls = Stalls::default();
    (0..steps).for_each(|_| stalls.add(step_us * 1000));
    stalls.cost(&Seen {
        totals: &totals(&times),
        mean_ns: mean(&times),
        busy: 0.5,
        inside,
        longer,
        elapsed_ns: 1e10,
    })
}

/// The same time in steps hurts no one in small pieces, and the tail in large ones.
#[test]
fn small_steps_are_not_noticed_and_large_ones_are() {
    let (small, large) = (cost(10, 6000, 0.0, (1.0, 1.0)), cost(3000, 20, 0.0, (1.0, 1.0)));
    assert!((small.steps_ratio - large.steps_ratio).abs() < 1e-9);
    assert_eq!((small.steps, large.longest_ns), (6000, 3_000_000));
    assert_eq!(small.warning(), None, "{small:?}");
    let warning = large.warning().unwrap();
    assert!(warning.contains("p99.9 ×") && warning.contains("--cost"), "{warning}");
}

#[test]
fn windows_without_steps_count_by_their_share_of_the_time() {
    let cost = cost(0, 0, 0.1, (1.2, 1.2));
    assert!((cost.mean_ratio.unwrap() - 1.02).abs() < 1e-9, "{cost:?}");
    let p99 = cost.p99_ratio.unwrap();
    assert!((1.02..1.2).contains(&p99), "a tenth of the requests is a fifth longer: {p99}");
    assert_eq!(cost.steps_ratio, 0.0);
}

#[test]
fn a_quantile_with_too_few_requests_above_is_not_stated() {
    let few = |n: u64| {
        let mut totals = vec![0; bins::TOTAL.count()];
        totals[bins::TOTAL.of(50_000)] = n;
        let mut stalls = Stalls::default();
        stalls.add(1_000_000);
        stalls.cost(&Seen {
            totals: &totals,
            mean_ns: 50_000.0,
            busy: 0.5,
            inside: 0.0,
            longer: (1.0, 1.0),
            elapsed_ns: 1e9,
        })
    };
    let text = |n| [few(n).p99_ratio.is_some(), few(n).p999_ratio.is_some()];
    assert_eq!([text(999), text(1000), text(10_000)], [[false; 2], [true, false], [true; 2]]);
}

#[test]
fn where_nothing_was_seen_nothing_is_reported() {
    let totals = vec![0; bins::TOTAL.count()];
    let seen = Seen {
        totals: &totals,
        mean_ns: 0.0,
        busy: 0.0,
        inside: 0.1,
        longer: (1.0, 1.0),
        elapsed_ns: 1e9,
    };
    let cost = Stalls::default().cost(&seen);
    assert_eq!((cost.mean_ratio, cost.p99_ratio, cost.p999_ratio), (None, None, None));
    assert_eq!(cost.warning(), None);
}
