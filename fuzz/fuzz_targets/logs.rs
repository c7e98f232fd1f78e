//! Any text as a log that is replayed: of requests, in any of the formats, or a column of times.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_workload::replay;

fuzz_target!(|text: &str| {
    if let Some(Ok(access)) = replay::access(text) {
        assert!(access.entries.is_sorted_by_key(|entry| entry.at_ns));
        assert!(access.entries.iter().all(|entry| entry.path.starts_with('/')));
        let mut numbers = replay::Numbers::default();
        for entry in &access.entries {
            for path in [&*entry.path, &numbers.path(&entry.path)] {
                assert!(path.bytes().all(|byte| byte.is_ascii_graphic()), "no line of a request ends");
            }
        }
        let mut stamps: Vec<i64> = access.entries.iter().map(|entry| entry.at_ns).collect();
        replay::spread(&mut stamps);
    }
    let mut stamps: Vec<i64> =
        replay::lines(text).filter_map(|(line, _)| replay::time(line)).collect();
    stamps.sort_unstable();
    let before = stamps.clone();
    if let Some(unit_ns) = replay::spread(&mut stamps) {
        let within = |(now, was): (&i64, &i64)| now.abs_diff(*was) < unit_ns.unsigned_abs();
        assert!(stamps.iter().zip(&before).all(within), "a time stays within its unit");
    }
    stamps.windows(2).for_each(|pair| assert!(pair[1].checked_sub(pair[0]).is_some(), "a gap"));
    if let Some((first, _)) = replay::lines(text).next() {
        replay::is_self_evident(first);
    }
});
