//! The tail by culprit, and the functions it slept in, of traces with `--blame`.

use std::collections::{BTreeMap, BTreeSet};

use crate::culprit::result::Blame;
use crate::culprit::tail::TailBlock;
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

/// The tail by culprit; `None` if a trace has none.
pub fn table(pairs: &[Pair], least: f64, seed: u64) -> Option<Table> {
    let (names, sides) = both(pairs, of_culprits)?;
    let changes = changes::of(&sides, 0.0, least, seed)?;
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
    let Some((names, sides)) = both(pairs, of_functions) else { return Vec::new() };
    let changes = changes::of(&sides, 0.0, 0.0, seed).map_or(Vec::new(), |changes| changes.parts);
    let each = names.iter().zip(changes);
    let list = each.map(|(name, change)| Part { p: 1.0, ..part(name, None, change) });
    let mut list = ordered(list.collect());
    list.truncate(FUNCTIONS);
    list
}

fn of_culprits(blame: &Blame) -> Pieces {
    let mut pieces = Pieces::new();
    for suspect in blame.suspects.iter().filter(|suspect| suspect.kind != "stage") {
        let sums = pieces.entry(suspect.about.clone()).or_default();
        sums.resize(blame.tail_blocks.len(), 0);
        sums.iter_mut().zip(&suspect.tail_blocks_ns).for_each(|(sum, ns)| *sum += ns);
    }
    pieces
}

fn of_functions(blame: &Blame) -> Pieces {
    let each = blame.functions.iter();
    each.map(|function| (function.name.clone(), function.tail_blocks_ns.clone())).collect()
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

/// Both sides of every pair by the same names; `None` if a trace has none.
fn both(pairs: &[Pair], of: fn(&Blame) -> Pieces) -> Option<(Vec<String>, Vec<Two>)> {
    let blame = |trace: &Trace| trace.result.blame.clone().filter(|b| b.tail_blocks.len() > 1);
    let blames: Vec<[Blame; 2]> =
        pairs.iter().map(|(a, b)| Some([blame(a)?, blame(b)?])).collect::<Option<_>>()?;
    let taken: Vec<[Pieces; 2]> = blames.iter().map(|two| [of(&two[0]), of(&two[1])]).collect();
    let names: BTreeSet<&String> = taken.iter().flatten().flat_map(Pieces::keys).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let of_pair = |(two, pieces): (&[Blame; 2], &[Pieces; 2])| {
        [0, 1].map(|side| blocks(&two[side], &pieces[side], &names))
    };
    let sides = blames.iter().zip(&taken).map(of_pair).collect();
    Some((names, sides))
}
