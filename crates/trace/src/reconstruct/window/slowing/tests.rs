use super::*;

fn causes(shares: &[(Cause, f64)]) -> Vec<CauseShare> {
    shares.iter().map(|&(cause, share)| CauseShare { cause, mean_ns: None, share }).collect()
}

fn seen(cpu_ratio: f64, busy: f64, tail: &[(Cause, f64)]) -> Slowing {
    let estimate = Estimate { value: cpu_ratio, se: 0.01, n: 30 };
    slowing(Some(estimate), busy, &causes(&[(Cause::Work, 1.0)]), &causes(tail))
}

/// A simulated queue of one worker (M/M/1 by Lindley's recursion) with hooks and without: its mean wait
/// is longer by the factor that is found.
#[test]
fn the_wait_is_longer_by_what_a_queue_says() {
    use sojourn_base::rng;
    let wait = |service: f64| {
        let mut rng = rng::stream(3, "queue", 0);
        let (mut wait, mut sum) = (0.0_f64, 0.0);
        for _ in 0..2_000_000 {
            let (work, gap) = (-rng::open_unit(&mut rng).ln(), -rng::open_unit(&mut rng).ln());
            wait = (wait + service * work - gap).max(0.0);
            sum += wait;
        }
        sum
    };
    for (untraced, ratio) in [(0.3, 1.2), (0.5, 1.2), (0.6, 1.3)] {
        let truth = wait(untraced * ratio) / wait(untraced);
        let ratio_seen = seen(ratio, untraced * ratio, &[]).wait_ratio.unwrap();
        assert!(
            (ratio_seen / truth - 1.0).abs() < 0.03,
            "{untraced} {ratio}: {ratio_seen}, {truth}"
        );
    }
}

#[test]
fn a_tail_of_queuing_is_doubted_and_one_of_other_tasks_is_not() {
    let queued = seen(1.2, 0.6, &[(Cause::Queuing, 0.9), (Cause::Work, 0.1)]);
    // 1.44 · 0.5 ÷ 0.4 = 1.8; 1 ÷ (0.9 ÷ 1.8 + 0.1 ÷ 1.2) = 1.714.
    assert!((queued.wait_ratio.unwrap() - 1.8).abs() < 1e-9, "{queued:?}");
    assert!((queued.tail_ratio.unwrap() - 1.714).abs() < 1e-3, "{queued:?}");
    assert!((queued.mean_ratio.unwrap() - 1.2).abs() < 1e-9, "all of it is work");
    let doubt = queued.doubt().unwrap();
    assert!(doubt.contains("×1.71") && doubt.contains("client"), "{doubt}");
    let preempted = seen(1.2, 0.6, &[(Cause::Scheduling, 0.9), (Cause::Queuing, 0.1)]);
    assert!(preempted.tail_ratio.unwrap() < 1.05, "{preempted:?}");
    assert_eq!(preempted.doubt(), None);
    // The same tail at two loads: 1.44 · (1 − ρ ÷ 1.2) ÷ (1 − ρ) = 1.46 and 1.62.
    assert_eq!(seen(1.2, 0.08, &[(Cause::Queuing, 1.0)]).doubt(), None);
    assert!(seen(1.2, 0.43, &[(Cause::Queuing, 1.0)]).doubt().is_some());
}

#[test]
fn a_worker_without_idle_time_has_a_tail_of_no_known_length() {
    let full = seen(1.2, 0.99, &[(Cause::Queuing, 1.0)]);
    assert_eq!((full.wait_ratio, full.tail_ratio), (None, None));
    assert!(full.doubt().unwrap().contains("99 % busy"));
    let free = seen(1.0, 0.99, &[(Cause::Queuing, 1.0)]);
    assert_eq!((free.tail_ratio, free.doubt()), (Some(1.0), None), "hooks that cost nothing");
    let alone = seen(1.05, 0.99, &[(Cause::Scheduling, 0.5), (Cause::Work, 0.5)]);
    assert_eq!(alone.doubt(), None, "nothing waits behind others");
}

#[test]
fn noise_makes_nothing_faster_and_what_is_not_measured_is_doubted() {
    let faster = seen(0.9, 0.5, &[(Cause::Queuing, 1.0)]);
    assert_eq!((faster.cpu_ratio, faster.tail_ratio), (Some(0.9), Some(1.0)));
    let unknown = slowing(None, 0.0, &[], &[]);
    assert_eq!(unknown.tail_ratio, None);
    assert!(unknown.doubt().unwrap().contains("too little"));
}
