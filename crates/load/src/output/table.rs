//! A result for people: at most 80 columns, readable without colour.

use std::fmt::Write as _;
use std::iter;

use sojourn_base::quantiles::{QUANTILES, Quantile};
use sojourn_base::span::Span;
use sojourn_base::units::{parse_ns, show_count, show_ns};

use crate::judge::quantiles::refused;
use crate::judge::result::{RunResult, Verdict};

/// Columns of the page.
const WIDTH: usize = 80;

/// The whole table, ending in a line feed.
pub fn table(result: &RunResult) -> String {
    let mut text = String::new();
    head(&mut text, result);
    latencies(&mut text, result);
    errors(&mut text, result);
    replies(&mut text, result);
    sessions(&mut text, result);
    tls(&mut text, result);
    checks(&mut text, result);
    verdict(&mut text, result);
    text
}

/// What is printed for a quantile that too few requests carry.
const NONE: &str = "–";
/// Columns of the labels.
const LABEL: usize = 11;
/// Columns of a time.
const CELL: usize = (WIDTH - LABEL) / (QUANTILES.len() + 2);

/// Appends words under a label, folded.
fn line(text: &mut String, label: &str, words: &str) {
    text.push_str(&folded(&format!("{label:<LABEL$}"), words));
}

/// Appends one row of a table, as it is. Writing into a string cannot fail.
fn row(text: &mut String, label: &str, cells: &[String]) {
    let _ = writeln!(text, "{label:<LABEL$}{}", cells.concat());
}

fn head(text: &mut String, result: &RunResult) {
    let job = &result.job;
    line(text, "target", &target(result));
    let load = format!("{} arrivals, rate {}, seed {}", job.arrivals, job.rate, job.seed);
    let load = if job.find_max { "closed loop, as fast as it goes".into() } else { load };
    line(text, "load", &load);
    let client = format!(
        "{} thread(s), {} connections, depth {}, {}, {}",
        job.threads, job.connections, job.depth, result.cost.transport, result.cost.wait
    );
    line(text, "client", &client);
    let requests = format!(
        "{} requests in {}: offered {} rps, achieved {} rps",
        result.requests,
        show_ns(result.measured_s * 1e9),
        show_count(result.offered_rps),
        show_count(result.achieved_rps)
    );
    line(text, "measured", &requests);
    text.push('\n');
}

/// The target, and the addresses that its names stood for.
fn target(result: &RunResult) -> String {
    let target = &result.job.target;
    let unnamed = |it: &&String| !it.starts_with("unix:") && !target.contains(it.as_str());
    let outcome: Vec<&str> = result.addresses.iter().filter(unnamed).map(String::as_str).collect();
    if outcome.is_empty() { target.clone() } else { format!("{target} at {}", outcome.join(", ")) }
}

fn latencies(text: &mut String, result: &RunResult) {
    let names = QUANTILES.iter().map(Quantile::name);
    let columns = iter::once("mean".into()).chain(names).chain(iter::once("max".into()));
    row(text, "", &columns.map(|name| format!("{name:>CELL$}")).collect::<Vec<_>>());
    let are_excluded = result.outages.share_excluded > 0.0;
    let is_disturbed = result.server_stops.as_ref().is_some_and(|it| it.share_disturbed > 0.0);
    let spans = [
        ("sojourn", Some(&result.sojourn_ns)),
        ("  all", Some(&result.sojourn_all_ns).filter(|_| are_excluded)),
        ("undisturbed", result.undisturbed_ns.as_ref().filter(|_| is_disturbed)),
        ("wire", Some(&result.wire_ns)),
        ("send lag", Some(&result.send_lag_ns)),
        ("probe", result.probe_sojourn_ns.as_ref()),
    ];
    for (name, span) in spans {
        if let Some(span) = span {
            row(text, name, &cells(span, result.job.pooled));
        }
    }
    let missing: Vec<&str> = QUANTILES
        .iter()
        .filter_map(|quantile| result.refused.get(&format!("sojourn_ns.{}", quantile.key)))
        .map(|why| why.split(',').next().unwrap_or(why))
        .collect();
    if !missing.is_empty() {
        line(text, NONE, &missing.join(", "));
    }
    text.push('\n');
}

/// Mean, quantiles and maximum; `–` where too few requests carry a quantile, `inf` where lost ones decide.
fn cells(span: &Span, is_pooled: bool) -> Vec<String> {
    let input = |value: Option<f64>, is_carried: bool| match value {
        Some(ns) => show_ns(ns),
        None if is_carried && span.count > 0 => "inf".into(),
        None => NONE.into(),
    };
    let quantile = |(quantile, ns): (Quantile, Option<u64>)| {
        let is_carried = is_pooled || refused(quantile.q, span.count).is_none();
        input(ns.map(|ns| ns as f64), is_carried)
    };
    let mut cells = vec![input(span.mean, true)];
    cells.extend(QUANTILES.into_iter().zip(span.quantiles()).map(quantile));
    cells.push(input(span.max.map(|ns| ns as f64), true));
    cells.iter().map(|cell| format!("{cell:>CELL$}")).collect()
}

/// A quantile of a span for a sentence; see [`cells`].
fn shown(span: &Span, q: f64, ns: Option<u64>) -> String {
    let none = if refused(q, span.count).is_some() { NONE } else { "inf" };
    ns.map_or_else(|| none.into(), |ns| show_ns(ns as f64))
}

fn errors(text: &mut String, result: &RunResult) {
    let kinds: Vec<String> =
        result.errors.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    line(text, "errors", &if kinds.is_empty() { "none".into() } else { kinds.join(", ") });
}

/// What handshakes came to.
fn tls(text: &mut String, result: &RunResult) {
    let Some(tls) = &result.tls else { return };
    let failed = if tls.failed > 0 { format!(", {} failed", tls.failed) } else { String::new() };
    let words = format!(
        "{}, {} handshakes ({} resumed{failed}), {} each; not in any request's time",
        tls.cipher,
        tls.handshakes,
        tls.resumed,
        show_ns(tls.mean_ns as f64)
    );
    line(text, "TLS", &words);
}

/// How long bodies were, where that says something about the answers.
fn replies(text: &mut String, result: &RunResult) {
    let replies = &result.replies;
    let (Some(mean), Some(min), Some(max)) =
        (replies.bytes_mean, replies.bytes_min, replies.bytes_max)
    else {
        return;
    };
    let mut words = format!("{} B a body ({min} to {max})", show_count(mean));
    if replies.empty > 0 {
        let _ = write!(words, ", {} empty", replies.empty);
    }
    if let Some(every) = replies.checked_every {
        let failed: u64 = replies.failed.values().sum();
        let _ = write!(words, "; {} checked (one in {every}), {failed} failed", replies.checked);
    }
    line(text, "replies", &words);
}

/// What users of sessions saw.
fn sessions(text: &mut String, result: &RunResult) {
    let Some(seen) = &result.sessions else { return };
    let p95 = |span: &Span| shown(span, 0.95, span.p95);
    let words = format!(
        "{:.3} under way; p95 of play lists {}, of chunks {}; {} of {} chunks late, {} lost; {} a \
         session without a picture",
        seen.under_way,
        p95(&seen.play_list_ns),
        p95(&seen.chunk_ns),
        seen.late_chunks,
        seen.chunks,
        seen.lost_chunks,
        show_ns(seen.stalled_s_per_session * 1e9)
    );
    line(text, "sessions", &words);
}

fn checks(text: &mut String, result: &RunResult) {
    let (checks, outages) = (&result.checks, &result.outages);
    let percent = |ratio: f64| format!("{:.2} %", ratio * 100.0);
    if !result.job.find_max {
        let within = parse_ns(&result.job.timely_within)
            .map_or_else(|_| result.job.timely_within.clone(), |ns| show_ns(ns as f64));
        let timely = format!(
            "{} within {within} ({} with outages and waits); own lag p99 {}; waited for a connection \
             {}",
            percent(checks.pick_up_timely_ratio),
            percent(result.timely_ratio),
            shown(&result.pick_up_ns, 0.99, result.pick_up_ns.p99),
            percent(checks.waited_share)
        );
        line(text, "timely", &timely);
    }
    if let (Some(a2), Some(limit)) = (checks.arrival_fit_a2, checks.arrival_fit_limit) {
        let dispersion =
            checks.dispersion.map_or(String::new(), |d| format!("; dispersion {d:.3}"));
        line(text, "arrivals", &format!("A*² {a2:.2} (limit {limit}){dispersion}"));
    }
    let stopped = format!(
        "{}, {} in all, longest {}; {} of requests excluded",
        outages.count,
        show_ns(outages.total_ns as f64),
        show_ns(outages.longest_ns as f64),
        percent(outages.share_excluded)
    );
    line(text, "outages", &stopped);
    let steal = checks.steal_share.map_or("unknown".into(), percent);
    let cost = format!(
        "{} a request, {} of a CPU; steal {steal}",
        show_ns(result.cost.cpu_ns_per_request),
        percent(checks.cpu_share_max)
    );
    line(text, "client CPU", &cost);
}

fn verdict(text: &mut String, result: &RunResult) {
    let word = match result.verdict {
        Verdict::Holds => "holds",
        Verdict::Violated => "violated",
        Verdict::Unknown => "unknown",
    };
    text.push('\n');
    line(text, "verdict", word);
    for reason in &result.reasons {
        text.push_str(&folded("  - ", reason));
    }
    for late in &result.lateness {
        text.push_str(&folded("  late: ", late));
    }
    for note in &result.notes {
        text.push_str(&folded("  note: ", note));
    }
}

/// `words` after `mark`, folded at the width of the page and indented under the mark.
fn folded(mark: &str, words: &str) -> String {
    let mut text = String::from(mark);
    let indent = text.chars().count();
    let mut column = indent;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
