//! Who may be named: a rule that a quiet run must not satisfy for anybody.
//!
//! The excess of a suspect is its mean time per request in the tail less that in the body; all
//! excesses add to that of the totals. A suspect is a culprit if all of this holds:
//!
//! 1. The tail is one: [`REQUESTS`] requests or more, that take [`LONGER`] times as long as the body's.
//! 2. It explains [`SHARE`] of the excess or more. Less does not help to find the cause.
//! 3. It takes [`LEAST_NS`] of each request of the tail or more, in the mean. Every kernel runs
//!    short tasks everywhere, and the slowest of the fast requests are those that met one.
//! 4. It takes [`OVER`] times as long in the tail as in the body: else it is everybody's lot.
//! 5. Not by accident: the lower bound of its share, from a jackknife over [`BLOCKS`] pieces of the
//!    trace, is above [`LOWER`]. One stall makes hundreds of slow requests that are one event: without
//!    its piece nothing is left of the share, so its bound is below 0.
//!
//! Requests are not independent, pieces of half a second nearly are; hence the jackknife over those.

use std::collections::{BTreeSet, HashMap};

use super::join::{BLOCKS, Block, Group};
use super::suspect::Suspect;
use crate::reconstruct::jackknife;

/// Requests of the tail that are needed to name anybody.
pub const REQUESTS: u64 = 20;
/// Mean of the tail over that of the body.
pub const LONGER: f64 = 1.5;
/// Least share of the excess.
pub const SHARE: f64 = 0.1;
/// Least excess per request of the tail, ns.
pub const LEAST_NS: f64 = 200_000.0;
/// Mean in the tail over that in the body.
pub const OVER: f64 = 3.0;
/// What the lower bound of the share must exceed.
pub const LOWER: f64 = 0.02;
/// Confidence of the lower bound: of so many pieces of time as were used, Student's t.
const CONFIDENCE: f64 = 0.995;

/// A suspect, and what it weighs in the excess.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// Whom.
    pub suspect: Suspect,
    /// Mean per request of the tail, ns.
    pub tail_ns: f64,
    /// Mean per request of the body, ns.
    pub body_ns: f64,
    /// Of the tail's excess.
    pub share: f64,
    /// Lower bound of that.
    pub share_low: f64,
    /// It may be named.
    pub is_named: bool,
}

/// All suspects of two groups.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// Mean total of the tail, ns.
    pub tail_ns: f64,
    /// Mean total of the body, ns.
    pub body_ns: f64,
    /// The one that explains most first.
    pub suspects: Vec<Weighed>,
}

impl Weights {
    /// What the tail's requests take longer, ns.
    pub fn excess_ns(&self) -> f64 {
        self.tail_ns - self.body_ns
    }
}

/// Sums of a group, less those of one piece of time.
struct Means<'a> {
    requests: f64,
    total_ns: f64,
    of: HashMap<&'a Suspect, f64>,
}

fn means(blocks: &[Block], without: Option<usize>) -> Means<'_> {
    let mut means = Means { requests: 0.0, total_ns: 0.0, of: HashMap::new() };
    for (number, block) in blocks.iter().enumerate() {
        if Some(number) == without {
            continue;
        }
        means.requests += block.requests as f64;
        means.total_ns += block.total_ns as f64;
        for (suspect, ns) in &block.of {
            *means.of.entry(suspect).or_default() += *ns as f64;
        }
    }
    let n = means.requests.max(1.0);
    means.total_ns /= n;
    means.of.values_mut().for_each(|ns| *ns /= n);
    means
}

fn share(suspect: &Suspect, tail: &Means<'_>, body: &Means<'_>) -> f64 {
    let of = |means: &Means<'_>| means.of.get(suspect).copied().unwrap_or(0.0);
    let excess_ns = tail.total_ns - body.total_ns;
    if excess_ns > 0.0 { (of(tail) - of(body)) / excess_ns } else { 0.0 }
}

/// Weighs every suspect of the two groups.
pub fn weigh(tail: &Group, body: &Group) -> Weights {
    let (all_tail, all_body) = (means(&tail.blocks, None), means(&body.blocks, None));
    // A piece in which no slow request began says nothing of the tail, and leaving it out neither.
    let used: Vec<usize> = (0..BLOCKS).filter(|&b| tail.blocks[b].requests > 0).collect();
    let without: Vec<_> = used
        .iter()
        .map(|&b| (means(&tail.blocks, Some(b)), means(&body.blocks, Some(b))))
        .collect();
    let errors = jackknife::student(CONFIDENCE, used.len().saturating_sub(1));
    let is_tail = all_tail.requests >= REQUESTS as f64
        && all_body.requests > 0.0
        && all_tail.total_ns >= LONGER * all_body.total_ns;
    let seen: BTreeSet<&Suspect> = all_tail.of.keys().chain(all_body.of.keys()).copied().collect();
    let mut suspects: Vec<Weighed> = seen
        .into_iter()
        .map(|suspect| {
            let of = |means: &Means<'_>| means.of.get(suspect).copied().unwrap_or(0.0);
            let share_all = share(suspect, &all_tail, &all_body);
            let shares: Vec<f64> = without.iter().map(|(t, b)| share(suspect, t, b)).collect();
            let share_low = share_all - errors * jackknife::error(&shares);
            let (tail_ns, body_ns) = (of(&all_tail), of(&all_body));
            let is_named = is_tail
                && suspect.is_nameable()
                && share_all >= SHARE
                && tail_ns - body_ns >= LEAST_NS
                && tail_ns >= OVER * body_ns
                && used.len() > 2
                && share_low > LOWER;
            Weighed {
                suspect: suspect.clone(),
                tail_ns,
                body_ns,
                share: share_all,
                share_low,
                is_named,
            }
        })
        .collect();
    suspects.sort_by(|a, b| b.share.total_cmp(&a.share));
    Weights { tail_ns: all_tail.total_ns, body_ns: all_body.total_ns, suspects }
}
