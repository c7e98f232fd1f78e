//! The tail by culprit, and the functions it slept in, of traces with `--blame`.
//!
//! A trace lists the largest culprits and functions only. One that it does not list need not be absent: it may have as
//! much as all that the list leaves out. So much of a change does not count, and where that is all of it, the time
//! stays with the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::culprit::result::Blame;
use crate::culprit::tail::{self, TailBlock};
use crate::diff::changes::{self, TOTAL, Two, ordered, part};
use crate::diff::parts::{Block, Row};
use crate::diff::read::{Pair, Trace};
use crate::judge::difference::{Part, Table};

/// Functions listed.
const FUNCTIONS: usize = 12;
/// What no culprit has: the time of the stages themselves, and of culprits that a trace did not list.
const REST: &str = "everything else";

/// Time of the tail's requests by name, in pieces of the trace, ns.
type Pieces = BTreeMap<String, Vec<u64>>;

/// What one trace lists.
struct Listed {
    pieces: Pieces,
    requests: f64,
    /// One that is not listed has at most so much, ns per request.
    unlisted_ns: f64,
}

/// The traces by the same names.
struct Both {
    names: Vec<String>,
    sides: Vec<Two>,
    /// By name, and of the rest at last: by how much its change may be wrong, ns, where traces do not list it.
    open_ns: Vec<f64>,
}

/// The tail by culprit; `None` if a trace has none.
pub fn table(pairs: &[Pair], least: f64, seed: u64) -> Option<Table> {
    let Both { names, sides, open_ns } = both(pairs, of_culprits)?;
    let changes = changes::of_open(&sides, 0.0, least, &open_ns, seed)?;
    let names = names.into_iter().chain([REST.into(), TOTAL.into()]);
    let mut parts: Vec<Part> =
        names.zip(changes.parts).map(|(name, change)| part(&name, None, change)).collect();
    let total = Part { p: 1.0, ..parts.pop()? };
    parts.last_mut()?.p = 1.0; // the rest has no name
    let q = pairs[0].0.result.blame.as_ref().map_or(0.0, |blame| blame.q);
    let (parts, causes) = (ordered(parts), Vec::new());
    Some(Table { q, requests: changes.requests, total, parts, causes })
}

/// Functions with the largest changes of time.
pub fn functions(pairs: &[Pair], seed: u64) -> Vec<Part> {
    let Some(Both { names, sides, open_ns }) = both(pairs, of_functions) else { return Vec::new() };
    let changes = changes::of_open(&sides, 0.0, 0.0, &open_ns, seed);
    let each = names.iter().zip(changes.map_or(Vec::new(), |changes| changes.parts));
    let list = each.map(|(name, change)| Part { p: 1.0, ..part(name, None, change) });
    let mut list = ordered(list.collect());
    list.truncate(FUNCTIONS);
    list
}

fn of_culprits(blame: &Blame) -> Listed {
    let mut pieces = Pieces::new();
    for suspect in blame.suspects.iter().filter(|suspect| suspect.kind != "stage") {
        let sums = pieces.entry(suspect.about.clone()).or_default();
        sums.resize(blame.tail_blocks.len(), 0);
        let each = sums.iter_mut().zip(&suspect.tail_blocks_ns);
        each.for_each(|(sum, ns)| *sum = sum.saturating_add(*ns));
    }
    let listed_ns: f64 = blame.suspects.iter().map(|suspect| sum_of(&suspect.tail_blocks_ns)).sum();
    let all_ns: f64 = blame.tail_blocks.iter().map(|block| block.total_ns as f64).sum();
    listed(blame, pieces, all_ns - listed_ns)
}

fn of_functions(blame: &Blame) -> Listed {
    let each = blame.functions.iter();
    let pieces = each.map(|function| (function.name.clone(), function.tail_blocks_ns.clone()));
    let is_cut = blame.functions.len() >= tail::FUNCTIONS;
    let sums = blame.functions.iter().map(|function| sum_of(&function.tail_blocks_ns));
    let least_ns = if is_cut { sums.fold(f64::INFINITY, f64::min) } else { 0.0 };
    listed(blame, pieces.collect(), least_ns)
}

/// `unlisted_ns`: of all requests of the tail together.
fn listed(blame: &Blame, pieces: Pieces, unlisted_ns: f64) -> Listed {
    let requests: f64 = blame.tail_blocks.iter().map(|block| block.requests as f64).sum();
    let requests = requests.max(1.0);
    Listed { pieces, requests, unlisted_ns: (unlisted_ns / requests).max(0.0) }
}

fn sum_of(pieces_ns: &[u64]) -> f64 {
    pieces_ns.iter().map(|&ns| ns as f64).sum()
}

/// The tail's requests of one trace in pieces: these names, then the rest, then the total.
fn blocks(blame: &Blame, pieces: &Pieces, names: &[String]) -> Vec<Block> {
    let block = |(number, piece): (usize, &TailBlock)| {
        let at = |name| pieces.get(name).and_then(|sums: &Vec<u64>| sums.get(number)).copied();
        let mut parts_ns: Vec<f64> =
            names.iter().map(|name| at(name).unwrap_or(0) as f64).collect();
        let total_ns = piece.total_ns as f64;
        parts_ns.push(total_ns - parts_ns.iter().sum::<f64>());
        parts_ns.push(total_ns);
        vec![Row { from_ns: 0, requests: piece.requests as f64, parts_ns }]
    };
    blame.tail_blocks.iter().enumerate().map(block).collect()
}

/// Both sides of every pair by the names of which the lists show a change; `None` if a trace has none.
fn both(pairs: &[Pair], of: fn(&Blame) -> Listed) -> Option<Both> {
    let blame = |trace: &Trace| trace.result.blame.clone().filter(|b| b.tail_blocks.len() > 1);
    let blames: Vec<[Blame; 2]> =
        pairs.iter().map(|(a, b)| Some([blame(a)?, blame(b)?])).collect::<Option<_>>()?;
    let taken: Vec<[Listed; 2]> = blames.iter().map(|two| [of(&two[0]), of(&two[1])]).collect();
    let mean = |of: &dyn Fn(&Listed) -> f64| {
        taken.iter().flatten().map(of).sum::<f64>() / taken.len() as f64
    };
    let all: BTreeSet<&String> = taken.iter().flatten().flat_map(|it| it.pieces.keys()).collect();
    let (mut names, mut open_ns) = (Vec::new(), Vec::new());
    for name in all {
        let listed_ns = mean(&|it| it.pieces.get(name).map_or(0.0, |ns| sum_of(ns) / it.requests));
        let name_open_ns =
            mean(&|it| if it.pieces.contains_key(name) { 0.0 } else { it.unlisted_ns });
        if name_open_ns == 0.0 || name_open_ns < listed_ns {
            names.push(name.clone());
            open_ns.push(name_open_ns);
        }
    }
    let lacks = |it: &Listed| names.iter().any(|name| !it.pieces.contains_key(name));
    open_ns.push(mean(&|it| if lacks(it) { it.unlisted_ns } else { 0.0 }));
    let of_pair = |(two, listed): (&[Blame; 2], &[Listed; 2])| {
        [0, 1].map(|side| blocks(&two[side], &listed[side].pieces, &names))
    };
    let sides = blames.iter().zip(&taken).map(of_pair).collect();
    Some(Both { names, sides, open_ns })
}
