//! The result of a trace, made from what a session saw.

use crate::attach::how::{How, Options};
use crate::attach::kernel;
use crate::attach::target::Target;
use crate::judge::blocks::{Blocks, ROWS_FROM};
use crate::judge::result::{Resolution, SCHEMA, TargetFacts, TraceResult};
use crate::judge::summary;
use crate::judge::verdict::{self, Bounds};
use crate::reconstruct::bins;
use crate::reconstruct::reasons::Weight;
use crate::reconstruct::stages::RESIDUAL;
use crate::reconstruct::window::{self, Accuracy, Cost, Sampling, judge, slowing, stalls};
use crate::session::Outcome;
use sojourn_base::quantiles::{QUANTILES, Quantile};
use sojourn_base::units::{Way, outward};

/// Digits after the point of a share in percent.
const DECIMALS_MAX: i32 = 3;

/// The list of the slowest lacks whom the ring had no room for.
fn incomplete(dropped: u64) -> Option<String> {
    (dropped > 0).then(|| {
        format!(
            "{dropped} slow requests found no room in the ring: the list of the slowest may lack \
             some of them; give a larger --buffer"
        )
    })
}

/// The outcome as it is written.
pub fn result(
    target: &Target,
    options: Options,
    bounds: Bounds,
    outcome: &mut Outcome,
) -> TraceResult {
    let counts = &outcome.counts;
    let mut sampling = std::mem::take(&mut outcome.sampling);
    let mut failures = std::mem::take(&mut outcome.failures);
    let all = counts.from_row(0);
    let residual = summary::stage_times(&all, RESIDUAL);
    let unmatched = counts.weighing(Weight::Unmatched);
    let threads = summary::threads(counts);
    let tail = summary::tail(counts, 0.99);
    if sampling.windows.is_some() {
        let workers = threads.iter().filter(|thread| thread.requests > 0);
        let busy = workers.map(|thread| thread.busy_ratio).fold(0.0, f64::max);
        let causes = summary::causes(&all);
        let slowing = slowing::slowing(outcome.cpu_ratio, busy, &causes, &tail.causes);
        let elapsed_ns = counts.duration_ns.max(1) as f64;
        let longer = |ratio: Option<f64>| ratio.unwrap_or(1.0);
        sampling.tail_cost = Some(outcome.stalls.cost(&stalls::Seen {
            totals: &counts.totals,
            mean_ns: all.total_ns as f64 / all.requests.max(1) as f64,
            busy,
            inside: outcome.enabled_ns as f64 / elapsed_ns,
            longer: (longer(slowing.mean_ratio), longer(slowing.tail_ratio)),
            elapsed_ns,
        }));
        sampling.slowing = Some(slowing);
    }
    if !matches!(options.how, How::All) {
        let blind_hz = sampling.windows.and(window::blind_hz(sampling.traced_ns));
        let accuracy = outcome.clusters.accuracy(summary::row_at(counts, 0.99));
        sampling.accuracy = Some(Accuracy { blind_hz, ..accuracy });
        failures.extend(judge::doubts(counts, &sampling));
    }
    let mut warnings = std::mem::take(&mut outcome.warnings);
    warnings.extend(costs(&sampling, &options.how));
    warnings.extend(incomplete(counts.reason("worst_dropped")));
    warnings.extend(pipelining(counts.reason("many_segments"), counts.matched()));
    let judged = verdict::judge(counts, (residual.share, tail.residual.share), bounds, failures);
    TraceResult {
        schema: SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        kernel: kernel::release(),
        target: facts(target),
        started_unix_ns: outcome.started_unix_ns,
        started_ns: outcome.started_ns,
        duration_ns: counts.duration_ns,
        mode: options.how.word(options.is_full).into(),
        sampling,
        requests: counts.matched() + unmatched + counts.weighing(Weight::InFlight),
        matched: counts.matched(),
        unmatched: summary::by_reason(counts, &[Weight::Unmatched]),
        unmatched_share: verdict::unmatched_share(counts),
        cut_off: summary::by_reason(counts, &[Weight::InFlight]),
        dropped: counts.weighing(Weight::Dropped),
        notes: summary::by_reason(counts, &[Weight::Note, Weight::Fact, Weight::Defect]),
        answer: summary::answer(&tail, &judged),
        verdict: judged,
        total: summary::total_times(&all, &counts.totals),
        residual,
        stages: summary::stages(&all),
        groups: summary::groups(&all),
        causes: summary::causes(&all),
        tails: tails().map(|quantile| summary::tail(counts, quantile.q)).collect(),
        tail,
        imbalance: summary::imbalance(&threads),
        threads,
        connections: summary::connections(counts),
        cpu: summary::cpu(counts),
        hooks: std::mem::take(&mut outcome.hooks),
        warnings,
        resolution: Resolution { total: bins::TOTAL.resolution(), stage: bins::STAGE.resolution() },
        worst: outcome.worst.iter().map(summary::worst).collect(),
        blame: outcome.blamed.as_ref().map(|blamed| blamed.blame.clone()),
        blocks: Blocks::of(&outcome.clusters, summary::row_at(counts, ROWS_FROM)),
    }
}

pub(crate) fn facts(target: &Target) -> TargetFacts {
    TargetFacts {
        pid: target.pid,
        name: target.name.clone(),
        pids: target.pids.clone(),
        ports: target.ports.clone(),
    }
}

/// Quantiles from which on requests are broken down: the median to compare with, and the tail.
fn tails() -> impl Iterator<Item = Quantile> {
    QUANTILES.into_iter().filter(|quantile| quantile.q == 0.5 || quantile.q >= 0.99)
}

/// What the trace cost more than it should.
fn costs(sampling: &Sampling, how: &How) -> impl Iterator<Item = String> {
    let cpu = sampling.cost.as_ref().and_then(dear);
    let tail = sampling.tail_cost.as_ref().and_then(stalls::TailCost::warning);
    cpu.into_iter().chain(tail).chain(how.tail_warning().map(str::to_owned))
}

/// The cost that was asked for lies below what was surely taken.
fn dear(cost: &Cost) -> Option<String> {
    let low = cost.interval?.low + cost.tracer_cpu_ratio;
    (low > cost.asked).then(|| {
        let [asked, low] = [cost.asked, low].map(|share| share * 100.0);
        // What is more than was asked for is shown to be more.
        let digits = (1..DECIMALS_MAX).find(|&d| outward(low, d, Way::Down) > asked);
        let digits = digits.unwrap_or(DECIMALS_MAX);
        format!(
            "tracing took more than the {asked:.1$} % that were asked for: at least {:.1$} %, the \
             tracer's own CPU time included",
            outward(low, digits, Way::Down),
            digits as usize
        )
    })
}

/// One exchange may hold several requests of a pipelining client; say so when it looks like it.
fn pipelining(many_segments: u64, matched: u64) -> Option<String> {
    (many_segments * 100 > matched).then(|| {
        format!(
            "{many_segments} of {matched} requests came in several segments: a request here is what is read \
             until a reply is written, so a pipelining client's requests count as one"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::window::Interval;

    #[test]
    fn what_tracing_took_at_least_holds_as_it_is_shown_and_is_more_than_was_asked_for() {
        for (asked, low, text) in [
            (0.01, 0.0168, "the 1.0 % that were asked for: at least 1.6 %,"),
            (0.0105, 0.0108, "the 1.05 % that were asked for: at least 1.08 %,"),
            (0.02, 0.020_004, "the 2.000 % that were asked for: at least 2.000 %,"),
        ] {
            let interval = Some(Interval { low: low - 0.001, high: None });
            let cost = Cost { asked, interval, tracer_cpu_ratio: 0.001, ..Cost::default() };
            let warning = dear(&cost).unwrap();
            assert!(warning.contains(text), "{warning}");
        }
        assert_eq!(dear(&Cost { asked: 0.01, ..Cost::default() }), None);
    }
}
