//! Who is known to run on a CPU, to the microsecond: `who.c` plays the kernel.

use std::sync::OnceLock;

use crate::world::{compiled, played};

/// What a script, events apart by `;`, leads to.
fn reported(script: &str) -> String {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| compiled("booking-who", "who.c", &[]));
    played(program, script)
}

#[test]
fn a_sample_shows_who_is_never_switched() {
    assert_eq!(reported("100 runs 1; 200 begin; 9000 sample; 30000 end"), "cpu 1 0 0\n");
}

/// The look has been of task 1, of which nothing is known; task 2, which reads the result, was not there.
#[test]
fn a_sample_after_the_end_is_none_of_the_look() {
    let text = reported("100 runs 1; 200 begin; 30000 end; 30500 runs 2; 30600 sample");
    assert_eq!(text, "cpu 0 0 0\n");
}

/// The switch from task 1 to task 2 is left out: until the next sample the time is of no known task, and not after it.
#[test]
fn a_sample_shows_that_a_switch_was_left_out() {
    let left_out = "100 switch 0 1; 200 begin; 5200 runs 2; 10200 sample;";
    assert_eq!(reported(&format!("{left_out} 30200 end")), "cpu 2 10200 10000\n");
    let text = reported(&format!("{left_out} 20200 switch 2 3; 20300 sample; 30200 end"));
    assert_eq!(text, "task 2 10000\ncpu 3 20200 10000\n");
    let before = reported("100 switch 0 1; 150 runs 2; 180 sample; 200 begin; 700 switch 2 1");
    assert_eq!(before, "task 2 500\ncpu 1 700 0\n", "before the look nothing is counted");
}
