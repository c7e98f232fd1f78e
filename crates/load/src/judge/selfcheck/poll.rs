//! Does a spinning instrument look at its connections often enough?
//!
//! A reply waits for the next poll, so the gap between two polls is the error of `done_ns`. A
//! sleeping instrument is woken by the reply: it is judged by its CPU share instead.

use sojourn_base::units::show_ns;

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "poll gap",
    about: "p99 of the gap between two polls is at most ε, or 5 % of the measured p99",
    source: "METHOD M3",
    in_closed_loop: false,
    is_lateness: true,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    if evidence.sleeps() {
        return None;
    }
    let gap_ns = evidence.checks.poll_gap_p99_ns? as f64;
    let sojourn_ns = evidence.sojourn.quantile(0.99)? as f64;
    let most_ns = (evidence.timely_within_ns as f64).max(0.05 * sojourn_ns);
    (gap_ns > most_ns).then(|| {
        format!(
            "p99 of the gap between two polls is {}, {} may be; give the client more threads with a \
             CPU each, or fewer connections per thread",
            show_ns(gap_ns),
            show_ns(most_ns)
        )
    })
}
