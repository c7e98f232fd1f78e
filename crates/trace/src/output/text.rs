//! The result as people read it: at most 80 columns, no colour needed.

use std::fmt::Write as _;

use sojourn_base::quantiles::name_of;
use sojourn_base::units::{show_count, show_ns};
use sojourn_base::visible::in_line;

use crate::culprit;
use crate::judge::result::{CauseShare, StageTimes, Times, TraceResult, VerdictWord};
use crate::judge::summary::cause_word;
use crate::judge::verdict;
use crate::reconstruct::reasons::REASONS;
use crate::reconstruct::stages::Cause;

/// Smaller shares of the time are left out.
const SHOWN: f64 = 0.0005;

/// Writing to a string cannot fail.
macro_rules! put {
    ($page:expr, $($arg:tt)*) => { let _ = writeln!($page, $($arg)*); };
}

mod sampled;

/// The whole result as a page of text for people.
pub fn page(result: &TraceResult) -> String {
    let mut page = String::new();
    head(&mut page, result);
    table(&mut page, result);
    sampled::accuracy(&mut page, result);
    causes(&mut page, result);
    if let Some(blame) = verdict::shown_blame(result) {
        page.push_str(&culprit::text::page(&blame));
    }
    threads(&mut page, result);
    foot(&mut page, result);
    page
}

fn head(page: &mut String, result: &TraceResult) {
    let seconds = result.duration_ns as f64 / 1e9;
    let one_in = f64::from(result.sampling.one_in.unwrap_or(1));
    put!(
        page,
        "{} (pid {}), {seconds:.1} s, {} requests/s",
        in_line(&result.target.name),
        result.target.pid,
        show_count(result.matched as f64 * one_in * 1e9 / result.sampling.traced_ns.max(1) as f64)
    );
    sampled::head(page, result);
    put!(
        page,
        "{} requests: {} matched, {:.3} % unmatched, {} cut off at the start or end, {} dropped",
        result.requests,
        result.matched,
        result.unmatched_share * 100.0,
        result.cut_off.values().sum::<u64>(),
        result.dropped
    );
    for (reason, n) in &result.unmatched {
        put!(page, "  unmatched: {n} {reason}");
    }
}

fn table(page: &mut String, result: &TraceResult) {
    put!(
        page,
        "\n{:28}{:>10}{:>10}{:>10}{:>9}{:>12}",
        "",
        "mean",
        "p50",
        "p99",
        "share",
        "p99 tail"
    );
    let tail = &result.tail;
    let mut line = |name: &str, times: &Times, in_tail: &Times| {
        let mean = times.mean_ns.map_or_else(|| "-".into(), show_ns);
        let at = |ns: Option<u64>| ns.map_or_else(|| "-".into(), |ns| show_ns(ns as f64));
        put!(
            page,
            "{name:28}{mean:>10}{:>10}{:>10}{:>7.1} %{:>10.1} %",
            at(times.p50_ns),
            at(times.p99_ns),
            times.share * 100.0,
            in_tail.share * 100.0
        );
    };
    for (stage, in_tail) in result.stages.iter().zip(&tail.stages) {
        if stage.times.mean_ns.is_some_and(|ns| ns > 0.0) {
            line(&label(stage), &stage.times, &in_tail.times);
        }
    }
    line("residual", &result.residual, &tail.residual);
    line("total", &result.total, &tail.total);
}

/// Its name and the papers', if there is room for both.
fn label(stage: &StageTimes) -> String {
    if stage.name.contains('+') {
        return stage.name.clone();
    }
    format!("{:<15}{}", stage.name, stage.alias)
}

fn causes(page: &mut String, result: &TraceResult) {
    let list = |causes: &[CauseShare], stages: &[StageTimes]| {
        let word = |c: &CauseShare| {
            let word = format!("{} {:.1} %", cause_word(c.cause), c.share * 100.0);
            let parts = if c.cause == Cause::Waiting { waits(stages) } else { String::new() };
            (c.share >= SHOWN).then_some(word + &parts)
        };
        causes.iter().filter_map(word).collect::<Vec<_>>().join(", ")
    };
    put!(page, "\ncauses, all requests: {}", list(&result.causes, &result.stages));
    for tail in &result.tails {
        put!(
            page,
            "  at and above {} ({}, {} requests): {}",
            name_of(tail.q),
            show_ns(tail.from_ns as f64),
            tail.requests,
            list(&tail.causes, &tail.stages)
        );
    }
    put!(page, "{}", result.answer);
}

/// For what requests wait: `(upstream 90.1, lock 2.0)`.
fn waits(stages: &[StageTimes]) -> String {
    let is_shown = |s: &&StageTimes| s.cause == Cause::Waiting && s.times.share >= SHOWN;
    let what =
        |s: &StageTimes| format!("{} {:.1}", s.name.replace("wait_", ""), s.times.share * 100.0);
    format!(" ({})", stages.iter().filter(is_shown).map(what).collect::<Vec<_>>().join(", "))
}

fn threads(page: &mut String, result: &TraceResult) {
    let workers: Vec<_> = result.threads.iter().filter(|thread| thread.requests > 0).collect();
    if workers.len() > 1 {
        put!(
            page,
            "\n{:24}{:>10}{:>10}{:>10}{:>8}{:>12}",
            "thread",
            "requests",
            "mean",
            "p99",
            "busy",
            "of p99 tail"
        );
        for thread in workers {
            put!(
                page,
                "{:24}{:>10}{:>10}{:>10}{:>6.1} %{:>10.1} %",
                format!("{} {}", thread.tid, in_line(&thread.comm)),
                thread.requests,
                show_ns(thread.mean_ns.unwrap_or(0.0)),
                show_ns(thread.p99_ns.unwrap_or(0) as f64),
                thread.busy_ratio * 100.0,
                thread.tail_share * 100.0
            );
        }
    }
    if let (Some(user), Some(kernel)) = (result.cpu.user_share, result.cpu.kernel_share) {
        let softirq = result.cpu.softirq_share_of_kernel;
        put!(
            page,
            "\nCPU of the service: user {:.0} %, kernel {:.0} %{} ({} samples)",
            user * 100.0,
            kernel * 100.0,
            softirq
                .map_or_else(String::new, |s| format!(", {:.0} % of that in softIRQ", s * 100.0)),
            result.cpu.samples
        );
    }
}

fn foot(page: &mut String, result: &TraceResult) {
    for hook in &result.hooks {
        if !hook.attached && !hook.lost.is_empty() {
            put!(page, "not attached: {}: {}", hook.name, hook.lost);
        }
        if hook.missed > 0 {
            put!(page, "note: {} events missed at {}", hook.missed, hook.name);
        }
        if let (Some(runs), Some(ns)) = (hook.runs, hook.run_ns) {
            put!(page, "  {:28}{runs:>12} runs{ns:>9.0} ns each", hook.name);
        }
    }
    for (note, n) in &result.notes {
        let about = REASONS.iter().find(|reason| reason.name == *note).map_or("", |it| it.about);
        put!(page, "note: {n} {note}: {about}");
    }
    for warning in &result.warnings {
        put!(page, "warning: {warning}");
    }
    let word = match result.verdict.verdict {
        VerdictWord::Holds => "holds",
        VerdictWord::Unknown => "unknown",
    };
    put!(page, "verdict: {word}");
    for reason in &result.verdict.reasons {
        put!(page, "  {reason}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::result::ThreadTimes;

    #[test]
    fn the_name_of_a_thread_begins_no_line() {
        let mut result: TraceResult =
            serde_json::from_value(crate::diff::testing::result(&["read"], &[])).unwrap();
        let thread = |tid, comm: &str| ThreadTimes {
            tid,
            pid: 7,
            comm: comm.into(),
            requests: 9,
            mean_ns: None,
            p99_ns: None,
            tail_share: 0.0,
            busy_ratio: 0.0,
        };
        result.threads = vec![thread(7, "a\nverdict: holds"), thread(8, "b")];
        let page = page(&result);
        assert!(page.contains("\n7 a\\x0averdict: holds"), "{page}");
        assert_eq!(page.lines().filter(|line| line.starts_with("verdict:")).count(), 1);
    }
}
