//! Plans by hand: what a timetable says, where limits lie, which streams are drawn from.

use sojourn_base::rng::Rng;

use super::super::due::DueTimes;
use super::*;
use crate::arrivals::ArrivalProcess;

/// 1 s of warm-up at 1k, then 2 s from 1k to 10k: Λ(t) = 1000 t + 4500 t²/2 after it.
#[test]
fn a_timetable_counts_from_the_start_of_the_warm_up() {
    let ramp = Timetable::of(&Workload { rate: "ramp:1k..10k".into(), ..asked() }).unwrap();
    let s = [ramp.warmup_ns, ramp.measured_ns, ramp.end_ns()].map(|ns| ns / 1_000_000_000);
    assert_eq!(s, [1, 2, 3]);
    assert!((ramp.mean_rps() - 5500.0).abs() < 1e-9);
    for (s, requests) in [(0.0, 0.0), (0.5, 500.0), (1.0, 1000.0), (2.0, 4250.0), (3.0, 12_000.0)] {
        let (got, back) = (ramp.expected_by(s * 1e9), ramp.ns_at(requests));
        assert!((got - requests).abs() < 1e-6, "{s}: {got}");
        assert!((back - s * 1e9).abs() < 1.0, "{requests}: {back}");
    }
    let fault = Timetable::of(&Workload { measured_ns: 0, ..asked() }).unwrap_err();
    assert_eq!(fault.at, "duration");
}

#[test]
fn what_is_due_as_the_warm_up_ends_is_measured() {
    let asked = Workload { warmup_ns: 10, ..asked() };
    let plan = asked.plan("", 0, vec![0, 9, 10, 10, 15]).unwrap();
    assert_eq!((plan.measured_from, plan.item.len(), plan.op.len()), (2, 5, 5));
}

#[test]
fn a_closed_loop_has_requests_for_a_million_a_second() {
    let closed = |threads, requests_max| {
        let plan = Workload { threads, requests_max, ..asked() }.draw_closed(0).unwrap();
        assert!(plan.intended_ns.iter().all(|&ns| ns == 0));
        plan.intended_ns.len()
    };
    assert_eq!((closed(4, 64_000_000), closed(2, 1001), closed(1, 1001)), (750_000, 501, 1001));
}

/// 30 s at 500/s, whatever the load is; five sigma.
#[test]
fn the_probe_has_a_rate_and_streams_of_its_own() {
    let slow = Workload { rate: "20".into(), measured_ns: 29_000_000_000, ..asked() };
    let (probe, load) = (slow.draw_probe(500.0).unwrap(), slow.draw(0).unwrap());
    let count = probe.intended_ns.len() as f64;
    assert!((count - 15_000.0).abs() < 5.0 * 15_000_f64.sqrt(), "{count}");
    assert!(probe.intended_ns[probe.measured_from - 1] < 1_000_000_000);
    assert!(probe.intended_ns[probe.measured_from] >= 1_000_000_000);
    assert_ne!(probe.item[..20], load.item[..20]);
    assert_ne!(slow.draw_probe(20.0).unwrap().intended_ns, load.intended_ns);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let at = |asked: Workload| asked.check().map_err(|fault| fault.at);
    let shares = |set, multi| at(Workload { shares: vec![set, multi], ..asked() });
    assert_eq!(at(Workload { seed: 0, ..asked() }), Err("seed".into()));
    assert_eq!(at(Workload { threads: 0, ..asked() }), Err("threads".into()));
    for (set, multi) in [(-0.1, 0.0), (0.0, 1.1), (0.6, 0.5)] {
        assert_eq!(shares(set, multi), Err("shares".into()), "{set}, {multi}");
    }
    for (set, multi) in [(0.3, 0.2), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)] {
        assert_eq!(shares(set, multi), Ok(()), "{set}, {multi}");
    }
}

#[test]
fn operations_are_those_asked_for_whichever_there_are() {
    let ops = |set, multi| {
        let plan = Workload { shares: vec![set, multi], ..asked() }.draw(0).unwrap();
        let of = |op| plan.op.iter().filter(|&&it| it == op).count() as f64 / plan.op.len() as f64;
        [of(Op(1)), of(Op(2))]
    };
    for (set, multi) in [(0.0, 0.0), (0.3, 0.0), (0.0, 0.3), (0.4, 0.4), (0.5, 0.5), (0.0, 1.0)] {
        for (got, wanted) in ops(set, multi).into_iter().zip([set, multi]) {
            let sigma = (wanted * (1.0 - wanted) / 60_000.0_f64).sqrt();
            assert!((got - wanted).abs() <= 5.0 * sigma, "five sigma: {set}, {multi}: {got}");
        }
    }
}

/// The limit is that of all threads, and of what is expected as of what is drawn; chance may add one.
#[test]
fn more_requests_than_may_be_are_refused() {
    let most = |threads, requests_max, rate: &str, arrivals: &str| {
        let (rate, arrivals) = (rate.into(), arrivals.into());
        Workload { rate, arrivals, threads, requests_max, ..asked() }.draw(0)
    };
    assert!(most(4, 60_000, "20k", "poisson").is_ok() && most(4, 60_000, "20k", "fixed").is_ok());
    let fault = most(4, 59_999, "20k", "poisson").unwrap_err();
    assert!(fault.what.contains("has 60000 requests, at most 59999"), "{fault}");
    let drawn = (0..).map(|tenths| format!("{}", 20_000.0 - f64::from(tenths) / 10.0));
    let (rate, count) = drawn
        .map(|rate| (most(1, 70_000, &rate, "poisson").unwrap().intended_ns.len() as u64, rate))
        .map(|(count, rate)| (rate, count))
        .find(|(rate, count)| 3.0 * rate.parse::<f64>().unwrap() < *count as f64 - 3.0)
        .unwrap();
    assert!(most(1, count, &rate, "poisson").is_ok());
    assert!(most(1, count - 1, &rate, "poisson").is_ok());
    let fault = most(1, count - 2, &rate, "poisson").unwrap_err();
    assert!(fault.at == "requests_max" && fault.what.contains(&count.to_string()), "{fault}");
}

/// Six sigma more than expected: drawn without moving, and little is wasted.
#[test]
fn a_plan_has_room_for_what_chance_may_add() {
    for (threads, arrivals) in [(1, "poisson"), (4, "poisson"), (1, "fixed"), (3, "fixed")] {
        let asked = Workload { threads, arrivals: arrivals.into(), ..asked() };
        let due = due_times(&asked, &Timetable::of(&asked).unwrap(), 0, 1.0).unwrap();
        let room = asked.times(due).unwrap().capacity() as f64;
        let (all, threads) = (60_000.0, f64::from(threads));
        let sigma = (if arrivals == "fixed" { all } else { all / threads }).sqrt();
        let (sigma, mean) =
            (if arrivals == "fixed" { sigma / threads } else { sigma }, all / threads);
        assert!((mean + 5.9 * sigma..mean + 6.1 * sigma + 16.0).contains(&room), "{room}");
    }
}

/// Gaps as given, then for ever.
#[derive(Debug)]
struct Given(Vec<f64>);

impl ArrivalProcess for Given {
    fn next_gap(&mut self, _: &mut Rng) -> f64 {
        if self.0.is_empty() { f64::INFINITY } else { self.0.remove(0) }
    }

    fn dispersion(&self) -> f64 {
        1.0
    }
}

/// At 10⁹ requests/s a gap of one is a ns: rounding may go back by one, an error further.
#[test]
fn times_that_go_back_are_a_defect_and_rounding_is_none() {
    let (warmup_ns, measured_ns) = (0, 1_000_000);
    let timetable = Timetable { warmup_ns, measured_ns, rate: Rate::Constant(1e9), sessions: None };
    let due = |gaps: &[f64]| {
        let input = Box::new(Given(gaps.to_vec()));
        let mut due = DueTimes::new(input, (1, "gaps"), &timetable, (0, 1), 1.0);
        let mut all = Vec::new();
        while let Some(ns) = due.next_ns()? {
            all.push(ns);
        }
        Ok::<_, Fault>(all)
    };
    assert_eq!(due(&[10.0, -0.5, 5.0]), Ok(vec![10, 10, 14]));
    assert_eq!(due(&[10.5, -1.0, 5.0]), Ok(vec![10, 10, 14]));
    let fault = due(&[10.0, -2.0]).unwrap_err();
    assert!(fault.what.contains("request 1 is due before"), "{fault}");
    assert_eq!(due(&[999_998.5, 1.5]), Ok(vec![999_998]), "what is due at the end is not sent");
}

#[test]
fn pieces_are_drawn_as_the_whole_is() {
    for arrivals in ["poisson", "gamma:2"] {
        let asked =
            Workload { threads: 2, arrivals: arrivals.into(), shares: vec![0.3], ..asked() };
        for thread in 0..2 {
            let (plan, mut drawing) =
                (asked.draw(thread).unwrap(), Drawing::new(&asked, thread).unwrap());
            for at in 0..plan.item.len() {
                let wanted = (plan.intended_ns[at], plan.item[at], plan.op[at]);
                let got = drawing.next_planned().unwrap().unwrap();
                assert_eq!((got.intended_ns, got.item, got.op), wanted);
            }
            assert_eq!(drawing.next_planned(), Ok(None));
        }
    }
}

#[test]
fn a_rate_beyond_what_a_thread_sends_is_refused_also_where_a_log_brings_it() {
    let at = |rate: &str, threads| {
        Timetable::of(&Workload { rate: rate.into(), threads, ..asked() }).map(|of| of.mean_rps())
    };
    assert_eq!(at("100M", 1).unwrap().round(), 1e8);
    assert_eq!(at("200M", 2).unwrap().round(), 2e8);
    let fault = at("200M", 1).unwrap_err();
    assert!(fault.at == "rate" && fault.fix.contains("100M a thread"), "{fault}");
    for gap_ns in ["1e-3", "1e-300"] {
        let name = format!("sojourn-dense-{}-{gap_ns}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, format!("gap_ns\n{gap_ns}\n")).unwrap();
        for speed in ["", ",speed=1e300", ",speed=1e-9"] {
            let arrivals = format!("trace:{}{speed}", path.display());
            let dense = Timetable::of(&Workload { arrivals, ..asked() });
            let is_slow = gap_ns == "1e-3" && speed == ",speed=1e-9"; // 1000/s
            assert_eq!(dense.is_ok(), is_slow, "{gap_ns} {speed}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
