//! Made-up traces for tests: sums by block, as a trace writes them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sojourn_base::rng::mix;

use crate::judge::blocks::HEADS;
use crate::reconstruct::bins::{row_low_ns, row_of};

/// A result whose requests have these stages; `requests` lists of each block the times of each request.
pub fn result(stages: &[&str], requests: &[Vec<Vec<u64>>]) -> Value {
    let mut rows = Vec::new();
    let mut matched = 0;
    for (number, block) in requests.iter().enumerate() {
        let mut sums = BTreeMap::<u64, Vec<u64>>::new();
        for times in block {
            let from_ns = row_low_ns(row_of(times.iter().sum()));
            let row = sums.entry(from_ns).or_insert_with(|| vec![0; times.len() + 1]);
            row.iter_mut().zip([1].iter().chain(times)).for_each(|(sum, more)| *sum += more);
            matched += 1;
        }
        for (from_ns, cells) in sums {
            let cells = [number as u64, from_ns].into_iter().chain(cells);
            rows.push(cells.map(|cell| cell.to_string()).collect::<Vec<_>>().join(","));
        }
    }
    let columns: Vec<&str> = HEADS.into_iter().chain(stages.iter().copied()).collect();
    let times =
        json!({"mean_ns": null, "p50_ns": null, "p95_ns": null, "p99_ns": null, "share": 0.0});
    let of_stages: Vec<Value> = stages
        .iter()
        .map(|name| {
            let cause = if name.starts_with("wait") { "waiting" } else { "work" };
            let mut stage = times.clone();
            let more = json!({"name": name, "alias": "A", "about": "a stage", "cause": cause});
            stage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            stage
        })
        .collect();
    let tail = json!({
        "q": 0.99, "from_ns": 0, "requests": 0, "request_share": 0.0, "total": times,
        "residual": times, "stages": [], "groups": [], "causes": [],
    });
    let mut value: Value = serde_json::from_str(BARE).unwrap();
    for (name, part) in [
        ("requests", json!(matched)),
        ("matched", json!(matched)),
        ("total", times.clone()),
        ("residual", times),
        ("stages", json!(of_stages)),
        ("tail", tail),
        ("blocks", json!({"columns": columns, "rows": rows})),
    ] {
        value[name] = part;
    }
    value
}

/// What no test asks of a result.
const BARE: &str = r#"{
    "schema": "sojourn.trace.result/1", "version": "0", "kernel": "6.1",
    "target": {"pid": 7, "name": "server", "pids": [7], "ports": [80]},
    "started_unix_ns": 1, "started_ns": 1000, "duration_ns": 1000000000, "mode": "aggregate",
    "sampling": {"traced_ns": 1000000000, "duty": 1.0},
    "unmatched": {}, "unmatched_share": 0.0, "cut_off": {}, "dropped": 0, "notes": {},
    "verdict": {"verdict": "holds", "reasons": [], "unmatched_max": 0.01, "residual_max": 0.05},
    "answer": "", "groups": [], "causes": [], "tails": [], "threads": [], "connections": [],
    "imbalance": {"workers": 1, "requests_max_over_mean": 1.0, "busy_spread": 0.0},
    "cpu": {"samples": 0, "user_share": null, "kernel_share": null, "softirq_share_of_kernel": null},
    "hooks": [], "warnings": [], "resolution": {"total": 0.01, "stage": 0.03},
    "worst": [{
        "start_ns": 2000, "total_ns": 300, "peer_port": 9, "tid": 7, "writer_tid": null,
        "bytes_in": 1, "bytes_out": 1, "stages": [["application", 200], ["write", 100]]
    }]
}"#;

/// Causes of a tail of 40 requests in 20 pieces: this suspect takes so much of each.
pub fn blame(about: &str, each_ns: u64) -> Value {
    json!({
        "q": 0.99, "from_ns": 1, "tail_requests": 40, "body_requests": 100, "tail_mean_ns": 1.0,
        "body_mean_ns": 1.0, "verdict": "holds", "reasons": [], "answer": "", "endpoints": [],
        "unexplained_share": 0.0, "told": 0, "lost": 0, "history_full": 0,
        "suspects": [{
            "kind": "task", "name": "xz", "cgroup": null, "is_kernel": false, "is_own": false,
            "waker": null, "tids": [], "tail_mean_ns": 1.0, "body_mean_ns": 0.0, "share": 0.5,
            "share_low": 0.4, "requests": 40, "is_named": true, "waker_did": [], "about": about,
            "tail_blocks_ns": (0..20).map(|b| 2 * each_ns + b % 3).collect::<Vec<u64>>(),
        }],
        "tail_blocks": (0..20).map(|b| json!({"requests": 2, "total_ns": 2 * each_ns + 200 + b}))
            .collect::<Vec<_>>(),
        "functions": [{"name": "fsync", "tail_blocks_ns": vec![each_ns; 20]}],
        "tail_stacks": ["server;sleeps;main;fsync 40", "server;works;application 10"],
    })
}

/// Times of `n` requests a block in two stages, which scatter; one in forty, by lot, sleeps for so long.
pub fn requests(blocks: usize, n: u64, sleep_ns: u64) -> Vec<Vec<Vec<u64>>> {
    let one = |k: u64| {
        let scatter = mix(k + 1_000_000) % 997;
        vec![
            20_000 + 20 * scatter,
            5_000 + scatter,
            if mix(k).is_multiple_of(40) { sleep_ns } else { 0 },
        ]
    };
    (0..blocks as u64).map(|block| (0..n).map(|k| one(block * n + k)).collect()).collect()
}

/// The stages of [`requests`].
pub const STAGES: [&str; 3] = ["application", "write", "wait_sleep"];
