//! How the load was issued, each number computed a second time.

use super::*;
use crate::drive::measurement::fake;
use crate::job::Job;

const MS: u64 = 1_000_000;

fn request(due: u64, sent: u64) -> Request {
    let mut run = fake::run(Job { rate: "100".into(), ..fake::job() }, 0, 1_000);
    run.threads[0].plan.intended_ns[0] = due;
    run.threads[0].marks.sent_ns[0] = sent;
    run.requests(0).next().unwrap()
}

/// 100 ns between requests as due, 110 as issued: a rate of 10/11.
#[test]
fn the_pace_is_that_of_the_gaps_between_first_and_last() {
    let error = |requests: &[(u64, u64)]| {
        let mut pace = Pace::default();
        for &(due, sent) in requests {
            pace.add(&request(due, sent));
        }
        pace.error()
    };
    let ten_in_eleven = 10.0 / 11.0 - 1.0;
    assert!((error(&[(100, 105), (200, 215)]) - ten_in_eleven).abs() < 1e-12);
    assert!(
        (error(&[(300, 325), (100, 105), (200, 215)]) - ten_in_eleven).abs() < 1e-12,
        "any order"
    );
    // Of 5 due within 400 ns 4 were sent within 330: 3/330 against 4/400.
    let four = [(100, 105), (200, 215), (300, 325), (400, 435), (500, 0)];
    assert!((error(&four) - (3.0 / 330.0 * 100.0 - 1.0)).abs() < 1e-12);
    assert_eq!((error(&[]), error(&[(100, 0), (200, 0)]), error(&[(100, 105)])), (0.0, 0.0, 0.0));
    assert_eq!((error(&[(100, 300), (200, 300)]), error(&[(100, 100), (100, 200)])), (0.0, 0.0));
}

#[test]
fn a_request_is_issued_when_due_plus_the_instruments_own_lag() {
    assert_eq!((request(100, 130).issued_ns(), request(100, 0).issued_ns()), (Some(130), None));
    let waited = Request { free_ns: 120, ..request(100, 130) };
    assert_eq!(waited.issued_ns(), Some(110), "10 after a connection was free");
}

fn view<'a>(run: &'a Measurement, timetable: &'a Timetable, windows: &'a Windows) -> View<'a> {
    View { run, timetable, sessions: None, windows, measured: run.measured(timetable) }
}

#[expect(clippy::unnecessary_wraps, reason = "the form of `Request::issued_ns`")]
fn intended(request: &Request) -> Option<u64> {
    Some(request.intended_ns)
}

#[test]
fn blocks_are_even_parts_of_the_measured_time() {
    let run = fake::run(fake::job(), 0, 1_000);
    let (timetable, windows) =
        (crate::plan::schedule::timetable(&run.job).unwrap(), Windows::default());
    let due = &run.threads[0].plan.intended_ns;
    let (from, to) = (due[500], due[15_500]);
    let view = View { measured: (from, to), ..view(&run, &timetable, &windows) };
    let blocks = view.blocks(1.0, intended);
    assert_eq!((blocks.len(), blocks.concat()), (20, due[500..15_500].to_vec()));
    for (nth, block) in (0..).zip(&blocks) {
        let [start, end] = [nth, nth + 1].map(|k| from + (to - from) / 20 * k);
        let is_last = nth == 19;
        assert!(block.iter().all(|&ns| ns >= start && (ns < end || is_last)), "{nth}");
    }
    let thinned = view.blocks(0.25, intended).concat();
    assert!(
        (thinned.len() as f64 - 3750.0).abs() < 5.0 * (15_000.0_f64 * 0.1875).sqrt(),
        "five sigma"
    );
    assert!(thinned.iter().all(|ns| due.binary_search(ns).is_ok()));
}

/// The first 100 gaps of each block, even blocks in the first sample; those over excluded time are left out.
#[test]
fn two_samples_are_made_of_alternate_blocks() {
    let run = fake::run(Job { rate: "ramp:5k..20k".into(), ..fake::job() }, 0, 1_000);
    let timetable = crate::plan::schedule::timetable(&run.job).unwrap();
    let windows = Windows::default();
    let with = view(&run, &timetable, &windows);
    let blocks = with.blocks(1.0, intended);
    let expected = |parity: usize| {
        let mut gaps = Vec::new();
        for block in blocks.iter().skip(parity).step_by(2) {
            let at: Vec<f64> = block.iter().map(|&ns| timetable.expected_by(ns as f64)).collect();
            gaps.extend((0..100).map(|k| at[k + 1] - at[k]));
        }
        assert_eq!(gaps.len(), 1000);
        fit::anderson_darling(gaps)
    };
    assert_eq!(with.fit(&blocks), (expected(0), expected(1)));
    assert_ne!(expected(0), expected(1));
    let steady =
        Timetable { rate: sojourn_workload::rate::Rate::Constant(1000.0), ..timetable.clone() };
    let out =
        Windows::from(vec![crate::watch::outage::Outage { start_ns: 130 * MS, length_ns: MS }]);
    let gaps = |moments: &[u64], most| {
        let moments: Vec<u64> = moments.iter().map(|ms| ms * MS).collect();
        let result = view(&run, &steady, &out).gaps(&moments, most);
        result.into_iter().map(|gap| (gap * 1e6).round() / 1e6).collect::<Vec<_>>()
    };
    assert_eq!(gaps(&[110, 104, 100], 9), [4.0, 6.0], "in order of time");
    assert_eq!(gaps(&[100, 104, 110, 111], 2), [4.0, 6.0]);
    assert_eq!(gaps(&[120, 129, 132, 135], 9), [9.0, 3.0]);
    assert_eq!(gaps(&[120, 130, 131, 135], 9), [4.0], "130 itself is excluded, 131 not");
}

#[test]
fn counts_are_of_windows_of_equal_load_outside_excluded_time() {
    let run = fake::run(Job { arrivals: "fixed".into(), ..fake::job() }, 0, 1_000);
    let timetable = crate::plan::schedule::timetable(&run.job).unwrap();
    let counts = |mean, out: &[(u64, u64)]| {
        let out = out.iter().map(|&(start_ns, end)| crate::watch::outage::Outage {
            start_ns,
            length_ns: end - start_ns,
        });
        let windows = Windows::from(out.collect::<Vec<_>>());
        view(&run, &timetable, &windows).counts(mean, intended)
    };
    let all = counts(100.0, &[]);
    assert_eq!((all.len(), all.iter().sum::<u32>()), (200, 20_000), "10 ms each from 100 ms on");
    assert!(all.iter().all(|count| count.abs_diff(100) <= 1), "{all:?}");
    assert_eq!((counts(30_000.0, &[]).len(), counts(7.0, &[]).len()), (0, 2857));
    assert_eq!(counts(1.0, &[]).len(), 10_000, "no more windows than that");
    assert_eq!(counts(20_000.0, &[]), [20_000]);
    assert_eq!(counts(100.0, &[(115 * MS, 116 * MS)]).len(), 199);
    assert_eq!(counts(100.0, &[(119 * MS, 121 * MS)]).len(), 198);
    assert_eq!(counts(100.0, &[(0, 105 * MS), (2095 * MS, 3000 * MS)]).len(), 198);
    assert_eq!(counts(100.0, &[(0, 3000 * MS)]).len(), 0);
    // Twice the load in the second half: two thirds of the windows lie there.
    let steps = Job { rate: "steps:5k@1s,10k@1s".into(), ..run.job.clone() };
    let run = fake::run(steps, 0, 1_000);
    let timetable = crate::plan::schedule::timetable(&run.job).unwrap();
    let windows = Windows::from(vec![crate::watch::outage::Outage {
        start_ns: 1100 * MS,
        length_ns: 1000 * MS,
    }]);
    let retained = view(&run, &timetable, &windows).counts(100.0, intended);
    assert!(
        (49..=50).contains(&retained.len())
            && retained.iter().all(|count| count.abs_diff(100) <= 1)
    );
}

fn issue(run: &Measurement) -> Issue {
    let timetable = crate::plan::schedule::timetable(&run.job).unwrap();
    let measured = run.measured(&timetable);
    let mut all = Tally::default();
    for request in run.measured_requests(0, measured) {
        all.add_all(&request, 0);
        all.add_counted(&request, 0);
    }
    Issue::of(run, &timetable, &Windows::default(), &all, measured).unwrap()
}

/// Lags of 4 µs and of `late` µs in turn: gaps are tested at 50 times what lies between.
#[test]
fn the_scale_is_fifty_times_the_jitter() {
    let with = |late_ns: u64| {
        let mut run = fake::run(fake::job(), 4_000, 1_000);
        run.threads[0].marks.sent_ns.iter_mut().step_by(2).for_each(|ns| *ns += late_ns);
        let issue = issue(&run);
        let due = &run.threads[0].plan;
        (issue, due.item.len() - due.measured_from)
    };
    let (even, requests) = with(0);
    assert!((even.gap_ns / (2e9 / requests as f64) - 1.0).abs() < 1e-12, "{}", even.gap_ns);
    for (late_ns, scale, windows) in [(10_000, 5.0, 2000.0), (40_000, 20.0, 1000.0)] {
        let (issue, requests) = with(late_ns);
        // Histograms keep three digits.
        assert!((issue.gap_ns / (50.0 * late_ns as f64) - 1.0).abs() < 2e-3, "{}", issue.gap_ns);
        let mean = requests as f64 / windows;
        let within = 3.3 * ((2.0 + 1.0 / mean) / windows).sqrt();
        let got = issue.dispersion.unwrap().1;
        assert!((got / within - 1.0).abs() < 1e-2, "{scale}: {got} {within}");
        let (first, again) = issue.issued_fit;
        assert!(first.unwrap() < 4.0 && again.unwrap() < 4.0, "thinned to what does not see it");
        assert_eq!(issue.planned_fit, even.planned_fit);
    }
}

#[test]
fn only_poisson_arrivals_have_a_law_for_their_gaps() {
    let of = |arrivals: &str| {
        issue(&fake::run(Job { arrivals: arrivals.into(), ..fake::job() }, 0, 1_000))
    };
    let (poisson, gamma) = (of("poisson"), of("gamma:2"));
    assert!(poisson.planned_fit.0.is_some() && poisson.dispersion.is_some());
    assert_eq!(
        (gamma.planned_fit, gamma.issued_fit, gamma.dispersion),
        ((None, None), (None, None), None)
    );
    assert_eq!((poisson.dispersion_planned, gamma.dispersion_planned), (1.0, 4.0));
    let closed = issue(&fake::run(Job { find_max: true, ..fake::job() }, 0, 1_000));
    assert_eq!((closed.gap_ns, closed.dispersion_planned), (0.0, 0.0));
}

/// Five requests due by 105 ms, the third of which finds a connection only then: it and two more wait.
#[test]
fn the_backlog_is_who_waited_when_a_connection_became_free() {
    let mut run = fake::run(fake::job(), 0, 1_000);
    let thread = &mut run.threads[0];
    let at = thread.plan.intended_ns.partition_point(|&ns| ns < 105 * MS) - 5;
    let free_ns = thread.plan.intended_ns[at + 4];
    (thread.marks.free_ns[at + 2], thread.marks.sent_ns[at + 2]) = (free_ns, free_ns);
    assert_eq!(backlog_max(&run, 0), 3, "due at that very moment included");
    run.threads[0].marks.free_ns[at] = free_ns;
    run.threads[0].marks.sent_ns[at] = 0;
    assert_eq!(backlog_max(&run, 0), 3, "never sent: free_ns is the run's end");
    run.threads[0].marks.sent_ns[at] = free_ns;
    assert_eq!(backlog_max(&run, 0), 5);
    assert_eq!(issue(&run).backlog_max, 5);
    run.threads[0].marks.free_ns.fill(0);
    assert_eq!(backlog_max(&run, 0), 0, "nobody waited");
}
