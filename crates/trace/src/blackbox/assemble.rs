//! A dump, put together from what is in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sojourn_base::units::show_ns;

use super::cut::{self, Known};
use super::dump::{Blind, Cause, CulpritSum, Dump, SCHEMA, SecondLine, SignalLine, SlowRequest};
use super::memory::{Memory, Slow};
use super::parts::{Culprit, Cut};
use super::record::Signal;
use super::tally::{Beside, Second, Tally, at_least};
use crate::culprit::pieces::Index;
use crate::culprit::seen::Seen;
use crate::judge::result::TargetFacts;
use crate::reconstruct::bins;

/// Slow requests of a dump: some 20 MB of JSON.
pub const MOST: usize = 100_000;
/// A larger share of requests with a time that is a lower bound is in the warnings.
const LOWER_BOUNDS_MAX: f64 = 0.01;

/// What is in memory when a dump is put together.
pub struct Facts<'a> {
    /// The service.
    pub target: TargetFacts,
    /// What started the dump.
    pub cause: Cause,
    /// `uname -r`.
    pub kernel: String,
    /// From when to when, `CLOCK_MONOTONIC`, ns.
    pub span: (u64, u64),
    /// Unix time less `CLOCK_MONOTONIC` now, ns; seconds that are over have their own.
    pub unix_less_mono_ns: u64,
    /// Slower requests start a dump.
    pub over_ns: Option<u64>,
    /// Slow requests.
    pub memory: &'a Memory,
    /// All requests, by second.
    pub tally: &'a Tally,
    /// What threads waited for, as far as it is in memory: see `seen_from_ns`.
    pub seen: &'a Seen,
    /// Events that ended before this may have left memory, ns of the monotonic clock.
    pub seen_from_ns: u64,
    /// To the service.
    pub signals: &'a [Signal],
    /// Of threads, by thread id.
    pub names: &'a HashMap<(u32, u32), String>,
}

impl Facts<'_> {
    /// A moment of the monotonic clock as the clock of its second had it.
    fn unix(&self, ns: u64) -> u64 {
        let less = self.tally.unix_less_mono_ns(ns).unwrap_or(self.unix_less_mono_ns);
        ns.wrapping_add(less)
    }
}

/// Puts a dump together: quantiles, slow requests, culprits, and what is missing.
pub fn dump(facts: Facts<'_>) -> Dump {
    let unix = |ns: u64| facts.unix(ns);
    let totals = facts.tally.totals(facts.span.0);
    let quantile = |q| bins::TOTAL.quantile(&totals, 0, q);
    let stored = facts.memory.slowest(facts.span, MOST);
    let (slow, culprits) = requests(&facts, &stored);
    let blind = blind(&facts, &totals, &stored, &culprits, &slow);
    let requests: u64 = totals.iter().sum();
    Dump {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        answer: answer(&totals, &blind, &culprits, facts.span),
        warnings: lost(&blind).into_iter().chain(doubt(&blind, requests)).collect(),
        from_unix_ns: unix(facts.span.0),
        from_ns: facts.span.0,
        duration_ns: facts.span.1.saturating_sub(facts.span.0),
        requests,
        totals: histogram(&totals),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
        over_ns: facts.over_ns,
        blind,
        culprits,
        slow,
        signals: facts.signals.iter().map(|signal| signal_line(signal, unix)).collect(),
        seconds: facts.tally.since(facts.span.0).map(|it| second_line(it, unix)).collect(),
        target: facts.target,
        cause: facts.cause,
        kernel: facts.kernel,
    }
}

fn histogram(totals: &[u64]) -> Vec<(u64, u64, u64)> {
    let bins = totals.iter().enumerate().filter(|(_, n)| **n > 0);
    bins.map(|(bin, n)| (bins::TOTAL.low(bin), bins::TOTAL.low(bin + 1), *n)).collect()
}

/// What is summed up of one culprit.
#[derive(Default)]
struct Sum {
    ns: u64,
    requests: u64,
    longest_ns: u64,
    stack: Vec<Arc<str>>,
}

fn requests(facts: &Facts<'_>, stored: &[Slow]) -> (Vec<SlowRequest>, Vec<CulpritSum>) {
    let index = Index::new(facts.seen, facts.target.pids.iter().copied());
    let known = Known {
        index: &index,
        from_ns: facts.seen_from_ns,
        signals: facts.signals,
        names: facts.names,
    };
    let now = |slow: &Slow| Arc::new(cut::cut(slow, &known));
    let cuts: Vec<Arc<Cut>> =
        stored.iter().map(|slow| slow.cut.clone().unwrap_or_else(|| now(slow))).collect();
    let mut sums = BTreeMap::<Arc<Culprit>, Sum>::new();
    for one in &cuts {
        for (place, (culprit, ns)) in one.culprits.iter().enumerate() {
            let sum = sums.entry(culprit.clone()).or_default();
            sum.ns += ns;
            sum.requests += u64::from(place == 0);
            if one.slept == Some(place) && *ns > sum.longest_ns && !one.stack.is_empty() {
                (sum.longest_ns, sum.stack) = (*ns, one.stack.clone());
            }
        }
    }
    let mut sums: Vec<(Arc<Culprit>, Sum)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.ns));
    let numbers: HashMap<&Arc<Culprit>, u32> =
        sums.iter().enumerate().map(|(at, (culprit, _))| (culprit, at as u32)).collect();
    let slow = stored
        .iter()
        .zip(&cuts)
        .map(|(slow, one)| SlowRequest {
            start_unix_ns: facts.unix(slow.start_ns),
            start_ns: slow.start_ns,
            total_ns: slow.total_ns,
            tid: slow.tid,
            pid: slow.tgid,
            thread: known.thread(slow).into(),
            peer_port: slow.peer_port,
            port: slow.port,
            bytes_out: slow.bytes,
            stages: one.stages.iter().map(|(name, ns)| ((*name).into(), *ns)).collect(),
            culprits: one.culprits.iter().map(|(it, ns)| (numbers[it], *ns)).collect(),
        })
        .collect();
    let all_ns = stored.iter().map(|slow| slow.total_ns).sum::<u64>().max(1) as f64;
    (slow, sums.iter().map(|(culprit, sum)| culprit_sum(culprit, sum, all_ns)).collect())
}

fn culprit_sum(culprit: &Culprit, sum: &Sum, all_ns: f64) -> CulpritSum {
    let some = |text: &String| (!text.is_empty()).then(|| text.clone());
    CulpritSum {
        kind: culprit.kind.into(),
        name: culprit.name.clone(),
        cgroup: some(&culprit.cgroup),
        waker: some(&culprit.waker),
        about: culprit.about.clone(),
        requests: sum.requests,
        ns: sum.ns,
        share: sum.ns as f64 / all_ns,
        stack: sum.stack.iter().map(ToString::to_string).collect(),
    }
}

/// How many of the slow requests are here. What is slow is rounded up to the edge of a bin, where the kernel's
/// own count is exact.
fn blind(
    facts: &Facts<'_>,
    totals: &[u64],
    stored: &[Slow],
    culprits: &[CulpritSum],
    slow: &[SlowRequest],
) -> Blind {
    let floors = facts.tally.since(facts.span.0).map(|second| second.floor_ns);
    let from_ns = floors.max().unwrap_or(0).max(facts.over_ns.unwrap_or(0)).max(1);
    let edge_ns = bins::TOTAL.low(bins::TOTAL.of(from_ns - 1) + 1);
    let slow_requests = at_least(totals, edge_ns);
    let here = stored.iter().filter(|slow| slow.total_ns >= edge_ns).count() as u64;
    let evicted = facts.memory.evicted();
    let cut_off = if stored.len() < MOST { 0 } else { facts.memory.len() - MOST };
    let is_unseen =
        |number: &u32| culprits.get(*number as usize).is_some_and(|it| it.kind == "unseen");
    let unexplained = |request: &&SlowRequest| {
        let unseen = request.culprits.iter().filter(|(at, _)| is_unseen(at));
        2 * unseen.map(|(_, ns)| ns).sum::<u64>() > request.total_ns
    };
    Blind {
        slow_from_ns: edge_ns,
        slow_requests,
        stored: here,
        share: (1.0 - here as f64 / slow_requests.max(1) as f64).max(0.0)
            * f64::from(u8::from(slow_requests > 0)),
        dropped: beside(facts, |it| it.dropped),
        evicted: evicted.requests + cut_off as u64,
        lower_bounds: beside(facts, |it| it.lower_bounds),
        together: beside(facts, |it| it.together),
        unexplained: slow
            .iter()
            .filter(|request| request.total_ns >= edge_ns)
            .filter(unexplained)
            .count() as u64,
        events_lost: beside(facts, |it| it.events_lost),
        foreign: beside(facts, |it| it.foreign),
        unwatched_ns: beside(facts, |it| it.unwatched_ns),
    }
}

/// The sum over the seconds of the dump.
fn beside(facts: &Facts<'_>, part: impl Fn(&Beside) -> u64) -> u64 {
    facts.tally.since(facts.span.0).map(|second| part(&second.beside)).sum()
}

/// A wait without its event has no cause.
fn lost(blind: &Blind) -> Option<String> {
    (blind.events_lost > 0).then(|| {
        format!(
            "{} events of the scheduler had no room: some causes may be missing",
            blind.events_lost
        )
    })
}

/// Where many times are lower bounds, the quantiles are too.
fn doubt(blind: &Blind, requests: u64) -> Option<String> {
    (blind.lower_bounds as f64 > LOWER_BOUNDS_MAX * requests as f64).then(|| {
        format!(
            "{} of {requests} requests may have taken longer than is shown: they came in parts, after bytes \
             without a reply, or beside others",
            blind.lower_bounds
        )
    })
}

fn answer(totals: &[u64], blind: &Blind, culprits: &[CulpritSum], span: (u64, u64)) -> String {
    let n: u64 = totals.iter().sum();
    let length = show_ns(span.1.saturating_sub(span.0) as f64);
    if n == 0 {
        return format!("no request of the service was seen in the last {length}");
    }
    let from = show_ns(blind.slow_from_ns as f64);
    let head = format!("{} of {n} requests in {length} took {from} or longer", blind.slow_requests);
    let largest: Vec<String> = culprits
        .iter()
        .filter(|culprit| culprit.share >= 0.05)
        .take(3)
        .map(|culprit| format!("{:.0} % {}", culprit.share * 100.0, culprit.about))
        .collect();
    if largest.is_empty() { head } else { format!("{head}: {}", largest.join(", ")) }
}

fn signal_line(signal: &Signal, unix: impl Fn(u64) -> u64) -> SignalLine {
    SignalLine {
        at_unix_ns: unix(signal.at_ns),
        number: signal.number,
        pid: signal.target,
        from: signal.comm.clone(),
        from_pid: signal.tgid,
    }
}

fn second_line(second: &Second, unix: impl Fn(u64) -> u64) -> SecondLine {
    let mut totals = vec![0; bins::TOTAL.count()];
    second.bins.iter().for_each(|(bin, n)| totals[usize::from(*bin)] = u64::from(*n));
    SecondLine {
        end_unix_ns: unix(second.end_ns),
        requests: second.requests(),
        p99_ns: bins::TOTAL.quantile(&totals, 0, 0.99),
        max_ns: second.bins.last().map(|(bin, _)| bins::TOTAL.low(usize::from(*bin))),
        slow_from_ns: second.floor_ns,
        dropped: second.beside.dropped,
    }
}

#[cfg(test)]
mod tests;
