//! A long run that is killed leaves its seconds.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn load(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sojourn-load"));
    command.args(["null:", "--rate", "5k", "--warmup", "200ms", "--wait", "sleep", "--seed", "3"]);
    command.args(words);
    command
}

/// Time since the start of the warm-up, s, when the process says that it is past `t_s`.
fn wait_until(child: &mut Child, t_s: f64) -> f64 {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in lines {
        let text: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let now_s = text["t_s"].as_f64().unwrap();
        if now_s > t_s {
            return now_s;
        }
    }
    panic!("it ended before {t_s} s");
}

fn seconds(path: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "only whole lines");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_kill_in_the_middle_leaves_every_second_but_the_last() {
    let folder = scratch("kill");
    let path = folder.join("seconds.jsonl");
    let words = ["--duration", "1h", "--progress", "json", "--seconds", path.to_str().unwrap()];
    let mut child = load(&words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let now_s = wait_until(&mut child, 4.5);
    let since = Instant::now();
    // A busy machine may hold the thread that writes; what it has then is what it would have had.
    while seconds(&path).len() < (now_s - 0.2 - 1.0) as usize
        && since.elapsed() < Duration::from_secs(30)
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let left = seconds(&path);
    fs::remove_dir_all(&folder).unwrap();
    let numbers: Vec<u64> = left.iter().map(|line| line["second"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "none is missing");
    assert!(numbers.len() >= 3, "of 4.3 s and more: {numbers:?}");
    for line in &left {
        let count = line["sojourn_all_ns"]["count"].as_f64().unwrap();
        assert!((count - 5000.0).abs() < 5.0 * 5000_f64.sqrt(), "five sigma: {count}");
    }
}

#[test]
fn a_run_in_segments_offers_what_a_run_in_one_piece_does() {
    let folder = scratch("same");
    let path = folder.join("seconds.jsonl");
    let result = |words: &[&str]| -> Value {
        let done = load(words).args(["--duration", "1500ms", "--json", "-"]).output().unwrap();
        assert!([0, 3].contains(&done.status.code().unwrap()), "{done:?}");
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let whole = result(&[]);
    let parts = result(&["--seconds", path.to_str().unwrap()]);
    let lines = seconds(&path);
    fs::remove_dir_all(&folder).unwrap();
    for key in ["requests", "offered_rps", "errors", "reply_bytes"] {
        assert_eq!(whole[key], parts[key], "{key}");
    }
    assert_eq!(parts["sojourn_all_ns"]["count"], parts["requests"]);
    let counted: u64 =
        lines.iter().map(|line| line["sojourn_all_ns"]["count"].as_u64().unwrap()).sum();
    assert_eq!((lines.len(), Some(counted)), (2, parts["requests"].as_u64()));
}

#[test]
fn seconds_and_raw_requests_are_not_written_by_one_run() {
    let folder = scratch("refused");
    let mut refused = load(&["--seconds", "s", "--raw", "r"]);
    let done = refused.current_dir(&folder).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("at: seconds"), "{done:?}");
    fs::remove_dir(&folder).unwrap(); // empty: no file was made
}
