//! The classic form: text of `OpenMetrics` 1.0, which every version of Prometheus reads.

use std::fmt::Write;

use super::{ABOUT, COUNTS, Seen, TIMES};

/// All numbers of a run as text.
pub(super) fn body(seen: &Seen) -> Vec<u8> {
    let mut text = String::new();
    for ((name, is_counter, about), count) in COUNTS.iter().zip(seen.counts()) {
        let (kind, suffix) = if *is_counter { ("counter", "_total") } else { ("gauge", "") };
        let _ = writeln!(text, "# TYPE sojourn_load_{name} {kind}");
        let _ = writeln!(text, "# HELP sojourn_load_{name} {about}");
        let _ = writeln!(text, "sojourn_load_{name}{suffix} {count}");
    }
    let _ =
        writeln!(text, "# TYPE {TIMES} histogram\n# UNIT {TIMES} seconds\n# HELP {TIMES} {ABOUT}");
    for (upper_s, total) in seen.classic() {
        let _ = writeln!(text, "{TIMES}_bucket{{le=\"{upper_s:?}\"}} {total}");
    }
    let replies = seen.replies();
    let _ = writeln!(text, "{TIMES}_bucket{{le=\"+Inf\"}} {replies}");
    let _ = writeln!(text, "{TIMES}_count {replies}\n{TIMES}_sum {}", seen.sum_ns as f64 / 1e9);
    text.push_str("# EOF\n");
    text.into_bytes()
}
