//! The changes of parts between the sides, of one pair of traces or of several.

use crate::diff::parts::{Block, Means, Side};
use crate::diff::resample::{self, Change};
use crate::judge::difference::Part;
use crate::reconstruct::stages::Cause;

/// What all parts add up to.
pub const TOTAL: &str = "total";

/// The requests of a pair of traces: first side, second side.
pub type Two = [Vec<Block>; 2];

/// One part's values on both sides, and its change.
pub type Compared = ([f64; 2], Change);

/// All parts of all pairs; the last part is the total.
#[derive(Debug)]
pub struct Changes {
    /// By part.
    pub parts: Vec<Compared>,
    /// Requests of each side.
    pub requests: [u64; 2],
}

/// The changes from `q` on; smaller ones than the share `least` of the first side's total, which is the last part, do
/// not count. `None`: a trace has no request.
pub fn of(pairs: &[Two], q: f64, least: f64, seed: u64) -> Option<Changes> {
    of_open(pairs, q, least, &[], seed)
}

/// The same where a part's change is known to `open_ns` only, by part, ns; of further parts it is known. So much of a
/// change does not count, and its interval is so much wider on both sides.
pub fn of_open(pairs: &[Two], q: f64, least: f64, open_ns: &[f64], seed: u64) -> Option<Changes> {
    let sides: Vec<[Side; 2]> = pairs
        .iter()
        .map(|[first, second]| Some([Side::new(first, q)?, Side::new(second, q)?]))
        .collect::<Option<_>>()?;
    let means: Vec<[Means; 2]> = sides.iter().map(|[a, b]| [a.means(), b.means()]).collect();
    let width = means.first()?[0].parts_ns.len();
    let n = means.len() as f64;
    let mean =
        |side: usize, k: usize| means.iter().map(|pair| pair[side].parts_ns[k]).sum::<f64>() / n;
    let open = |k: usize| open_ns.get(k).copied().unwrap_or(0.0);
    let least_ns: Vec<f64> = (0..width).map(|k| least * mean(0, width - 1) + open(k)).collect();
    let changes = if let [[first, second]] = &sides[..] {
        resample::of_two(first, second, &least_ns, seed)
    } else {
        let less = |[first, second]: &[Means; 2]| -> Vec<f64> {
            first.parts_ns.iter().zip(&second.parts_ns).map(|(a, b)| b - a).collect()
        };
        resample::of_pairs(&means.iter().map(less).collect::<Vec<_>>(), &least_ns)
    };
    let wider = |k, change: Change| Change { half_ns: change.half_ns + open(k), ..change };
    let values = |k| [mean(0, k), mean(1, k)];
    let requests = |side: usize| means.iter().map(|pair| pair[side].requests).sum::<f64>().round();
    Some(Changes {
        parts: changes.into_iter().enumerate().map(|(k, it)| (values(k), wider(k, it))).collect(),
        requests: [0, 1].map(|side| requests(side) as u64),
    })
}

/// Parts that took any time, the largest change first.
pub fn ordered(mut parts: Vec<Part>) -> Vec<Part> {
    parts.retain(|part| part.first_ns > 0.0 || part.second_ns > 0.0);
    parts.sort_by(|a, b| b.change_ns.abs().total_cmp(&a.change_ns.abs()));
    parts
}

/// The changes of a part as they are written to JSON.
pub fn part(name: &str, cause: Option<Cause>, ([first_ns, second_ns], change): Compared) -> Part {
    let end = |ns: f64| ns.is_finite().then_some(ns);
    Part {
        name: name.into(),
        cause,
        first_ns,
        second_ns,
        change_ns: change.ns,
        low_ns: end(change.ns - change.half_ns),
        high_ns: end(change.ns + change.half_ns),
        p: change.p,
        has_moved: false,
    }
}
