//! Is the instrument's own lag small against what it measured?
//!
//! Judged by `pick_up_ns`: from the moment a request was due and a connection was free until it was
//! sent. The rest of the send lag is a wait for a reply, which is the service's.
//!
//! METHOD M3 asks that the p99 of the lag is at most 5 % of the measured p99. That bounds from above
//! what the lag can add to the p99, and the bound is loose: over loopback one send or receive takes
//! a few µs, so a request that falls due meanwhile is late by as much, while the p99 of a service
//! that answers in 20 µs may be 100 µs. So where the bound is exceeded, the addition itself is
//! judged: each request's lag is taken from its sojourn time, and the p99 of what remains must
//! be at most 5 % below the measured p99. Requests are not moved by that in time: lateness of tens
//! of µs in the arrivals themselves is for the checks `timely` and `arrivals`.

use sojourn_base::span::Times;
use sojourn_base::units::show_ns;

use super::{Check, Evidence};

const SHARE_MAX: f64 = 0.05;

pub(super) const CHECK: Check = Check {
    name: "send lag",
    about: "the instrument's own lag makes up at most 5 % of the measured p99",
    source: "METHOD M3",
    in_closed_loop: false,
    failed,
};

/// What the lag adds to the p99, as a share of it.
pub(super) fn share_of_p99(sojourn: &Times, punctual: &Times) -> Option<f64> {
    let (with_ns, without_ns) = (sojourn.quantile(0.99)? as f64, punctual.quantile(0.99)? as f64);
    Some(1.0 - without_ns / with_ns)
}

fn failed(evidence: &Evidence) -> Option<String> {
    let lag_ns = evidence.pick_up.quantile(0.99)? as f64;
    let sojourn_ns = evidence.sojourn.quantile(0.99)? as f64;
    let share = share_of_p99(&evidence.sojourn, &evidence.punctual)?;
    (lag_ns > SHARE_MAX * sojourn_ns && share > SHARE_MAX).then(|| {
        format!(
            "the client's own lag, {} at p99, makes up {:.1} % of the measured p99 of {}, {:.0} % \
             may be; let the client spin on a CPU of its own, or add threads",
            show_ns(lag_ns),
            share * 100.0,
            show_ns(sojourn_ns),
            SHARE_MAX * 100.0
        )
    })
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
    fn without_a_finite_p99_nothing_is_claimed() {
        let mut lost = times(1..=10);
        lost.add_lost();
        assert_eq!(share_of_p99(&lost, &lost), None);
    }
}
