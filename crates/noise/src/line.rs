//! What is printed: a line when it begins, one every second, one when it ends. All are JSON.
//!
//! Whoever reads progress needs `unit`, `at_ns`, `length_s`, `asked_per_s` and `achieved_per_s` of
//! the lines of seconds, and `alone_per_s` of the first; the lab reads these of any neighbour.

use serde::Serialize;

use crate::calibrate::Calibration;
use crate::job::Job;

/// Version of the lines' form.
pub const SCHEMA: &str = "sojourn.noise/1";

/// The line with which it begins.
#[derive(Clone, Debug, Serialize)]
pub struct First {
    /// Version of the form.
    pub schema: &'static str,
    /// The antagonist.
    pub kind: &'static str,
    /// What progress is counted in.
    pub unit: &'static str,
    /// Units per second that are asked.
    pub asked_per_s: f64,
    /// Units per second flat out: the progress of one that is alone at 100 %.
    pub alone_per_s: f64,
    /// Units that a second of waiting for a CPU can cost.
    pub per_wait_s: f64,
    /// Whether it takes what it can get: then nothing is held.
    pub is_flat_out: bool,
    /// How the progress alone was found.
    pub calibration: Calibration,
    /// What it took, in words.
    pub told: String,
    /// As it was started.
    pub job: Job,
    /// The process.
    pub pid: u32,
    /// When it begins, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// The line of a second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Second {
    /// End of it since the beginning, s.
    pub t_s: f64,
    /// End of it, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Its length, s; the last one is shorter.
    pub length_s: f64,
    /// What progress is counted in.
    pub unit: &'static str,
    /// Units per second that were asked.
    pub asked_per_s: f64,
    /// Units per second that were done.
    pub achieved_per_s: f64,
    /// Units done since the beginning.
    pub units: u64,
    /// CPU time used in it, all threads, s.
    pub cpu_s: f64,
    /// Time its threads were ready and had no CPU, s; null where the kernel does not tell.
    pub runq_wait_s: Option<f64>,
}

/// The line with which it ends: all seconds together.
#[derive(Clone, Debug, Serialize)]
pub struct Last {
    /// Always true: the mark of this line.
    pub is_summary: bool,
    /// All seconds as if they were one.
    #[serde(flatten)]
    pub whole: Second,
    /// Units that were given up because they were too late.
    pub forgone: u64,
    /// Whether what was asked was held; null if nothing was to be held.
    pub is_held: Option<bool>,
    /// What may be missing, as a share.
    pub tolerance: f64,
    /// The judgement in words.
    pub why: String,
}

/// Whether the intensity was held, and the judgement in words.
///
/// What is missing because the antagonist had to wait for a CPU is its loss, and not its fault: a
/// neighbour that is slowed down is what is to be measured. What is missing beyond that means that
/// it was not the neighbour that was asked for.
///
/// * `per_wait_s`: units that a second of waiting can cost.
/// * `is_flat_out`: it took what it could get.
pub fn judge(
    whole: &Second,
    per_wait_s: f64,
    tolerance: f64,
    is_flat_out: bool,
) -> (Option<bool>, String) {
    let (asked, achieved) = (whole.asked_per_s, whole.achieved_per_s);
    let both = format!("asked {asked:.4e}, achieved {achieved:.4e} {}/s", whole.unit);
    if is_flat_out {
        return (None, format!("flat out, nothing to hold: {both}"));
    }
    if whole.length_s < 0.5 {
        return (None, format!("too short for a result: {both}"));
    }
    let waited = whole.runq_wait_s.unwrap_or(0.0) / whole.length_s;
    let allowed = tolerance * asked;
    if achieved > asked + allowed {
        return (Some(false), format!("more than was asked: {both}"));
    }
    if asked - achieved <= allowed {
        return (Some(true), both);
    }
    if asked - achieved <= allowed + per_wait_s * waited {
        return (Some(true), format!("slowed down by waiting {waited:.3} of the time: {both}"));
    }
    (Some(false), format!("not held, though it waited only {waited:.3} of the time: {both}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(achieved_per_s: f64, wait_s: Option<f64>) -> Second {
        Second {
            t_s: 10.0,
            at_ns: 0,
            length_s: 10.0,
            unit: "blocks",
            asked_per_s: 500.0,
            achieved_per_s,
            units: 0,
            cpu_s: 1.0,
            runq_wait_s: wait_s,
        }
    }

    #[test]
    fn a_loss_by_waiting_is_a_loss_and_any_other_is_a_fault() {
        let held = |achieved, wait_s| judge(&second(achieved, wait_s), 1000.0, 0.05, false).0;
        assert_eq!(held(480.0, Some(0.0)), Some(true));
        assert_eq!(held(470.0, Some(0.0)), Some(false));
        assert_eq!(held(300.0, Some(2.0)), Some(true)); // 175 missing, 0.2 × 1000 explained
        assert_eq!(held(200.0, Some(2.0)), Some(false));
        assert_eq!(held(530.0, None), Some(false));
        assert_eq!(judge(&second(3.0, None), 1000.0, 0.05, true).0, None);
    }
}
