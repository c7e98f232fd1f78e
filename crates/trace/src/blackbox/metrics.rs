//! What the black box says of the service and of itself, as `OpenMetrics`.

use std::fmt::Write as _;

use super::tally::{Beside, at_least};
use crate::reconstruct::bins;

/// Upper edges of the histogram, ns: 100 µs to 10 s.
const EDGES_NS: [u64; 16] = [
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// What is said; counts are since the beginning.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// Name of the service.
    pub service: String,
    /// Whether it runs.
    pub is_up: bool,
    /// Requests by bin of [`bins::TOTAL`].
    pub totals: Vec<u64>,
    /// Slow requests in memory.
    pub stored: u64,
    /// Shorter ones are not stored, ns.
    pub floor_ns: u64,
    /// What is counted beside the requests.
    pub beside: Beside,
    /// Dumps that were written.
    pub dumps: u64,
    /// Dumps that could not be written.
    pub dumps_failed: u64,
    /// Dumps that were removed because the disk was full.
    pub dumps_removed: u64,
    /// Causes that were passed over, because it was too soon.
    pub passed_over: u64,
    /// CPU time of this program, ns.
    pub own_cpu_ns: u64,
    /// Memory of this program, bytes.
    pub own_bytes: u64,
}

/// The text that Prometheus reads, with its end mark.
pub fn text(now: &Now) -> String {
    let label = format!("service=\"{}\"", escaped(&now.service));
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").expect("into memory");
    line(
        "# HELP sojourn_ring_request_seconds Time from a request's bytes at TCP to its reply."
            .into(),
    );
    line("# TYPE sojourn_ring_request_seconds histogram".into());
    line("# UNIT sojourn_ring_request_seconds seconds".into());
    let all: u64 = now.totals.iter().sum();
    let edges = EDGES_NS.map(|ns| (ns as f64 / 1e9, all.saturating_sub(at_least(&now.totals, ns))));
    for (edge, n) in edges {
        line(format!("sojourn_ring_request_seconds_bucket{{{label},le=\"{edge:?}\"}} {n}"));
    }
    line(format!("sojourn_ring_request_seconds_bucket{{{label},le=\"+Inf\"}} {all}"));
    line(format!("sojourn_ring_request_seconds_count{{{label}}} {all}"));
    line(format!("sojourn_ring_request_seconds_sum{{{label}}} {}", sum_s(&now.totals)));
    let mut one = |name: &str, kind: &str, about: &str, value: f64| {
        let end = if kind == "counter" { "_total" } else { "" };
        line(format!("# HELP sojourn_ring_{name} {about}"));
        line(format!("# TYPE sojourn_ring_{name} {kind}"));
        line(format!("sojourn_ring_{name}{end}{{{label}}} {value}"));
    };
    one("up", "gauge", "1 while the service runs.", f64::from(u8::from(now.is_up)));
    one("stored", "gauge", "Slow requests in memory.", now.stored as f64);
    one("floor_seconds", "gauge", "Shorter requests are not stored.", now.floor_ns as f64 / 1e9);
    let beside = &now.beside;
    one("dropped", "counter", "Slow requests that had no room.", beside.dropped as f64);
    let about = "Requests with a time that is a lower bound.";
    one("lower_bounds", "counter", about, beside.lower_bounds as f64);
    let about = "Times that more bytes came before the reply to what had come.";
    one("together", "counter", about, beside.together as f64);
    let about = "Requests that others replied to, on ports of the same numbers.";
    one("foreign", "counter", about, beside.foreign as f64);
    one("events_lost", "counter", "Scheduler events that had no room.", beside.events_lost as f64);
    one("dumps", "counter", "Dumps written.", now.dumps as f64);
    one("dumps_failed", "counter", "Dumps that could not be written.", now.dumps_failed as f64);
    let about = "Dumps removed because the disk was full.";
    one("dumps_removed", "counter", about, now.dumps_removed as f64);
    one("passed_over", "counter", "Causes of a dump that came too soon.", now.passed_over as f64);
    one("unwatched_seconds", "counter", "Time without hooks.", beside.unwatched_ns as f64 / 1e9);
    one("cpu_seconds", "counter", "CPU time of the black box.", now.own_cpu_ns as f64 / 1e9);
    one("resident_bytes", "gauge", "Memory of the black box.", now.own_bytes as f64);
    out.push_str("# EOF\n");
    out
}

/// From the middles of bins, which are 0.8 % wide.
fn sum_s(totals: &[u64]) -> f64 {
    let middle =
        |bin: usize| f64::midpoint(bins::TOTAL.low(bin) as f64, bins::TOTAL.low(bin + 1) as f64);
    let bins = totals.iter().enumerate().filter(|(_, n)| **n > 0);
    bins.map(|(bin, n)| middle(bin) * *n as f64).sum::<f64>() / 1e9
}

/// A label's value; names of processes may hold anything.
fn escaped(text: &str) -> String {
    let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
    plain.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_is_cumulated_and_ends_with_all() {
        let mut totals = vec![0; bins::TOTAL.count()];
        totals[bins::TOTAL.of(150_000)] = 7;
        totals[bins::TOTAL.of(30_000_000)] = 3;
        let service = "a\"b\\c\n\u{1b}".to_owned();
        let beside = Beside { lower_bounds: 4, together: 5, foreign: 6, ..Beside::default() };
        let now = Now { service, totals, beside, dumps_removed: 2, ..Now::default() };
        let text = text(&now);
        for wanted in [
            "le=\"0.0001\"} 0\n",
            "le=\"0.0002\"} 7\n",
            "le=\"0.02\"} 7\n",
            "le=\"0.05\"} 10\n",
            "le=\"1.0\"} 10\n", // as clients of Prometheus write it: "1" would be another series
            "le=\"+Inf\"} 10\n",
            "{service=\"a\\\"b\\\\c\"}",
            "sojourn_ring_dropped_total{",
            "sojourn_ring_lower_bounds_total{service=\"a\\\"b\\\\c\"} 4\n",
            "sojourn_ring_together_total{service=\"a\\\"b\\\\c\"} 5\n",
            "sojourn_ring_dumps_removed_total{service=\"a\\\"b\\\\c\"} 2\n",
            "sojourn_ring_foreign_total{service=\"a\\\"b\\\\c\"} 6\n",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(text.ends_with("# EOF\n") && !text.contains('\u{1b}'));
        assert_eq!(text.matches("# TYPE").count(), text.matches("# HELP").count());
    }
}
