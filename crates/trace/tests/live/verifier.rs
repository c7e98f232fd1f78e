//! What each program costs the verifier, against the numbers stored in `veristat/`.
//!
//! A program that grows by half is near the limit on some older kernel long before it is here, and
//! loads more slowly everywhere. `UPDATE_VERISTAT=1 cargo test` writes the file anew.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support;

/// Drift accepted in either direction, and instructions below which drift is not looked at.
const TOLERANCE: f64 = 0.25;
const SMALL: u32 = 500;
/// The kernel gives up at a million.
const LIMIT: u32 = 100_000;

#[test]
fn no_program_drifts_away_from_its_recorded_cost() {
    let Some(_alone) = support::alone() else { return };
    let now: BTreeMap<String, u32> =
        sojourn_trace::session::verifier_costs(None).unwrap().into_iter().collect();
    assert!(now.len() > 10);
    let now: BTreeMap<String, u32> = now
        .into_iter()
        .chain(sojourn_trace::culprit::watch::verifier_costs(None).unwrap())
        .chain(sojourn_trace::blackbox::hooks::verifier_costs(None).unwrap_or_default()) // before 6.3: none
        .collect();
    for (program, cost) in &now {
        assert!(*cost < LIMIT, "{program} costs {cost} instructions, more than {LIMIT}");
    }
    let file = file();
    if std::env::var_os("UPDATE_VERISTAT").is_some() {
        let json = serde_json::to_string_pretty(&now).unwrap() + "\n";
        std::fs::write(&file, json).unwrap();
    }
    if support::is_in_container() {
        let why = "programs that translate numbers of processes cost more than is recorded";
        return support::say("skipped", why);
    }
    let Ok(text) = std::fs::read_to_string(&file) else {
        let file = file.display();
        let why = format!("no costs are recorded for this kernel; UPDATE_VERISTAT=1 writes {file}");
        return support::say("skipped", &why);
    };
    let retained: BTreeMap<String, u32> = serde_json::from_str(&text).unwrap();
    for (program, cost) in &now {
        if program.starts_with("slow_") && !retained.contains_key(program) {
            support::say("unknown", &format!("no cost of {program} is recorded for this kernel"));
            continue;
        }
        let was = *retained
            .get(program)
            .unwrap_or_else(|| panic!("{program} is not in {}", file.display()));
        let drift = (f64::from(*cost) / f64::from(was) - 1.0).abs();
        assert!(
            *cost.max(&was) < SMALL || drift <= TOLERANCE,
            "{program}: {was} instructions recorded, {cost} now; UPDATE_VERISTAT=1 if that is meant"
        );
    }
}

/// One file per kernel series and architecture: `6.18-x86_64.json`.
fn file() -> PathBuf {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("procfs is mounted");
    let series: Vec<&str> = release.trim().split('.').take(2).collect();
    let name = format!("{}-{}.json", series.join("."), std::env::consts::ARCH);
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("veristat").join(name)
}
