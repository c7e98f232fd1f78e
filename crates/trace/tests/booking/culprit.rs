//! What the culprit's hooks report, to the microsecond: `culprit.c` plays the kernel.

use std::sync::OnceLock;

use crate::world::{compiled, played};

/// What a script, events apart by `;`, leads to, a line each; at last how many slots threads have.
fn reported(script: &str) -> Vec<String> {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compiled("booking-culprit", "culprit.c", &[]));
    let text = played(program, script);
    text.lines().map(ToOwned::to_owned).collect()
}

/// Thread 1 is switched away from CPU 0 at 300 µs by task 8, while task 9 has CPU 1 since 100 µs.
const PREEMPTED: &str = "100 switch 1 0 9; 150 switch 0 0 8; 200 switch 0 8 1; 300 switch 0 1 8;";

#[test]
fn a_thread_that_is_pulled_waited_for_the_cpu_that_it_left() {
    for (then, wanted) in [
        // It stays, and waits behind task 8.
        ("3300 switch 0 8 1", &["off 1 0 300 300 300 3300", "run 8 0 300 3300"][..]),
        // It runs where it comes to at once, so task 9 did not keep it waiting.
        ("3300 moved 1 1; 3300 switch 1 9 1", &["off 1 1 300 300 3300 3300"]),
        // Task 9 keeps it waiting for the rest.
        ("1300 moved 1 1; 3300 switch 1 9 1", &["off 1 1 300 300 1300 3300", "run 9 1 100 3300"]),
        // It was not seen to be moved.
        ("3300 switch 1 9 1", &["off 1 1 300 300 3300 3300"]),
    ] {
        let lines = reported(&format!("{PREEMPTED} {then}"));
        assert_eq!(lines[..lines.len() - 1], *wanted, "{then}");
    }
}

#[test]
fn a_thread_that_was_woken_may_be_pulled_too() {
    let asleep = "100 switch 1 0 9; 200 switch 0 0 1; 300 asleep 0 1 0; 1000 waking 2 1;";
    for (then, here_us) in [
        // The CPU that it is woken on is the first that it waits for.
        ("1000 placed 1 1;", 1000),
        ("1000 placed 2 1; 2000 moved 1 1;", 2000),
    ] {
        let lines = reported(&format!("{asleep} {then} 3000 switch 1 9 1"));
        let off = format!("off 1 1 300 1000 {here_us} 3000");
        assert_eq!(lines[..2], [off, "run 9 1 100 3000".to_owned()], "{then}");
    }
}

/// Alone on its CPU, a thread is not switched for as long as it likes: then no switch shows that it is there.
#[test]
fn interrupts_strike_a_thread_that_is_never_switched() {
    for (script, wanted) in [
        ("2000000 runs 0 1; 2000100 softirq 0 50", Some("irq 1 0 50")),
        ("100 switch 0 0 1; 2000000 softirq 0 50", Some("irq 1 0 50")),
        // Threads of the service have been here within a second, and may wait for the CPU.
        ("100 switch 0 0 1; 200 switch 0 1 8; 300 softirq 0 50", Some("irq 8 0 50")),
        // No thread of the service has anything to do with these.
        ("2000000 runs 0 8; 2000100 softirq 0 50", None),
        ("2000000 runs 0 0; 2000100 softirq 0 50", None),
    ] {
        let lines = reported(script);
        let irq = lines.iter().find(|line| line.starts_with("irq")).map(String::as_str);
        assert_eq!(irq, wanted, "{script}");
    }
}

/// Two new threads with one place, on two CPUs at once: the slower one's slot is the next one's.
#[test]
fn a_slot_that_could_not_be_entered_is_not_lost() {
    let lines = reported("100 late 0 1; 200 switch 0 0 1; 300 switch 0 1 2; 400 switch 0 2 1");
    assert_eq!(lines.last().unwrap(), "slots 2");
}

/// Each takes a slot before the other one learns that it was too late with its own.
#[test]
fn slots_that_two_cpus_could_not_enter_at_once_are_not_lost() {
    let late = "100 late 0 2 2; 200 switch 0 0 1; 300 switch 0 1 8; 300 switch 1 2 9;";
    let lines = reported(&format!("{late} 400 switch 0 8 1; 400 switch 1 9 2"));
    assert_eq!(lines.last().unwrap(), "slots 2");
}
