//! Is the instrument's own lag small against what it measured?
//!
//! Judged by `pick_up_ns`: from the moment a request was due and a connection was free until it was
//! sent. The rest of the send lag is a wait for a reply, which is the service's.
//!
//! METHOD M3 asks that the p99 of the lag is at most 5 % of the measured p99. That bounds from above
//! what the lag can add to the p99, and the bound is loose. Over loopback, one send takes as long as
//! the way through both ends of the kernel and waking the server: 5 to 20 µs, during which the next
//! request may fall due, while the p99 of a service that answers in 20 µs may be 100 µs. So where
//! the bound is exceeded, two things are looked at instead:
//!
//! - the addition itself: each request's lag is taken from its sojourn time, and the p99 of what
//!   remains must be at most 5 % below the measured p99;
//! - if the run has a `QoS` bound to decide on: the p99 of the lag is at most 5 % of that bound. The
//!   decision then stands (lag only makes the service look worse), and a note says by how much the
//!   measured p99 is too high at most.
//!
//! Where both fail the lag is still known, and only adds. If it is all that is wrong (so at least 97.5 % of
//! requests were sent within ε of when they could be), the run is believed: its quantiles are upper
//! bounds, and `lateness_ns` in the result says how much of them the lag can be, be it most of them. See
//! `judge` for what is decided then.
//!
//! Requests are not moved in time by either: lateness in the arrivals themselves is for the checks
//! `timely` and `arrivals`.

use sojourn_base::span::Times;
use sojourn_base::units::{Way, show_bound_ns, show_ns};

use super::{Check, Evidence};

const SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check = Check {
    name: "send lag",
    about: "the instrument's own lag makes up at most 5 % of the measured p99",
    source: "METHOD M3",
    in_closed_loop: false,
    is_lateness: true,
    failed,
};

/// What the lag adds to the p99, as a share of it.
pub(super) fn share_of_p99(sojourn: &Times, punctual: &Times) -> Option<f64> {
    let (with_ns, without_ns) = (sojourn.quantile(0.99)? as f64, punctual.quantile(0.99)? as f64);
    Some(1.0 - without_ns / with_ns)
}

/// What the lag adds, if it is too much to leave unreported; `None` if it is little.
fn addition(evidence: &Evidence) -> Option<(f64, String)> {
    if evidence.job.target.starts_with("null:") {
        return None; // nothing but the lag is measured, on purpose
    }
    let lag_ns = evidence.pick_up.quantile(0.99)? as f64;
    let sojourn_ns = evidence.sojourn.quantile(0.99)? as f64;
    let share = share_of_p99(&evidence.sojourn, &evidence.punctual)?;
    (lag_ns > SHARE_MAX * sojourn_ns && share > SHARE_MAX).then(|| {
        let text = format!(
            "the client's own lag, {} at p99, makes up {:.1} % of the measured p99 of {}",
            show_bound_ns(lag_ns, Way::Up),
            share * 100.0,
            show_ns(sojourn_ns)
        );
        (lag_ns, text)
    })
}

/// Whether `lag_ns` is too small to change what is decided about the `QoS` bound.
fn is_harmless(lag_ns: f64, bound_ns: Option<u64>) -> bool {
    bound_ns.is_some_and(|bound_ns| lag_ns <= SHARE_MAX * bound_ns as f64)
}

fn failed(evidence: &Evidence) -> Option<String> {
    let (lag_ns, text) = addition(evidence)?;
    let fix = evidence.next_step();
    (!is_harmless(lag_ns, evidence.qos_bound_ns)).then(|| {
        let most = SHARE_MAX * 100.0;
        format!("{text}, {most:.0} % may be; {fix}, lower the rate, or add threads")
    })
}

/// The p99 of the lag, ns, where it is more than 5 % of the measured p99: the measured quantiles are
/// upper bounds, and too high by so much at most.
pub(super) fn bounded_ns(evidence: &Evidence) -> Option<u64> {
    addition(evidence).map(|(lag_ns, _)| lag_ns as u64)
}

/// What to know of a run that is valid in spite of its lag.
pub(super) fn note(evidence: &Evidence) -> Option<String> {
    let (_, text) = addition(evidence)?;
    Some(format!(
        "send lag: {text}: quantiles are upper bounds, the service is that much better at most"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ns: impl Iterator<Item = u64>) -> Times {
        let mut times = Times::new();
        ns.for_each(|ns| times.add(ns));
        times
    }

    #[test]
    fn lag_of_requests_below_the_tail_adds_nothing_to_the_p99() {
        let sojourn = times((1..=1000).map(|i| i * 100));
        let punctual = times((1..=1000).map(|i| if i < 900 { i * 80 } else { i * 100 }));
        assert_eq!(share_of_p99(&sojourn, &punctual), Some(0.0));
    }

    #[test]
    fn lag_of_every_request_is_its_share_of_the_p99() {
        let sojourn = times((1..=1000).map(|i| i * 100));
        let punctual = times((1..=1000).map(|i| i * 90));
        let share = share_of_p99(&sojourn, &punctual).unwrap();
        assert!((share - 0.1).abs() < 3e-3, "three digits of the histogram: {share}");
    }

    #[test]
    fn lag_is_harmless_only_beside_a_bound_that_is_twenty_times_as_long() {
        assert!(is_harmless(50_000.0, Some(1_000_000)));
        assert!(!is_harmless(50_001.0, Some(1_000_000)));
        assert!(!is_harmless(1.0, None));
    }

    #[test]
    fn without_a_finite_p99_nothing_is_claimed() {
        let mut lost = times(1..=10);
        lost.add_lost();
        assert_eq!(share_of_p99(&lost, &lost), None);
    }
}
