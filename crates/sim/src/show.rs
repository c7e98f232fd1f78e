//! Results as people read them: 80 columns, no colour.

use std::fmt::Write as _;

use sojourn_base::quantiles::QUANTILES;
use sojourn_base::units::{show_count, show_ns};

use crate::calls::result::CallsResult;
use crate::fleet::result::FleetResult;
use crate::queue::run::QueueResult;
use crate::result::Verdict;
use crate::sched::result::SchedResult;
use crate::stats::Interval;

/// One queue's result as text for people.
pub fn queue(result: &QueueResult) -> String {
    let mut text = format!(
        "simulated: {} · {} on {} server(s) · {} requests/s · utilisation {:.3}\n\n",
        result.job.arrivals,
        result.job.service,
        result.job.servers,
        show_count(result.offered_rps),
        result.utilisation
    );
    let _ = writeln!(
        text,
        "{:>8} {:>12} {:>27} {:>12} {:>8}",
        "", "sojourn", "95 % interval", "closed", "error"
    );
    let outcome = &result.intervals;
    let span = &result.sojourn_ns;
    let mut rows = vec![("mean", "mean".to_string(), outcome.mean, span.mean)];
    let quantiles = QUANTILES.iter().zip(outcome.quantiles()).zip(span.quantiles());
    rows.extend(quantiles.map(|((quantile, interval), value)| {
        (quantile.key, quantile.name(), interval, value.map(|ns| ns as f64))
    }));
    for (key, name, interval, value) in rows {
        let known = result.agreement.iter().find(|a| a.quantity == key);
        let known = known.map(|a| {
            let mark = if a.is_within { "" } else { " *" };
            format!("{:>12} {:>+7.2}%{mark}", show_ns(a.closed), a.error * 100.0)
        });
        let row = format!(
            "{name:>8} {:>12} {:>27} {}",
            text_of(value),
            range(interval),
            known.unwrap_or_default()
        );
        let _ = writeln!(text, "{}", row.trim_end());
    }
    if result.agreement.iter().any(|a| !a.is_within) {
        text.push_str("\n* outside the interval; of 20 such comparisons one is, by chance\n");
    }
    for why in &outcome.unknown {
        let _ = writeln!(text, "\nunknown: {why}");
    }
    if result.verdict == Verdict::Unknown {
        let _ = writeln!(text, "\nunknown: {}", result.reasons.join("; "));
    }
    text
}

/// One machine's result as text for people.
pub fn sched(result: &SchedResult) -> String {
    let (policy, cpus) = (&result.job.policy, result.job.cpus);
    let mut text = format!("simulated: {cpus} CPU(s) under {policy}\n\n");
    let head = ["offered", "achieved", "CPUs", "mean", "p50", "p95", "p99"];
    let _ = write!(text, "{:<14}", "");
    for name in head {
        let _ = write!(text, " {name:>8}");
    }
    text.push('\n');
    for service in &result.services {
        let span = &service.sojourn_ns;
        let ns = |value: Option<u64>| value.map_or("inf".into(), |v| show_ns(v as f64));
        let _ = writeln!(
            text,
            "{:<14} {:>8} {:>8} {:>8.3} {:>8} {:>8} {:>8} {:>8}",
            service.name,
            show_count(service.offered_rps),
            show_count(service.achieved_rps),
            service.cpu_share,
            text_of(span.mean),
            ns(span.p50),
            ns(span.p95),
            ns(span.p99)
        );
    }
    for other in &result.neighbours {
        let (name, share) = (&other.name, other.cpu_share);
        let _ = writeln!(text, "{name:<14} {share:>26.3}  progress {:.3} of alone", other.progress);
    }
    for reason in &result.reasons {
        let _ = writeln!(text, "\nunknown: {reason}");
    }
    text
}

/// One datacenter's day as text for people.
pub fn fleet(result: &FleetResult) -> String {
    let (servers, placement) = (result.job.servers, &result.job.placement);
    let mut text = format!("simulated: {servers} servers, neighbours {placement}\n\n");
    let _ = writeln!(
        text,
        "{:>4} {:>6} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "hour", "load", "root p50", "root p99", "server p99", "neighbours", "throughput"
    );
    let ns = |value: Option<u64>| value.map_or("-".into(), |v| show_ns(v as f64));
    for (index, hour) in result.hours.iter().enumerate() {
        let _ = writeln!(
            text,
            "{index:>4} {:>6.3} {:>10} {:>10} {:>10} {:>10.3} {:>10.3}",
            hour.load,
            ns(hour.root_ns.p50),
            ns(hour.root_ns.p99),
            ns(hour.server_ns.p99),
            hour.neighbour_share,
            hour.neighbour_throughput
        );
    }
    for reason in &result.reasons {
        let _ = writeln!(text, "\nunknown: {reason}");
    }
    text
}

/// A system of services as text for people.
pub fn calls(result: &CallsResult) -> String {
    let mut text = format!(
        "simulated: {} runs at {} requests/s, {:.2} % answered ({:.2} to {:.2} %)\n\n",
        result.job.runs,
        show_count(result.offered_rps),
        result.answered.mid * 100.0,
        result.answered.lo * 100.0,
        result.answered.hi.min(1.0) * 100.0
    );
    let _ = writeln!(text, "{:>8} {:>12} {:>27}", "", "sojourn", "95 % interval");
    let intervals = &result.intervals;
    let mean = [("mean".to_string(), result.sojourn_ns.mean, intervals.mean)];
    let quantiles = QUANTILES.iter().zip(result.sojourn_ns.quantiles()).zip(intervals.quantiles());
    let quantiles = quantiles.map(|((quantile, value), interval)| {
        (quantile.name(), value.map(|ns| ns as f64), interval)
    });
    for (name, value, interval) in mean.into_iter().chain(quantiles) {
        let _ = writeln!(text, "{name:>8} {:>12} {:>27}", text_of(value), range(interval));
    }
    let head = ["use", "instances", "per user", "timeouts", "retries", "hedges", "wasted"];
    let _ = write!(text, "\n{:<14}", "");
    for name in head {
        let _ = write!(text, " {name:>9}");
    }
    text.push('\n');
    for one in &result.services {
        let _ = writeln!(
            text,
            "{:<14} {:>9.3} {:>9.2} {:>9.3} {:>9.3} {:>9.3} {:>9.3} {:>9.3}",
            one.name,
            one.utilisation,
            one.instances,
            one.per_request,
            one.timeouts,
            one.retries,
            one.hedges,
            one.wasted
        );
    }
    for reason in &result.reasons {
        let _ = writeln!(text, "\nunknown: {reason}");
    }
    text
}

fn text_of(ns: Option<f64>) -> String {
    ns.map_or("-".into(), show_ns)
}

fn range(interval: Option<Interval>) -> String {
    interval.map_or("unknown".into(), |i| format!("{} to {}", show_ns(i.lo), show_ns(i.hi)))
}
