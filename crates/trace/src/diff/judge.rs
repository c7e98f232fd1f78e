//! What has moved: the differences of all parts, and which of them are named.
//!
//! A stage or culprit is named if its change is larger than what counts ([`Asked::least`]), at the error
//! [`Asked::alpha`] of the whole family: stages in the mean, stages in the tail, culprits (Holm). Totals, causes and
//! functions have intervals and are not named, because they are sums of what is.

use std::collections::BTreeSet;

use crate::diff::changes::{self, TOTAL, Two, ordered, part};
use crate::diff::culprits;
use crate::diff::doubts;
use crate::diff::parts::{self, Block};
use crate::diff::read::{Pair, Trace};
use crate::diff::resample::{self, Change};
use crate::diff::text;
use crate::judge::difference::{DiffResult, Part, SCHEMA, Table, TraceFacts};
use crate::judge::summary::cause_word;
use crate::reconstruct::parts::VerdictWord;
use crate::reconstruct::stages::Cause;

/// What the judgement is asked for: quantile, least change, error, seed.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Where the tail begins.
    pub q: f64,
    /// Smaller changes do not count: share of the first side's mean.
    pub least: f64,
    /// The family's error.
    pub alpha: f64,
    /// Of the draws.
    pub seed: u64,
}

/// Compares pairs; one or more.
pub fn diff(pairs: &[Pair], asked: Asked) -> DiffResult {
    let names = names(pairs);
    let requests: Vec<Two> =
        pairs.iter().map(|(a, b)| [blocks(a, &names), blocks(b, &names)]).collect();
    let mut reasons = doubts::doubts(pairs, asked.q);
    let causes = causes(pairs, &names);
    let table = |q| stage_table(&requests, &names, &causes, q, asked);
    let (mut mean, mut tail) = (table(0.0), table(asked.q));
    let culprits_unknown = doubts::of_causes(pairs);
    let compared = || culprits_unknown.is_none().then_some(pairs);
    let mut culprits = compared().and_then(|of| culprits::table(of, asked.least, asked.seed));
    let functions = compared().map_or_else(Vec::new, |of| culprits::functions(of, asked.seed));
    reasons.extend((tail.is_none()).then(|| "no request was matched".to_owned()));
    let mut tables: Vec<&mut Table> =
        [&mut mean, &mut tail, &mut culprits].into_iter().filter_map(Option::as_mut).collect();
    name_moved(&mut tables, asked.alpha, reasons.is_empty());
    let is_of_blocks = pairs.len() == 1;
    let count = |of: fn(&Pair) -> &Trace| {
        if is_of_blocks { of(&pairs[0]).blocks.len() } else { pairs.len() }
    };
    let facts = |of: fn(&Pair) -> &Trace| pairs.iter().map(|pair| facts(of(pair))).collect();
    let mut result = DiffResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        first: facts(|pair| &pair.0),
        second: facts(|pair| &pair.1),
        differs: doubts::differs(pairs),
        units: if is_of_blocks { "blocks" } else { "pairs" }.into(),
        counts: [count(|pair| &pair.0), count(|pair| &pair.1)],
        confidence: resample::CONFIDENCE,
        alpha: asked.alpha,
        least: asked.least,
        seed: asked.seed,
        verdict: if reasons.is_empty() { VerdictWord::Holds } else { VerdictWord::Unknown },
        reasons,
        answer: String::new(),
        mean: mean.unwrap_or_else(|| none(0.0)),
        tail: tail.unwrap_or_else(|| none(asked.q)),
        culprits,
        functions,
        culprits_unknown,
    };
    result.answer = text::answer(&result);
    result
}

/// All parts of any trace, in the order of the first that has each.
fn names(pairs: &[Pair]) -> Vec<String> {
    let mut names = Vec::<String>::new();
    for part in pairs.iter().flat_map(|(first, second)| first.parts.iter().chain(&second.parts)) {
        if !names.contains(part) {
            names.push(part.clone());
        }
    }
    names
}

/// The requests of a trace by these parts and their total.
fn blocks(trace: &Trace, names: &[String]) -> Vec<Block> {
    let place = |name: &String| trace.parts.iter().position(|part| part == name);
    let places: Vec<Vec<usize>> =
        names.iter().map(|name| place(name).into_iter().collect()).collect();
    parts::with_total(&parts::grouped(&trace.blocks, &places))
}

fn causes(pairs: &[Pair], names: &[String]) -> Vec<Cause> {
    let stages = || pairs.iter().flat_map(|(a, b)| a.result.stages.iter().chain(&b.result.stages));
    let cause = |name: &String| stages().find(|stage| stage.name == *name).map(|stage| stage.cause);
    names.iter().map(|name| cause(name).unwrap_or(Cause::Residual)).collect()
}

fn stage_table(
    pairs: &[Two],
    names: &[String],
    causes: &[Cause],
    q: f64,
    asked: Asked,
) -> Option<Table> {
    let mut changes = changes::of(pairs, q, asked.least, asked.seed)?;
    let total = Part { p: 1.0, ..part(TOTAL, None, changes.parts.pop()?) };
    let each = names.iter().zip(causes).zip(changes.parts);
    let listed = each.map(|((name, cause), change)| part(name, Some(*cause), change));
    let parts = ordered(listed.collect());
    let kinds: Vec<Cause> = causes.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let groups: Vec<Vec<usize>> = kinds
        .iter()
        .map(|kind| (0..causes.len()).filter(|&k| causes[k] == *kind).collect())
        .collect();
    let grouped: Vec<Two> =
        pairs.iter().map(|two| [0, 1].map(|side| parts::grouped(&two[side], &groups))).collect();
    let by_cause = changes::of(&grouped, q, 0.0, asked.seed)?.parts;
    let by_cause = kinds
        .iter()
        .zip(by_cause)
        .map(|(kind, change)| Part { p: 1.0, ..part(cause_word(*kind), Some(*kind), change) });
    let causes = ordered(by_cause.collect());
    Some(Table { q, requests: changes.requests, total, parts, causes })
}

/// Marks the parts that moved, of one family; none if the traces are not to be believed.
fn name_moved(tables: &mut [&mut Table], alpha: f64, is_believed: bool) {
    let ps: Vec<f64> = tables.iter().flat_map(|table| &table.parts).map(|part| part.p).collect();
    let adjusted = resample::holm(&ps);
    let all = tables.iter_mut().flat_map(|table| &mut table.parts);
    for (part, p) in all.zip(adjusted) {
        part.p = p;
        part.has_moved = is_believed && p <= alpha;
    }
}

fn facts(trace: &Trace) -> TraceFacts {
    let result = &trace.result;
    TraceFacts {
        file: trace.path.clone(),
        name: result.target.name.clone(),
        started_unix_ns: result.started_unix_ns,
        requests: result.matched,
        verdict: result.verdict.verdict,
    }
}

fn none(q: f64) -> Table {
    let nothing = Change { ns: 0.0, half_ns: f64::INFINITY, p: 1.0 };
    let total = part(TOTAL, None, ([0.0, 0.0], nothing));
    Table { q, requests: [0, 0], total, parts: Vec::new(), causes: Vec::new() }
}

#[cfg(test)]
mod tests;
