//! The most that an antagonist can do: measured flat out before it begins.
//!
//! What needs a CPU and nothing else is measured per second of CPU time, so that it is not taken for
//! slow because others run. What sleeps is measured per second.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic, process_cpu_ns};

use crate::antagonist::{Antagonist, Most};

const ROUNDS: u64 = 5;
/// Work is asked for in larger pieces until one takes this long, ns.
const PIECE_NS: u64 = 2_000_000;

/// How the most was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// "cpu time", "time", "parameters" or "given".
    pub by: &'static str,
    /// Units per second flat out: the best of the rounds.
    pub most_per_s: f64,
    /// Units per second of each round; empty if it was not measured.
    pub rounds: Vec<f64>,
}

impl Calibration {
    /// One that was not measured.
    pub fn told(by: &'static str, most_per_s: f64) -> Self {
        Self { by, most_per_s, rounds: Vec::new() }
    }
}

/// Measures for `length_ns` in five rounds; less if `stop` is set.
pub fn measure(
    worker: &mut dyn Antagonist,
    most: Most,
    length_ns: u64,
    stop: &AtomicBool,
) -> Result<Calibration, Fault> {
    let is_by_cpu = most == Most::PerCpuSecond;
    let mut rounds = Vec::new();
    let mut piece = 1;
    for _ in 0..ROUNDS {
        let (start_ns, cpu_ns, mut units) = (Monotonic.now_ns(), process_cpu_ns(), 0);
        loop {
            let before_ns = Monotonic.now_ns();
            units += worker.work(piece)?;
            let now_ns = Monotonic.now_ns();
            if now_ns - before_ns < PIECE_NS {
                piece *= 2;
            }
            if now_ns - start_ns >= length_ns / ROUNDS || stop.load(Ordering::Relaxed) {
                let used_ns = if is_by_cpu { process_cpu_ns() - cpu_ns } else { now_ns - start_ns };
                rounds.push(units as f64 * 1e9 / used_ns.max(1) as f64);
                break;
            }
        }
    }
    let most_per_s = rounds.iter().copied().fold(0.0, f64::max);
    Ok(Calibration { by: if is_by_cpu { "cpu time" } else { "time" }, most_per_s, rounds })
}
