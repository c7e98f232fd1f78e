mod played;

use sojourn_base::span;

use played::{MS, RING, eventful, in_segments, job};

use super::*;
use crate::drive::measurement::{Measurement, fake};
use crate::judge::result::{RunResult, Verdict};
use crate::judge::summary::summarise;
use crate::output::hlog;
use crate::plan::marks::{Ending, Overrun};
use crate::plan::resolve::resolve;
use crate::protocols::Outcome;
use crate::tally::misses;
use crate::watch::outage::Outage;
use crate::watch::outage::Watch;

fn both(run: &Measurement) -> (RunResult, RunResult, Measurement) {
    let segmented = in_segments(run);
    (summarise(run).unwrap(), summarise(&segmented).unwrap(), segmented)
}

/// Both results field by field: what differs is named, and not all that is in them.
fn assert_same(whole: &RunResult, parts: &RunResult) {
    let [whole, parts] = [whole, parts].map(|result| serde_json::to_value(result).unwrap());
    let (whole, parts) = (whole.as_object().unwrap(), parts.as_object().unwrap());
    assert_eq!(whole.len(), parts.len());
    for (key, value) in whole {
        let text =
            |value: &serde_json::Value| value.to_string().chars().take(600).collect::<String>();
        assert!(*value == parts[key], "{key}: {} / {}", text(value), text(&parts[key]));
    }
}

fn logged(run: &Measurement, name: &str) -> Vec<u8> {
    let path = std::env::temp_dir().join(format!("sojourn-long-{name}-{}", std::process::id()));
    hlog::write(run, &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

#[test]
fn a_run_in_segments_has_the_result_of_one_piece() {
    let run = eventful(job(), &[]);
    let (whole, parts, segmented) = both(&run);
    assert!(whole.requests > 4 * RING.capacity as u64, "the ring is filled again and again");
    assert!(whole.errors.len() >= 2 && whole.checks.backlog_max > 0, "{:?}", whole.errors);
    assert!(whole.checks.arrival_fit_a2.is_some() && whole.checks.dispersion.is_some());
    assert_same(&whole, &parts);
    assert_eq!(logged(&run, "whole"), logged(&segmented, "parts"));
}

#[test]
fn what_outages_exclude_is_the_same_in_segments() {
    let outages = [(900, 3), (903, 2), (1500, 4), (2100, 5), (2300, 2), (3400, 6)];
    let run = eventful(job(), &outages);
    let (whole, parts, segmented) = both(&run);
    assert!(whole.outages.share_excluded > 0.006, "{:?}", whole.outages);
    assert_same(&whole, &parts);
    assert_eq!(logged(&run, "whole-out"), logged(&segmented, "parts-out"));
}

#[test]
fn what_sentinels_see_and_marks_refute_is_the_same_in_segments() {
    let mut run = eventful(Job { wait: "sleep".into(), ..job() }, &[(1000, 40), (2500, 20)]);
    let watch = |threads: Vec<usize>, outages: &[(u64, u64)]| Watch {
        threads,
        outages: outages
            .iter()
            .map(|&(start, length)| Outage { start_ns: start * MS, length_ns: length * MS })
            .collect(),
        ..Watch::default()
    };
    run.threads.iter_mut().for_each(|thread| thread.outages.clear());
    // 1.9 s: the sentinel overslept, and the threads did not.
    run.sentinels =
        vec![watch(vec![0], &[(1000, 40), (1900, 30)]), watch(vec![1], &[(1001, 39), (2500, 20)])];
    let (whole, parts, _) = both(&run);
    assert!((55 * MS..65 * MS).contains(&whole.outages.total_ns), "{:?}", whole.outages);
    assert_same(&whole, &parts);
}

#[test]
fn a_run_that_is_stopped_counts_the_same() {
    // Not Poisson: the tests of such arrivals look at blocks of the run as it was planned.
    let mut run = eventful(Job { arrivals: "gamma:2".into(), ..job() }, &[]);
    for thread in &mut run.threads {
        let stopped_ns = 2_345 * MS;
        let cut = thread.plan.intended_ns.partition_point(|&ns| ns <= stopped_ns);
        thread.plan.truncate(cut);
        thread.marks.truncate(cut);
        thread.stopped_ns = Some(stopped_ns);
        thread.marks.sent_ns[cut - 20..].fill(0); // there was no time left for these
        thread.marks.done_ns[cut - 20..].fill(0);
        thread.marks.outcome[cut - 20..].fill(Outcome::Pending);
        thread.marks.reply_bytes[cut - 20..].fill(0);
    }
    let (whole, parts, _) = both(&run);
    assert_eq!(whole.errors["unsent"], 40);
    assert_same(&whole, &parts);
}

#[test]
fn seconds_add_up_to_the_result() {
    let path = std::env::temp_dir().join(format!("sojourn-seconds-{}", std::process::id()));
    let job = Job { seconds: path.to_str().unwrap().into(), ..job() };
    let (whole, _, _) = both(&eventful(job, &[(2100, 5)]));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = lines.iter().map(|line| line["second"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3], "3.5 s");
    let span = |line: &serde_json::Value| -> span::Span {
        serde_json::from_value(line["sojourn_all_ns"].clone()).unwrap()
    };
    let spans: Vec<span::Span> = lines.iter().map(span).collect();
    assert_eq!(spans.iter().map(|it| it.count).sum::<u64>(), whole.requests);
    assert_eq!(spans.iter().map(|it| it.lost).sum::<u64>(), whole.sojourn_all_ns.lost);
    let mut all = span::decode(&spans[0].hdr).unwrap();
    spans[1..].iter().for_each(|it| all.add(span::decode(&it.hdr).unwrap()).unwrap());
    assert_eq!(all, span::decode(&whole.sojourn_all_ns.hdr).unwrap());
}

#[test]
fn a_run_whose_ring_was_full_does_not_hold() {
    for (overrun, who) in
        [(Overrun::Server, "the server fell"), (Overrun::Keeper, "the thread that")]
    {
        let mut run = in_segments(&eventful(Job { qos_bound: "1s".into(), ..job() }, &[]));
        assert_eq!(summarise(&run).unwrap().verdict, Verdict::Holds);
        run.threads[1].ending = Some(Ending { overrun: Some(overrun), ..Ending::default() });
        let result = summarise(&run).unwrap();
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with(&format!("overrun: {who}")), "{:?}", result.reasons);
    }
}

#[test]
fn old_outages_are_decided_as_they_would_be_at_the_end() {
    let run = eventful(job(), &[(900, 3), (2100, 5)]);
    let at_once = in_segments(&run).long.unwrap();
    let timetable = schedule::timetable(&run.job).unwrap();
    let mut account = Account::new(&run.job, &timetable, vec![]).unwrap();
    run.threads[0].outages.iter().for_each(|outage| account.held.note_own(*outage));
    let mut all: Vec<_> =
        (0..2).flat_map(|k| run.requests(k).map(move |request| (k, request))).collect();
    all.sort_by_key(|(_, request)| request.intended_ns);
    for (n, (thread, request)) in all.iter().enumerate() {
        account.add(*thread, request, 0);
        if n % 20_000 == 0 {
            account.decide(request.intended_ns);
        }
    }
    let early = account.finish(Ok(()));
    let retained =
        |result: &Findings| result.tallies.iter().map(|tally| tally.retained).sum::<u64>();
    let off = retained(&early).abs_diff(retained(&at_once));
    assert!(off < 100, "the p99 and the usual backlog are those of 1.5 s and of 3.5 s: {off}");
    assert!(retained(&early) < early.tallies.iter().map(|tally| tally.requests).sum());
    assert_eq!(misses_of(&early), retained(&early), "each of them once");
}

fn misses_of(findings: &Findings) -> u64 {
    let windows: &misses::MissWindows = findings.misses.as_ref().unwrap();
    windows.n.iter().sum()
}

#[test]
fn rings_hold_half_a_minute_and_no_more_than_a_quarter_of_a_gigabyte() {
    let at = |rps, threads| Geometry::new(rps, threads);
    assert_eq!(at(1e6, 1), Geometry { capacity: 1 << 22, segment: 1 << 16 });
    assert_eq!(at(1e4, 1), Geometry { capacity: 1 << 19, segment: 512 });
    assert_eq!(at(1.0, 3), Geometry { capacity: 1024, segment: 1 });
    for threads in [1, 3, 1024] {
        let ring = at(1e7, threads);
        assert!(ring.capacity * threads as usize <= RING_MAX);
        assert!(ring.capacity / ring.segment >= SEGMENTS_MIN);
    }
}

#[test]
fn what_needs_every_request_is_kept_whole_or_refused() {
    let asked = |job: &Job| geometry(job, &schedule::timetable(job).unwrap());
    let long = Job { rate: "1M".into(), duration: "600s".into(), ..fake::job() };
    assert!(asked(&long).is_some());
    assert!(asked(&fake::job()).is_none(), "20 000 requests");
    let seconds = || "s".to_string();
    assert!(asked(&Job { seconds: seconds(), ..fake::job() }).is_some());
    for job in [Job { raw: "r".into(), ..long.clone() }, Job { find_max: true, ..long }] {
        assert!(asked(&job).is_none());
        let target = "null:".into();
        let fault = resolve(Job { seconds: seconds(), target, ..job }).unwrap_err();
        assert_eq!(fault.at, "seconds");
    }
}

#[test]
fn only_a_plan_that_is_kept_whole_may_be_too_long() {
    let at = |change: &dyn Fn(&mut Job)| {
        let mut job =
            Job { requests_max: 60_000, rate: "20k".into(), warmup: "1s".into(), ..fake::job() };
        change(&mut job);
        check_length(&job, &schedule::timetable(&job).unwrap()).map_err(|fault| fault.at)
    };
    assert_eq!(at(&|_| ()), Ok(()));
    assert_eq!(at(&|job| job.requests_max = 59_999), Err("requests_max".into()));
    assert_eq!(at(&|job| (job.requests_max, job.seconds) = (59_999, "file".into())), Ok(()));
    assert_eq!(at(&|job| (job.requests_max, job.find_max) = (59_999, true)), Ok(()));
    assert_eq!(at(&|job| job.probe_rate = 20_000.0), Ok(()));
    let fault = at(&|job| job.probe_rate = 20_001.0).unwrap_err();
    assert!(fault.contains("probe_rate"), "{fault}");
}
