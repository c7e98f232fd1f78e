//! What is named, and what is not, of traces with known requests.

use std::path::PathBuf;

use serde_json::Value;

use super::*;
use crate::diff::read::trace;
use crate::diff::testing::{STAGES, blame, requests, result};

const ASKED: Asked = Asked { q: 0.99, least: 0.1, alpha: 0.01, seed: 1 };

fn read(value: &Value) -> Trace {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("sojourn-diff-judge-{}-{number}", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(name);
    std::fs::write(&path, value.to_string()).unwrap();
    let read = trace(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    read
}

fn side(sleep_ns: u64) -> Trace {
    read(&result(&STAGES, &requests(20, 200, sleep_ns)))
}

fn adds_up(table: &Table) {
    for of in [|p: &Part| p.change_ns, |p: &Part| p.first_ns, |p: &Part| p.second_ns] {
        let sum: f64 = table.parts.iter().map(of).sum();
        assert!((sum - of(&table.total)).abs() < 1e-6 * table.total.first_ns, "{table:?}");
    }
}

#[test]
fn the_stage_that_has_a_delay_is_named_first_and_parts_add_up() {
    let result = diff(&[(side(0), side(1_000_000))], ASKED);
    assert_eq!((result.verdict, result.units.as_str()), (VerdictWord::Holds, "blocks"));
    for table in [&result.mean, &result.tail] {
        adds_up(table);
        let first = &table.parts[0];
        assert!(first.name == "wait_sleep" && first.has_moved, "{table:?}");
    }
    // The slowest were those with much work; now they are those that sleep.
    let others = result.mean.parts[1..].iter().filter(|part| part.has_moved).count();
    assert_eq!(others, 0, "{:?}", result.mean);
    // One in forty sleeps for 1 ms; all of the slowest hundredth do.
    assert!((result.mean.parts[0].change_ns - 25_000.0).abs() < 10_000.0);
    assert!((result.tail.parts[0].change_ns - 1e6).abs() < 1.0);
    assert!(result.answer.contains("the tail's mean moved"), "{}", result.answer);
    assert!(result.answer.contains("wait_sleep +1 ms"), "{}", result.answer);
    assert_eq!(result.tail.requests, [40, 40]);
    let causes: Vec<&str> = result.tail.causes.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(causes[0], "waiting");
}

#[test]
fn equal_sides_have_nothing_named_and_the_answer_says_what_is_hidden() {
    let result = diff(&[(side(0), side(0))], ASKED);
    assert!(!result.mean.parts.iter().chain(&result.tail.parts).any(|part| part.has_moved));
    assert!(result.answer.starts_with("nothing is shown to have moved by more than 10 %"));
    assert!(
        result.answer.contains("in the mean no stage changed by more than 10 %"),
        "{}",
        result.answer
    );
    let finer = diff(&[(side(0), side(0))], Asked { least: 0.025, ..ASKED }).answer;
    assert!(finer.starts_with("nothing is shown to have moved by more than 3 %"), "{finer}");
}

#[test]
fn a_change_below_the_least_that_counts_is_not_named() {
    let mut other = requests(20, 200, 0);
    other.iter_mut().flatten().for_each(|times| times[0] += 1500); // of 35,500
    let second = read(&result(&STAGES, &other));
    let sides = [(side(0), second)];
    assert!(!diff(&sides, ASKED).mean.parts[0].has_moved);
    let finer = diff(&sides, Asked { least: 0.01, ..ASKED });
    assert!(finer.mean.parts[0].has_moved && finer.mean.parts[0].name == "application");
}

#[test]
fn one_stall_is_one_event_however_many_requests_it_strikes() {
    let mut other = requests(20, 200, 0);
    other[3].iter_mut().take(60).for_each(|times| times[2] = 5_000_000);
    let result = diff(&[(side(0), read(&result(&STAGES, &other)))], ASKED);
    let slept = result.tail.parts.iter().find(|part| part.name == "wait_sleep").unwrap();
    assert!(slept.change_ns > 1e6 && slept.low_ns.is_none_or(|low| low < 1.0), "{slept:?}");
    assert!(!slept.has_moved);
}

#[test]
fn pairs_are_the_units_where_there_are_several() {
    // Each side's two traces differ by more than blocks do: a pair alone would name the difference.
    let pairs =
        |second: [u64; 6]| -> Vec<Pair> { second.map(|ns| (side(400_000), side(ns))).to_vec() };
    let mixed = diff(&pairs([100_000, 900_000, 200_000, 800_000, 300_000, 500_000]), ASKED);
    assert_eq!((mixed.units.as_str(), mixed.counts), ("pairs", [6, 6]));
    assert!(!mixed.tail.parts.iter().any(|part| part.has_moved), "{:?}", mixed.tail);
    adds_up(&mixed.tail);
    let clear =
        diff(&pairs([1_400_000, 1_410_000, 1_420_000, 1_390_000, 1_400_000, 1_430_000]), ASKED);
    assert!(clear.tail.parts[0].has_moved && clear.tail.parts[0].name == "wait_sleep");
}

#[test]
fn a_culprit_of_the_second_side_is_named() {
    let with = |each_ns| {
        let mut value = result(&STAGES, &requests(20, 200, 0));
        value["blame"] = blame("run-queue delay behind `xz`", each_ns);
        read(&value)
    };
    let result = diff(&[(with(0), with(1_000_000))], ASKED);
    let culprits = result.culprits.unwrap();
    adds_up(&culprits);
    let named: Vec<&str> =
        culprits.parts.iter().filter(|p| p.has_moved).map(|p| p.name.as_str()).collect();
    assert_eq!(named, ["run-queue delay behind `xz`"]);
    assert_eq!(result.functions[0].name, "fsync");
    assert!((result.functions[0].change_ns - 500_000.0).abs() < 1.0);
    assert!(result.answer.contains("behind `xz` +"), "{}", result.answer);
}

/// Of either side, by the trace's verdict or by that on its causes alone.
#[test]
fn causes_of_a_trace_that_is_unknown_are_not_compared() {
    let side = |each_ns, doubted: Option<&str>| {
        let mut value = result(&STAGES, &requests(20, 200, 0));
        value["blame"] = blame("run-queue delay behind `xz`", each_ns);
        if let Some(part) = doubted {
            value[part]["verdict"] = "unknown".into();
            value[part]["reasons"] = serde_json::json!(["events found no room"]);
        }
        read(&value)
    };
    for (part, word) in [("verdict", VerdictWord::Unknown), ("blame", VerdictWord::Holds)] {
        for (first, second) in [(Some(part), None), (None, Some(part))] {
            let pair = (side(0, first), side(1_000_000, second));
            let result = diff(&[pair], ASKED);
            assert_eq!((result.verdict, &result.culprits), (word, &None), "{part}");
            assert!(result.functions.is_empty(), "{:?}", result.functions);
            let why = result.culprits_unknown.as_ref().unwrap();
            assert!(why.contains("sojourn-diff-judge") && why.contains("no room"), "{why}");
            let page = text::page(&result);
            assert!(page.contains(&format!("causes of the tail are not compared: {why}")));
            assert!(!page.contains("xz") && !page.contains("fsync"), "{page}");
            assert!(result.answer.contains("found no room"), "{}", result.answer);
        }
    }
}

const FUTEX: &str = "a lock or queue (futex) let go by its thread `locker`";

/// Behind `xz` for 9 ms of each request, and 1 ms of each in a futex: `is_listed`, or too small a share to be.
fn in_a_futex(is_listed: bool, ns: u64) -> Trace {
    let mut value = result(&STAGES, &requests(20, 200, 0));
    let mut blame = blame("run-queue delay behind `xz`", 9_000_000);
    for block in blame["tail_blocks"].as_array_mut().unwrap() {
        block["total_ns"] = (block["total_ns"].as_u64().unwrap() + 2 * ns).into();
    }
    if is_listed {
        let mut futex = blame["suspects"][0].clone();
        (futex["kind"], futex["about"]) = ("futex".into(), FUTEX.into());
        futex["tail_blocks_ns"] = (0..20).map(|b| 2 * ns - b % 3).collect::<Vec<u64>>().into();
        blame["suspects"].as_array_mut().unwrap().push(futex);
    }
    value["blame"] = blame;
    read(&value)
}

/// The futex of two traces, if it is compared.
fn futex_of(first: Trace, second: Trace) -> Option<Part> {
    let culprits = diff(&[(first, second)], Asked { least: 0.05, ..ASKED }).culprits.unwrap();
    adds_up(&culprits);
    culprits.parts.into_iter().find(|part| part.name == FUTEX)
}

#[test]
fn a_culprit_that_one_trace_does_not_list_is_not_taken_for_absent() {
    const MS: u64 = 1_000_000;
    for (first, second) in [(false, true), (true, false)] {
        let part = futex_of(in_a_futex(first, MS), in_a_futex(second, MS));
        assert_eq!(part, None, "both may have the same, and it stays with the rest");
    }
    // Less than that is left out of the list: what is new is new, and by how much is known to that.
    let part = futex_of(in_a_futex(false, MS / 10), in_a_futex(true, MS)).unwrap();
    assert!(part.has_moved && part.low_ns.unwrap() <= 900_000.0, "{part:?}");
    assert!(part.low_ns.unwrap() > 890_000.0 && part.high_ns.unwrap() >= 1_100_000.0, "{part:?}");
    // 0.6 ms of 10 are more than the least that counts; 0.4, which are sure, are not.
    let part = futex_of(in_a_futex(false, MS / 5), in_a_futex(true, 6 * MS / 10)).unwrap();
    assert!(!part.has_moved, "{part:?}");
    assert!(futex_of(in_a_futex(true, MS / 5), in_a_futex(true, MS)).unwrap().has_moved);
}

#[test]
fn a_function_beyond_the_end_of_the_list_is_not_taken_for_absent() {
    let with = |last: &str| {
        let mut value = result(&STAGES, &requests(20, 200, 0));
        value["blame"] = blame("run-queue delay behind `xz`", 9_000_000);
        let name = |n: u64| if n == 63 { last.to_owned() } else { format!("f{n}") };
        let times = |n: u64| vec![6400 - 100 * n; 20];
        let of = |n| serde_json::json!({"name": name(n), "tail_blocks_ns": times(n)});
        value["blame"]["functions"] = (0..64).map(of).collect::<Vec<Value>>().into();
        read(&value)
    };
    let result = diff(&[(with("a"), with("b"))], ASKED);
    let names: Vec<&str> = result.functions.iter().map(|part| part.name.as_str()).collect();
    assert!(!names.contains(&"a") && !names.contains(&"b"), "{names:?}");
    assert!(names.contains(&"f0"), "{names:?}");
}

#[test]
fn what_is_not_believed_or_too_short_names_nothing() {
    let mut doubted = result(&STAGES, &requests(20, 200, 1_000_000));
    doubted["verdict"]["verdict"] = "unknown".into();
    doubted["verdict"]["reasons"] = serde_json::json!(["records were dropped"]);
    let short = read(&result(&STAGES, &requests(5, 900, 1_000_000)));
    let few = read(&result(&STAGES, &requests(20, 20, 1_000_000)));
    for (second, word) in
        [(read(&doubted), "records were dropped"), (short, "5 blocks"), (few, "have a tail")]
    {
        let result = diff(&[(side(0), second)], ASKED);
        assert_eq!(result.verdict, VerdictWord::Unknown);
        assert!(!result.tail.parts.iter().any(|part| part.has_moved));
        assert!(
            result.answer.starts_with("nothing is named") && result.answer.contains(word),
            "{}",
            result.answer
        );
    }
}

#[test]
fn how_the_traces_differ_comes_first() {
    let mut other = result(&STAGES, &requests(20, 300, 0));
    other["kernel"] = "6.2".into();
    let result = diff(&[(side(0), read(&other))], ASKED);
    assert_eq!(result.differs, ["kernel: 6.1 and 6.2", "load: 4000 and 6000 requests/s"]);
    let page = text::page(&result);
    assert!(page.contains("they differ in kernel: 6.1 and 6.2"), "{page}");
    assert!(
        page.lines()
            .take_while(|line| !line.starts_with("intervals"))
            .all(|line| line.chars().count() <= 100)
    );
}
