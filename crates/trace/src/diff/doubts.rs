//! What speaks against a comparison: traces that are not to be believed, and differences between the traces.

use std::collections::BTreeSet;

use crate::diff::read::{Pair, Trace};

/// Blocks a side that are needed where they are the units.
pub const BLOCKS_MIN: usize = 8;
/// Requests a tail that are needed.
pub const REQUESTS_MIN: f64 = 20.0;

/// Why the answer must not be believed.
pub fn doubts(pairs: &[Pair], q: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    for trace in traces(pairs) {
        reasons.extend(unknown(trace));
        if pairs.len() == 1 && trace.blocks.len() < BLOCKS_MIN {
            reasons.push(format!(
                "{}: it has {} blocks, and {BLOCKS_MIN} are needed: trace for longer",
                trace.path,
                trace.blocks.len()
            ));
        }
        let requests: f64 = trace.blocks.iter().flatten().map(|row| row.requests).sum();
        if requests * (1.0 - q) < REQUESTS_MIN {
            reasons.push(format!(
                "{}: {requests} requests have a tail of {:.0}, and {REQUESTS_MIN} are needed: trace for longer, or \
                 give a lower --tail",
                trace.path,
                requests * (1.0 - q)
            ));
        }
    }
    reasons
}

/// Why causes and functions are not compared; `None`: they are, or a trace has none.
pub fn of_causes(pairs: &[Pair]) -> Option<String> {
    let has_all = traces(pairs).all(|trace| trace.result.blame.is_some());
    let why = || traces(pairs).find_map(|trace| unknown(trace).or_else(|| unknown_causes(trace)));
    has_all.then(why).flatten()
}

fn traces(pairs: &[Pair]) -> impl Iterator<Item = &Trace> {
    pairs.iter().flat_map(|(first, second)| [first, second])
}

/// Why the trace must not be believed, if it says so itself.
fn unknown(trace: &Trace) -> Option<String> {
    let why = trace.result.verdict.doubt()?;
    Some(format!("{}: its verdict is unknown: {why}", trace.path))
}

/// Why its causes must not be, though the rest may.
fn unknown_causes(trace: &Trace) -> Option<String> {
    let why = trace.result.blame.as_ref()?.doubt()?;
    Some(format!("{}: its causes are unknown: {why}", trace.path))
}

/// How the traces themselves differ: it may be why numbers do.
pub fn differs(pairs: &[Pair]) -> Vec<String> {
    let sides = |of: &dyn Fn(&Trace) -> String| {
        let first: BTreeSet<String> = pairs.iter().map(|pair| of(&pair.0)).collect();
        let second: BTreeSet<String> = pairs.iter().map(|pair| of(&pair.1)).collect();
        let words = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" and ");
        (first != second).then(|| format!("{} and {}", words(&first), words(&second)))
    };
    let rate = |trace: &Trace| {
        let sampling = &trace.result.sampling;
        let one_in = f64::from(sampling.one_in.unwrap_or(1));
        trace.result.matched as f64 * one_in * 1e9 / sampling.traced_ns.max(1) as f64
    };
    let mut list: Vec<String> = [
        ("kernel", sides(&|trace| trace.result.kernel.clone())),
        ("process", sides(&|trace| trace.result.target.name.clone())),
        ("way to trace", sides(&|trace| trace.result.mode.clone())),
        ("version of the tracer", sides(&|trace| trace.result.version.clone())),
    ]
    .into_iter()
    .filter_map(|(what, words)| Some(format!("{what}: {}", words?)))
    .collect();
    let mean = |of: fn(&Pair) -> &Trace| {
        pairs.iter().map(|pair| rate(of(pair))).sum::<f64>() / pairs.len() as f64
    };
    let (before, after) = (mean(|pair| &pair.0), mean(|pair| &pair.1));
    if (after - before).abs() > 0.1 * before {
        list.push(format!("load: {before:.0} and {after:.0} requests/s"));
    }
    list
}
