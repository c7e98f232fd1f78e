use super::*;

mod exact;
mod of_sessions;

fn asked() -> Workload {
    Workload {
        warmup_ns: 1_000_000_000,
        measured_ns: 2_000_000_000,
        rate: "20k".into(),
        arrivals: "poisson".into(),
        sessions: String::new(),
        popularity: "uniform".into(),
        items: 10_000,
        shares: vec![],
        threads: 1,
        seed: 42,
        requests_max: 64_000_000,
    }
}

#[test]
fn same_seed_same_plan_and_another_seed_another() {
    let first = asked().draw(0).unwrap();
    assert_eq!(first.intended_ns, asked().draw(0).unwrap().intended_ns);
    assert_eq!(first.item, asked().draw(0).unwrap().item);
    let other = Workload { seed: 43, ..asked() }.draw(0).unwrap();
    assert_ne!(first.intended_ns, other.intended_ns);
}

/// Before its start a clock that counts from there shows 0: what is due at 0 would be sent at once, and 0 means
/// "never" where it was sent.
#[test]
fn nothing_is_due_at_the_very_start() {
    let file = std::env::temp_dir().join(format!("sojourn-at-0-{}", std::process::id()));
    std::fs::write(&file, "gap_ns\n0\n0\n100000000\n").unwrap();
    let arrivals = format!("trace:{}", file.display());
    let plan = Workload { warmup_ns: 0, arrivals, ..asked() }.draw(0).unwrap();
    assert_eq!(plan.intended_ns[..4], [1, 1, 100_000_000, 100_000_000]);
    assert_eq!(plan.measured_from, 0);
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn times_ascend_and_the_warmup_comes_first() {
    let plan = asked().draw(0).unwrap();
    assert!(plan.intended_ns.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(plan.intended_ns[plan.measured_from - 1] < 1_000_000_000);
    assert!(plan.intended_ns[plan.measured_from] >= 1_000_000_000);
    assert!(*plan.intended_ns.last().unwrap() < 3_000_000_000);
}

#[test]
fn threads_share_the_rate() {
    for arrivals in ["poisson", "fixed"] {
        let asked = Workload { threads: 4, arrivals: arrivals.into(), ..asked() };
        let counts = (0..4).map(|k| asked.draw(k).unwrap().intended_ns.len() as f64);
        let all: f64 = counts.sum();
        assert!((all - 60_000.0).abs() < 5.0 * 60_000_f64.sqrt(), "five sigma: {all}");
    }
}

#[test]
fn threads_of_a_fixed_schedule_take_turns() {
    let asked = Workload { threads: 3, arrivals: "fixed".into(), rate: "1k".into(), ..asked() };
    let mut all: Vec<u64> = (0..3).flat_map(|k| asked.draw(k).unwrap().intended_ns).collect();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(1_000_000) <= 1));
}

#[test]
fn every_process_follows_every_rate() {
    let rates = ["5k", "steps:2k@1s,0@500ms,8k@1s", "ramp:1k..10k", "sine:5k,5k,700ms"];
    for arrivals in ["poisson", "fixed", "gamma:2", "zipf:1.2", "onoff:5ms,15ms", "fb_ia"] {
        for rate in rates {
            let asked = Workload { arrivals: arrivals.into(), rate: rate.into(), ..asked() };
            let timetable = Timetable::of(&asked).unwrap();
            let dispersion = arrivals::parse(arrivals, 5e3).unwrap().dispersion();
            let due_ns = asked.draw(0).unwrap().intended_ns;
            for (from_ms, to_ms) in [(0, 1000), (1000, 1700), (1700, 3000)] {
                let [from, to] = [from_ms, to_ms].map(|ms: u64| ms * 1_000_000);
                let wanted = timetable.expected_by(to as f64) - timetable.expected_by(from as f64);
                let [low, high] = [from, to].map(|ns| due_ns.partition_point(|&due| due < ns));
                let off = ((high - low) as f64 - wanted).abs();
                // A burst cut by the edge of the window adds up to its own length.
                let cut = if arrivals.starts_with("onoff") { 160.0 } else { 2.0 };
                let allowed = 5.0 * (dispersion * wanted).sqrt() + cut;
                assert!(off < allowed, "{arrivals} {rate} {from_ms}: off {off}, {wanted}");
            }
        }
    }
}

#[test]
fn dealt_threads_together_send_the_process_of_one() {
    for arrivals in ["gamma:2", "onoff:5ms,15ms"] {
        let one = Workload { arrivals: arrivals.into(), ..asked() };
        let many = Workload { threads: 3, ..one.clone() };
        let mut all: Vec<u64> = (0..3).flat_map(|k| many.draw(k).unwrap().intended_ns).collect();
        all.sort_unstable();
        assert_eq!(all, one.draw(0).unwrap().intended_ns, "{arrivals}");
    }
}

#[test]
fn a_plan_beyond_memory_is_refused_before_it_is_drawn() {
    let fault = Workload { rate: "100M".into(), ..asked() }.draw(0).unwrap_err();
    assert!(fault.what.contains("300000000") && fault.at == "requests_max", "{fault}");
}

#[test]
fn shares_of_operations_are_kept() {
    let asked = Workload { shares: vec![0.1, 0.2], ..asked() };
    let ops = asked.draw(0).unwrap().op;
    let n = ops.len() as f64;
    for (op, share) in [(Op(1), 0.1), (Op(2), 0.2), (Op(0), 0.7)] {
        let seen = ops.iter().filter(|&&o| o == op).count() as f64 / n;
        let sigma = (share * (1.0 - share) / n).sqrt();
        assert!((seen - share).abs() < 5.0 * sigma, "five sigma: {op:?} {seen}");
    }
}
