//! From counts to the numbers people ask for. Pure.

use std::collections::BTreeMap;

use sojourn_base::quantiles::name_of;

use crate::judge::result::{
    CauseShare, ConnectionTimes, CpuSplit, Group, Imbalance, StageTimes, Tail, ThreadTimes, Times,
    Verdict, WorstRequest,
};
use crate::reconstruct::bins;
use crate::reconstruct::counts::{Counts, Row, Thread};
use crate::reconstruct::reasons::{REASONS, Weight};
use crate::reconstruct::record::Record;
use crate::reconstruct::stages::{Cause, RESIDUAL, STAGES, Stage, aliases};

/// Connections listed in a result.
const CONNECTIONS: usize = 20;

/// One of the slowest requests as it is written.
pub fn worst(record: &Record) -> WorstRequest {
    let named = |(stage, ns): (&Stage, u64)| (ns > 0).then(|| (stage.name.to_owned(), ns));
    WorstRequest {
        start_ns: record.start_ns,
        total_ns: record.total_ns,
        peer_port: record.peer_port,
        tid: record.thread,
        writer_tid: (record.writer != 0).then_some(record.writer),
        bytes_in: record.bytes_in,
        bytes_out: record.bytes_out,
        stages: STAGES.iter().zip(record.stage_ns).filter_map(named).collect(),
    }
}

/// Times of one stage over the requests of `row`.
pub fn stage_times(row: &Row, stage: usize) -> Times {
    let hist = &row.hist[stage];
    let zeros = row.requests - hist.iter().sum::<u64>().min(row.requests);
    let at = |q| bins::STAGE.quantile(hist, zeros, q);
    Times {
        mean_ns: mean(row.stage_ns[stage], row.requests),
        p50_ns: at(0.5),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        share: share(row.stage_ns[stage], row.total_ns),
    }
}

/// Times of the total, from its own finer bins.
pub fn total_times(row: &Row, totals: &[u64]) -> Times {
    let at = |q| bins::TOTAL.quantile(totals, 0, q);
    Times {
        mean_ns: mean(row.total_ns, row.requests),
        p50_ns: at(0.5),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        share: share(row.total_ns, row.total_ns),
    }
}

/// All stages but the residual.
pub fn stages(row: &Row) -> Vec<StageTimes> {
    STAGES[..RESIDUAL]
        .iter()
        .enumerate()
        .map(|(index, stage)| StageTimes {
            name: stage.name.into(),
            alias: stage.alias.into(),
            about: stage.about.into(),
            cause: stage.cause,
            times: stage_times(row, index),
        })
        .collect()
}

/// The stages of `row` added up to those of the papers.
pub fn groups(row: &Row) -> Vec<Group> {
    let group = |alias: &str| {
        let sum = STAGES.iter().zip(row.stage_ns).filter(|(stage, _)| stage.alias == alias);
        let ns: u64 = sum.map(|(_, ns)| ns).sum();
        Group {
            name: alias.into(),
            mean_ns: mean(ns, row.requests),
            share: share(ns, row.total_ns),
        }
    };
    aliases().into_iter().map(group).collect()
}

/// Time by cause. Imbalance is taken out of queuing, where it was measured.
pub fn causes(row: &Row) -> Vec<CauseShare> {
    use Cause::{Client, Imbalance, Queuing, Residual, Scheduling, Stopped, Waiting, Work};
    [Queuing, Scheduling, Imbalance, Work, Waiting, Stopped, Client, Residual]
        .into_iter()
        .map(|cause| {
            let sum = STAGES.iter().zip(row.stage_ns).filter(|(stage, _)| stage.cause == cause);
            let ns: u64 = sum.map(|(_, ns)| ns).sum();
            let ns = match cause {
                Imbalance => row.imbalance_ns,
                Queuing => ns - row.imbalance_ns.min(ns),
                _ => ns,
            };
            CauseShare { cause, mean_ns: mean(ns, row.requests), share: share(ns, row.total_ns) }
        })
        .collect()
}

/// The row that holds quantile `q` of the total.
pub fn row_at(counts: &Counts, q: f64) -> usize {
    row_holding(q, counts.rows.iter().map(|(number, row)| (*number, row.requests)))
}

/// The same of any rows: their numbers, ascending, and how many requests each holds. 0: none holds any.
pub fn row_holding(q: f64, rows: impl Iterator<Item = (usize, u64)> + Clone) -> usize {
    let all: u64 = rows.clone().map(|(_, requests)| requests).sum();
    let rank = (q * all as f64).ceil().max(1.0) as u64;
    let mut below = 0;
    for (number, requests) in rows {
        below += requests;
        if below >= rank {
            return number;
        }
    }
    0
}

/// The requests at and above `q`.
pub fn tail(counts: &Counts, q: f64) -> Tail {
    let first = row_at(counts, q);
    let row = counts.from_row(first);
    let from_ns = bins::row_low_ns(first);
    let mut totals = counts.totals.clone();
    totals.iter_mut().take(bins::TOTAL.of(from_ns)).for_each(|n| *n = 0);
    Tail {
        q,
        from_ns,
        requests: row.requests,
        request_share: share(row.requests, counts.matched()),
        total: total_times(&row, &totals),
        residual: stage_times(&row, RESIDUAL),
        stages: stages(&row),
        groups: groups(&row),
        causes: causes(&row),
    }
}

/// What each thread did, the busiest first.
pub fn threads(counts: &Counts) -> Vec<ThreadTimes> {
    let first = row_at(counts, 0.99);
    let in_tail = |thread: &Thread| thread.rows.iter().skip(first).sum::<u64>();
    let tail: u64 = counts.threads.iter().map(in_tail).sum();
    let times = |thread: &Thread| ThreadTimes {
        tid: thread.tid,
        pid: thread.tgid,
        comm: thread.comm.clone(),
        requests: thread.requests,
        mean_ns: mean(thread.total_ns, thread.requests),
        p99_ns: quantile_by_row(&thread.rows, 0.99),
        tail_share: share(in_tail(thread), tail),
        busy_ratio: share(thread.run_ns, counts.traced_ns),
    };
    let mut list: Vec<ThreadTimes> = counts.threads.iter().map(times).collect();
    list.sort_by(|a, b| b.busy_ratio.total_cmp(&a.busy_ratio));
    list
}

fn quantile_by_row(rows: &[u64], q: f64) -> Option<u64> {
    let n: u64 = rows.iter().sum();
    let rank = (q * n as f64).ceil() as u64;
    let mut below = 0;
    let row = rows.iter().position(|count| {
        below += count;
        n > 0 && below >= rank
    })?;
    Some(u64::midpoint(bins::row_low_ns(row), bins::row_low_ns(row + 1)))
}

/// How evenly the workers were loaded.
pub fn imbalance(threads: &[ThreadTimes]) -> Imbalance {
    let workers: Vec<&ThreadTimes> = threads.iter().filter(|thread| thread.requests > 0).collect();
    let most = workers.iter().map(|thread| thread.requests).max().unwrap_or(0);
    let sum: u64 = workers.iter().map(|thread| thread.requests).sum();
    let busy = workers.iter().map(|thread| thread.busy_ratio);
    let spread = busy.clone().fold(0.0, f64::max) - busy.fold(f64::INFINITY, f64::min);
    Imbalance {
        workers: workers.len(),
        requests_max_over_mean: share(most * workers.len() as u64, sum),
        busy_spread: if workers.is_empty() { 0.0 } else { spread },
    }
}

/// Connections with the largest mean first.
pub fn connections(counts: &Counts) -> Vec<ConnectionTimes> {
    let mut list: Vec<ConnectionTimes> = counts
        .connections
        .iter()
        .filter(|connection| connection.requests > 0)
        .map(|connection| ConnectionTimes {
            peer_port: connection.peer_port,
            tid: connection.tid,
            requests: connection.requests,
            mean_ns: mean(connection.total_ns, connection.requests),
            max_ns: connection.max_ns,
        })
        .collect();
    list.sort_by(|a, b| b.mean_ns.partial_cmp(&a.mean_ns).unwrap_or(std::cmp::Ordering::Equal));
    list.truncate(CONNECTIONS);
    list
}

/// CPU time of the service by mode, as shares of the samples.
pub fn cpu(counts: &Counts) -> CpuSplit {
    let cpu = counts.cpu;
    let samples = cpu.user + cpu.kernel;
    let of = |part: u64, whole: u64| (whole > 0).then(|| share(part, whole));
    let known = cpu.kernel - cpu.unknown.min(cpu.kernel);
    CpuSplit {
        samples,
        user_share: of(cpu.user, samples),
        kernel_share: of(cpu.kernel, samples),
        softirq_share_of_kernel: of(cpu.softirq, known),
    }
}

/// Counts of one weight, by name; those that are 0 left out.
pub fn by_reason(counts: &Counts, weights: &[Weight]) -> BTreeMap<String, u64> {
    REASONS
        .iter()
        .zip(&counts.reasons)
        .filter(|(reason, n)| **n > 0 && weights.contains(&reason.weight))
        .map(|(reason, n)| (reason.name.to_owned(), *n))
        .collect()
}

/// The answer in a sentence: the largest cause and stage of the tail, or why none is named.
pub fn answer(tail: &Tail, verdict: &Verdict) -> String {
    if let Some(why) = verdict.doubt() {
        return format!("no cause is named: {why}");
    }
    let Some(stage) = tail.stages.iter().max_by(|a, b| a.times.share.total_cmp(&b.times.share))
    else {
        return String::new();
    };
    let owner = format!("of the time of the requests at and above {}", name_of(tail.q));
    if tail.residual.share > stage.times.share {
        return format!("{:.0} % {owner} is explained by no stage", tail.residual.share * 100.0);
    }
    let cause = tail.causes.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    format!(
        "{:.0} % {owner} is {} ({}): {}",
        stage.times.share * 100.0,
        stage.name,
        stage.alias,
        stage.about
    ) + &cause.map_or_else(String::new, |cause| {
        format!("; by cause {:.0} % is {}", cause.share * 100.0, cause_word(cause.cause))
    })
}

/// A cause as people read it.
pub fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Queuing => "queuing",
        Cause::Scheduling => "scheduling",
        Cause::Imbalance => "imbalance",
        Cause::Work => "work",
        Cause::Waiting => "waiting",
        Cause::Stopped => "stopped",
        Cause::Client => "waiting for the client",
        Cause::Residual => "residual",
    }
}

fn mean(sum: u64, n: u64) -> Option<f64> {
    (n > 0).then(|| sum as f64 / n as f64)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
