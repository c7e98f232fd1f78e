//! A kernel that gives no more threads: a failure that says so, and no crash.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

use std::process::Command;

/// No address space has room for such a stack, so no thread can be started.
const STACK: &str = "200000000000000";

#[test]
fn a_load_without_threads_is_a_failure_that_says_what_to_do() {
    for wait in ["spin", "sleep"] {
        let words = ["null:", "--duration", "50ms", "--warmup", "0s", "--wait", wait];
        let mut load = Command::new(env!("CARGO_BIN_EXE_sojourn-load"));
        let done = load.args(words).env("RUST_MIN_STACK", STACK).output().unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(4), "{wait}: {text}");
        assert!(
            text.contains("a thread cannot be started") && text.contains("ulimit -u"),
            "{text}"
        );
    }
}
