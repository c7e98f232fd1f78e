//! How often do the intervals of `sojourn-trace diff` hold, and how often does it name what did not move?
//!
//! `moved PAIRS SEED` draws pairs of request lists with a known truth and prints a JSON line for each kind of
//! machine: of all parts of mean and tail how many intervals had the truth, in how many pairs any part was named
//! that did not move, and in how many the planted part was named first. The truth comes from a list of four
//! million requests each. A side has 20 blocks of 1,000 requests. Stages: application (log-normal), batch wait (exponential) and
//! the run queue, which stalls give to requests in a row. The plant: 2 ms of sleep in 3 % of the second side's.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for benchmarks: what fails, ends it

use std::collections::BTreeMap;

use serde_json::json;
use sojourn_base::rng::{self, Rng, RngExt as _};
use sojourn_trace::diff::parts::{self, Block, Row, Side};
use sojourn_trace::diff::resample::{self, holm};
use sojourn_trace::reconstruct::bins::{row_low_ns, row_of};

const PARTS: [&str; 4] = ["application", "batch_wait", "runq_delay", "wait_sleep"];
const PLANTED: usize = 3;
const BLOCKS: usize = 20;
const REQUESTS: usize = 1000;
const TRUTH_BLOCKS: usize = 4000;
const LEAST: f64 = 0.1;
const ALPHA: f64 = 0.01;

/// A machine: stalls a block, their mean length, how much speed differs from block to block, and how much of
/// that a block has from the one before.
struct Machine {
    name: &'static str,
    stalls: f64,
    stall_ns: f64,
    drift: f64,
    memory: f64,
}

const MACHINES: [Machine; 5] = [
    Machine { name: "quiet", stalls: 0.0, stall_ns: 0.0, drift: 0.0, memory: 0.0 },
    Machine { name: "stalls", stalls: 1.0, stall_ns: 2e6, drift: 0.05, memory: 0.0 },
    Machine { name: "rare stalls", stalls: 0.2, stall_ns: 8e6, drift: 0.05, memory: 0.0 },
    Machine { name: "uneven", stalls: 1.0, stall_ns: 1e6, drift: 0.3, memory: 0.0 },
    Machine { name: "drifting", stalls: 1.0, stall_ns: 1e6, drift: 0.15, memory: 0.7 },
];

fn normal(rng: &mut Rng) -> f64 {
    let (radius, angle) = (rng::open_unit(rng), rng::open_unit(rng));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

fn exponential(rng: &mut Rng) -> f64 {
    -rng::open_unit(rng).ln()
}

/// The rows of `blocks` blocks, one after the other.
fn side(machine: &Machine, planted: bool, blocks: usize, rng: &mut Rng) -> Vec<Block> {
    let mut level = normal(rng);
    (0..blocks)
        .map(|_| {
            level = machine.memory * level + (1.0 - machine.memory.powi(2)).sqrt() * normal(rng);
            let speed = (machine.drift * level).exp();
            let mut stalled = vec![0.0; REQUESTS];
            let mut next = exponential(rng);
            while machine.stalls > 0.0 && next < machine.stalls {
                let (at, long) =
                    (rng.random_range(0..REQUESTS), machine.stall_ns * exponential(rng));
                // Requests that came meanwhile wait for the rest of it.
                let struck = (long / 1e6 * 20.0).ceil() as usize;
                for (k, wait) in stalled.iter_mut().skip(at).take(struck).enumerate() {
                    *wait += long * (1.0 - k as f64 / struck as f64);
                }
                next += exponential(rng);
            }
            let mut rows = BTreeMap::<u64, Row>::new();
            for runq in stalled {
                let application = 40e3 * speed * (0.4 * normal(rng)).exp();
                let batch = 10e3 * speed * exponential(rng);
                let sleep = if planted && rng::open_unit(rng) < 0.03 { 2e6 } else { 0.0 };
                let ns = [application, batch, runq, sleep];
                let from_ns = row_low_ns(row_of(ns.iter().sum::<f64>() as u64));
                let row = rows.entry(from_ns).or_insert_with(|| Row {
                    from_ns,
                    requests: 0.0,
                    parts_ns: vec![0.0; PARTS.len()],
                });
                row.requests += 1.0;
                row.parts_ns.iter_mut().zip(ns).for_each(|(sum, ns)| *sum += ns);
            }
            rows.into_values().collect()
        })
        .collect()
}

fn from(blocks: &[Block], q: f64) -> Side {
    Side::new(&parts::with_total(blocks), q).unwrap()
}

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let [pairs, seed] = words[..] else { panic!("PAIRS SEED") };
    for machine in &MACHINES {
        for planted in [false, true] {
            println!("{}", line(machine, planted, pairs, seed));
        }
    }
}

fn line(machine: &Machine, planted: bool, pairs: u64, seed: u64) -> serde_json::Value {
    let truth = [0.0, 0.99].map(|q| {
        [false, planted].map(|planted| {
            let mut rng = rng::stream(seed, "truth", u64::from(planted));
            from(&side(machine, planted, TRUTH_BLOCKS, &mut rng), q).means()
        })
    });
    let (mut held, mut all, mut false_alarms, mut first) = ([0_u64; 2], [0_u64; 2], 0_u64, 0_u64);
    for pair in 0..pairs {
        let mut rng = rng::stream(seed, machine.name, 2 * pair + u64::from(planted));
        let two = [false, planted].map(|planted| side(machine, planted, BLOCKS, &mut rng));
        let (mut ps, mut sizes) = (Vec::new(), Vec::new());
        for (number, q) in [0.0, 0.99].into_iter().enumerate() {
            let [first, second] = [from(&two[0], q), from(&two[1], q)];
            let [before, after] = [first.means(), second.means()];
            let least_ns = [LEAST * before.parts_ns[PARTS.len()]; PARTS.len() + 1];
            let changes = resample::of_two(&first, &second, &least_ns, seed + pair);
            for (k, change) in changes.iter().enumerate() {
                if before.parts_ns[k] + after.parts_ns[k] == 0.0 {
                    continue; // a part that is nowhere has no interval
                }
                all[number] += 1;
                let truth_ns = truth[number][1].parts_ns[k] - truth[number][0].parts_ns[k];
                held[number] += u64::from((change.ns - truth_ns).abs() <= change.half_ns);
            }
            ps.extend(changes[..PARTS.len()].iter().map(|change| change.p));
            sizes.extend(changes[..PARTS.len()].iter().map(|change| change.ns.abs()));
        }
        let named: Vec<bool> = holm(&ps).into_iter().map(|p| p <= ALPHA).collect();
        let truly = |k: usize| {
            let (number, part) = (k / PARTS.len(), k % PARTS.len());
            let [before, after] = &truth[number];
            (after.parts_ns[part] - before.parts_ns[part]).abs()
                > LEAST * before.parts_ns[PARTS.len()]
        };
        false_alarms += u64::from((0..ps.len()).any(|k| named[k] && !truly(k)));
        let in_tail = PARTS.len()..2 * PARTS.len();
        let most = in_tail.filter(|&k| named[k]).max_by(|&a, &b| sizes[a].total_cmp(&sizes[b]));
        first += u64::from(most == Some(PARTS.len() + PLANTED));
    }
    json!({
        "machine": machine.name, "planted": planted, "pairs": pairs, "seed": seed,
        "mean_held": held[0] as f64 / all[0] as f64,
        "tail_held": held[1] as f64 / all[1] as f64,
        "false_alarms": false_alarms, "planted_first": first,
    })
}
