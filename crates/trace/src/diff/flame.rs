//! The tails of both sides by stack: a flame graph on one scale, and lines for other viewers.

use std::fmt::Write as _;

use sojourn_base::Fault;
use sojourn_base::quantiles::name_of;
use sojourn_base::visible::in_line;

use crate::culprit::flame::Folded;
use crate::culprit::svg::{self, Panel};
use crate::diff::read::{Pair, Trace, fault};
use crate::judge::difference::DiffResult;

/// Deeper stacks of a file are not drawn.
const FRAMES: usize = 256;

/// One side's tail.
struct Side {
    folded: Folded,
    requests: u64,
}

/// Both tails by stack; a fault names the trace that has none.
fn sides(pairs: &[Pair]) -> Result<[Side; 2], Fault> {
    let first: Vec<&Trace> = pairs.iter().map(|pair| &pair.0).collect();
    let second: Vec<&Trace> = pairs.iter().map(|pair| &pair.1).collect();
    Ok([side(&first)?, side(&second)?])
}

fn side(traces: &[&Trace]) -> Result<Side, Fault> {
    let mut side = Side { folded: Folded::new(), requests: 0 };
    for trace in traces {
        let blame = trace.result.blame.as_ref().filter(|blame| !blame.tail_stacks.is_empty());
        let Some(blame) = blame else {
            return Err(fault("the trace has no stacks", &trace.path, "trace with --blame"));
        };
        side.requests = side.requests.saturating_add(blame.tail_requests);
        for line in &blame.tail_stacks {
            let read =
                line.rsplit_once(' ').and_then(|(path, us)| Some((path, us.parse::<u32>().ok()?)));
            let Some((path, us)) = read else {
                return Err(fault("a stack of the trace is damaged", &trace.path, "trace again"));
            };
            let path = in_line(path);
            let path: Vec<&str> = path.split(';').take(FRAMES).collect();
            *side.folded.entry(path.join(";")).or_default() += u64::from(us) * 1000;
        }
    }
    Ok(side)
}

/// The picture: red frames are longer on their side, blue ones shorter.
pub fn svg(pairs: &[Pair], result: &DiffResult) -> Result<String, Fault> {
    let [first, second] = &sides(pairs)?;
    let q = pairs[0].0.result.blame.as_ref().map_or(result.tail.q, |blame| blame.q);
    let name = &pairs[0].1.result.target.name;
    let title = format!("{name}: how the time of requests at and above {} differs", name_of(q));
    Ok(svg::draw_change(&title, &result.answer, panel("first", first), panel("second", second)))
}

fn panel<'a>(title: &'a str, side: &'a Side) -> Panel<'a> {
    Panel { title, requests: side.requests, folded: &side.folded }
}

/// Lines of `stack first second`, both in ns per request of the tail, so that the sides compare.
pub fn lines(pairs: &[Pair]) -> Result<String, Fault> {
    let [first, second] = &sides(pairs)?;
    let each = |side: &Side, path: &str| {
        let ns = side.folded.get(path).copied().unwrap_or(0);
        u128::from(ns) / u128::from(side.requests.max(1))
    };
    let paths: std::collections::BTreeSet<&String> =
        first.folded.keys().chain(second.folded.keys()).collect();
    let mut text = String::new();
    for path in paths {
        let _ = writeln!(text, "{path} {} {}", each(first, path), each(second, path));
    }
    Ok(text)
}
