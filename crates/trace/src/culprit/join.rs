//! Requests and what was seen, joined: the time of each, cut up, and the sums over a group of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::flame::{Folded, KERNEL, path_of_piece, path_of_stage};
use super::pieces::{Index, Piece};
use super::suspect::{Suspect, WaitKind, wait_stage};
use crate::reconstruct::record::Record;
use crate::reconstruct::stages::{COUNT, RESIDUAL, STAGES};

/// Pieces of equal length that the trace's time is cut into; see [`super::rule`].
pub const BLOCKS: usize = 20;

/// Thread id → name.
pub type ThreadNames = HashMap<u32, String>;

/// Sums over some requests of a group.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// How many.
    pub requests: u64,
    /// Sum of their totals, ns.
    pub total_ns: u64,
    /// The same by suspect, ns; adds to the total.
    pub of: HashMap<Suspect, u64>,
}

/// What is reported of a suspect beside its time.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// Requests that it touched.
    pub requests: u64,
    /// The threads it was, with their time, ns.
    pub tids: BTreeMap<u32, u64>,
    /// Of a sleep that a thread of the service ended: what that one did meanwhile, ns.
    pub did: BTreeMap<String, u64>,
}

/// The requests of the tail, or of the body.
#[derive(Clone, Debug)]
pub struct Group {
    /// By time.
    pub blocks: Vec<Block>,
    /// By suspect.
    pub details: HashMap<Suspect, Detail>,
    /// Time by stack, ns.
    pub folded: Folded,
    /// Time slept in each function and what it called, ns, by block; of the tail only.
    pub functions: BTreeMap<String, [u64; BLOCKS]>,
}

impl Group {
    /// How many requests the group has.
    pub fn requests(&self) -> u64 {
        self.blocks.iter().map(|block| block.requests).sum()
    }
}

/// A request's time, cut up: pieces and rest add to its total.
#[derive(Debug)]
pub struct Cut<'a> {
    /// What kept its thread from running.
    pub pieces: Vec<Piece<'a>>,
    /// What is left of each stage, ns.
    pub rest: [u64; COUNT],
}

impl Cut<'_> {
    /// Its time by suspect, ns.
    pub fn parts(&self) -> Vec<(Suspect, u64)> {
        let mut parts = Vec::new();
        for piece in &self.pieces {
            add(&mut parts, piece.suspect.clone(), piece.ns);
        }
        for (stage, &ns) in self.rest.iter().enumerate() {
            let suspect = if stage == runq() { Suspect::Unseen } else { Suspect::Stage(stage) };
            add(&mut parts, suspect, ns);
        }
        parts
    }
}

/// Cuts a request up, whose `thread` and `writer` are thread ids.
pub fn cut<'a>(record: &Record, index: &Index<'a>) -> Cut<'a> {
    let mut pieces = pieces_of(record, index);
    let mut rest = record.stage_ns;
    for piece in &mut pieces {
        piece.ns = take_off(&mut rest, piece.ns, stage_of(piece));
    }
    pieces.retain(|piece| piece.ns > 0);
    Cut { pieces, rest }
}

fn add(parts: &mut Vec<(Suspect, u64)>, suspect: Suspect, ns: u64) {
    match parts.iter_mut().find(|(of, _)| *of == suspect) {
        _ if ns == 0 => {}
        Some((_, sum)) => *sum += ns,
        None => parts.push((suspect, ns)),
    }
}

/// The thread that read it until it handed over, the thread that wrote from then on.
fn pieces_of<'a>(record: &Record, index: &Index<'a>) -> Vec<Piece<'a>> {
    let (from_ns, to_ns) = (record.start_ns, record.start_ns + record.total_ns);
    if record.writer == 0 || record.writer == record.thread {
        return index.pieces(record.thread, from_ns, to_ns);
    }
    let after: u64 = record.stage_ns[named("handover")..RESIDUAL].iter().sum();
    let handed_ns = index
        .woken_by(record.writer, record.thread, from_ns, to_ns)
        .unwrap_or_else(|| to_ns.saturating_sub(after).max(from_ns));
    let mut pieces = index.pieces(record.thread, from_ns, handed_ns);
    pieces.extend(index.pieces(record.writer, handed_ns, to_ns));
    pieces
}

/// The stage that a piece lies in, if it has one of its own.
fn stage_of(piece: &Piece<'_>) -> Option<usize> {
    match &piece.suspect {
        _ if piece.is_runq => Some(runq()),
        Suspect::Wait { kind, .. } => Some(named(wait_stage(*kind))),
        _ => None,
    }
}

/// Takes `ns` out of the stages, and answers how much was there to take. Waiting for a CPU, and what a
/// thread sleeps on with the request, lie in stages of their own; anything else lies in a stage at
/// least as long, so in the longest.
fn take_off(rest: &mut [u64; COUNT], ns: u64, own: Option<usize>) -> u64 {
    let mut left_ns = ns;
    if let Some(own) = own {
        left_ns -= take(&mut rest[own], left_ns);
    }
    while left_ns > 0 {
        let others = (0..COUNT).filter(|&stage| stage != runq());
        let longest = others.max_by_key(|&stage| rest[stage]).expect("there are stages");
        if rest[longest] == 0 {
            break;
        }
        left_ns -= take(&mut rest[longest], left_ns);
    }
    left_ns -= take(&mut rest[runq()], left_ns);
    ns - left_ns
}

fn take(from: &mut u64, most_ns: u64) -> u64 {
    let taken_ns = most_ns.min(*from);
    *from -= taken_ns;
    taken_ns
}

fn named(name: &str) -> usize {
    STAGES.iter().position(|stage| stage.name == name).expect("a stage of that name")
}

/// The stage that waiting for a CPU lies in.
fn runq() -> usize {
    static AT: LazyLock<usize> = LazyLock::new(|| named("runq_delay"));
    *AT
}

/// Sums over `records`, whose threads are thread ids, by time within `span` (start, end; ns).
///
/// `names` are those of the service's threads. What wakers did is followed in the tail only
/// (`follows`): it is asked of no other, and costs a look at another thread's time.
pub fn group<'r>(
    records: impl IntoIterator<Item = &'r Record>,
    index: &Index<'_>,
    span: (u64, u64),
    names: &ThreadNames,
    follows: bool,
) -> Group {
    let mut group = Group {
        blocks: vec![Block::default(); BLOCKS],
        details: HashMap::new(),
        folded: Folded::new(),
        functions: BTreeMap::new(),
    };
    let length_ns = span.1.saturating_sub(span.0).max(1);
    for record in records {
        let cut = cut(record, index);
        let at = record.start_ns.saturating_sub(span.0) as u128 * BLOCKS as u128;
        let number = (at / length_ns as u128).min(BLOCKS as u128 - 1) as usize;
        let block = &mut group.blocks[number];
        block.requests += 1;
        block.total_ns += record.total_ns;
        let root = names.get(&record.thread).map_or("thread", String::as_str);
        for (suspect, ns) in cut.parts() {
            if !matches!(suspect, Suspect::Stage(_)) {
                group.details.entry(suspect.clone()).or_default().requests += 1;
            }
            *block.of.entry(suspect).or_default() += ns;
        }
        for (stage, &ns) in cut.rest.iter().enumerate().filter(|(_, ns)| **ns > 0) {
            *group.folded.entry(path_of_stage(root, stage)).or_default() += ns;
        }
        for piece in &cut.pieces {
            let path = path_of_piece(root, piece, index.stacks());
            *group.folded.entry(path).or_default() += piece.ns;
            if follows {
                for name in slept_in(piece, index) {
                    group.functions.entry(name).or_default()[number] += piece.ns;
                }
            }
            detail(&mut group, piece, record, index, names, follows);
        }
    }
    group
}

/// The functions on the stack of a thread that slept, each once.
fn slept_in(piece: &Piece<'_>, index: &Index<'_>) -> BTreeSet<String> {
    let Some(off) = piece.off else { return BTreeSet::new() };
    let kernel = index.stacks().kernel_of(off).iter().map(|name| format!("{name}{KERNEL}"));
    index.stacks().user_of(off).iter().map(ToString::to_string).chain(kernel).collect()
}

fn detail(
    group: &mut Group,
    piece: &Piece<'_>,
    record: &Record,
    index: &Index<'_>,
    names: &ThreadNames,
    follows: bool,
) {
    let detail = group.details.entry(piece.suspect.clone()).or_default();
    if let Some(tid) = piece.tid {
        *detail.tids.entry(tid).or_default() += piece.ns;
    }
    let (Some(off), Suspect::Wait { kind: WaitKind::Futex, .. }) = (piece.off, &piece.suspect)
    else {
        return;
    };
    let Some(waker) = off.waker.as_ref().filter(|waker| follows && index.is_own(waker.tgid)) else {
        return;
    };
    *detail.tids.entry(waker.tid).or_default() += piece.ns;
    let from_ns = off.from_ns.max(record.start_ns);
    let mut ran_ns = off.woken_ns.saturating_sub(from_ns);
    for other in index.pieces(waker.tid, from_ns, off.woken_ns) {
        ran_ns = ran_ns.saturating_sub(other.ns);
        *detail.did.entry(other.suspect.words()).or_default() += other.ns;
    }
    let name = names.get(&waker.tid).map_or(&*waker.comm, String::as_str);
    *detail.did.entry(format!("`{name}` ran")).or_default() += ran_ns;
}
