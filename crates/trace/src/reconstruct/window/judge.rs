//! Is what windows saw enough to speak of p99?

use sojourn_base::units::several;

use crate::reconstruct::counts::Counts;
use crate::reconstruct::window::Sampling;
use crate::reconstruct::window::slowing::Slowing;

/// From fewer windows it is not known how much they differ.
const CLUSTERS_MIN: usize = 5;
/// Ten requests above p99.
const REQUESTS_MIN: u64 = 1000;
/// A trace is at most as long, s.
pub const LONGEST_S: u64 = 6 * 3600;
/// Requests that outlast the drain are the longest ones: at most a tenth of those above p99.
const CUT_OFF_MAX: f64 = 0.001;

/// Why a result of windows, or of a sample, must not be believed; nothing where all requests count.
pub fn doubts(counts: &Counts, sampling: &Sampling) -> Vec<String> {
    let Some(accuracy) = &sampling.accuracy else { return Vec::new() };
    let matched = counts.matched();
    if matched == 0 {
        return Vec::new(); // another check says so
    }
    let (what, less) = match sampling.windows {
        Some(_) => ("window", "a higher --cost"),
        None => ("half second", "a larger --sample"),
    };
    let mut doubts = Vec::new();
    if accuracy.clusters < CLUSTERS_MIN {
        doubts.push(format!(
            "requests arrived in {}, and how much these differ needs {CLUSTERS_MIN}: give a longer \
             --duration, {less} or --all",
            several(accuracy.clusters as u64, what)
        ));
    }
    if matched < REQUESTS_MIN {
        let longer = duration_for(counts.duration_ns, matched, REQUESTS_MIN);
        doubts.push(format!(
            "{matched} requests say nothing of p99, which needs {REQUESTS_MIN}: {longer}, {less} or --all"
        ));
    } else if accuracy.p99_ns.is_none_or(|interval| interval.high.is_none()) {
        doubts.push(format!(
            "p99 of {matched} requests has no upper bound, so much do {what}s differ: give a longer --duration, \
             {less} or --all"
        ));
    }
    let cut_off = counts.reason("in_flight");
    if sampling.windows.is_some() && cut_off as f64 > CUT_OFF_MAX * (matched + cut_off) as f64 {
        doubts.push(format!(
            "{cut_off} of {} requests had not ended when the last of their window were waited for no longer: \
             p99 would lack them; give --all",
            matched + cut_off
        ));
    }
    doubts.extend(sampling.slowing.as_ref().and_then(Slowing::doubt));
    doubts
}

/// What to do for a trace in which `needed` come.
pub fn duration_for(duration_ns: u64, seen: u64, needed: u64) -> String {
    match seconds_for(duration_ns, seen, needed) {
        seconds if seconds <= LONGEST_S => format!("give --duration {seconds}s"),
        _ => "trace under more load".into(),
    }
}

/// Whole seconds in which `needed` come, if `seen` came in `duration_ns`, at least 1, and a fifth more, because rates
/// vary.
fn seconds_for(duration_ns: u64, seen: u64, needed: u64) -> u64 {
    let seconds = duration_ns as f64 / 1e9 * needed as f64 / seen.max(1) as f64;
    (seconds * 1.2).ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reconstruct::counts::Row;
    use crate::reconstruct::reasons::REASONS;
    use crate::reconstruct::window::{Accuracy, Interval};

    fn doubt(clusters: usize, requests: u64, high: Option<f64>, in_flight: u64) -> Vec<String> {
        let row = Row { requests, ..Row::default() };
        let count = |name: &str| if name == "in_flight" { in_flight } else { 0 };
        let reasons = REASONS.iter().map(|reason| count(reason.name)).collect();
        let counts = Counts { rows: vec![(1, row)], reasons, ..Counts::default() };
        let p99_ns = Some(Interval { low: 1.0, high });
        let accuracy = Some(Accuracy { clusters, p99_ns, ..Accuracy::default() });
        doubts(&counts, &Sampling { windows: Some(9), accuracy, ..Sampling::default() })
    }

    #[test]
    fn each_lack_is_reported_with_a_remedy() {
        assert_eq!(doubt(5, 1000, Some(2.0), 1), [""; 0]);
        for (result, word) in [
            (doubt(1, 1000, Some(2.0), 0), "in 1 window,"),
            (doubt(4, 1000, Some(2.0), 0), "in 4 windows,"),
            (doubt(5, 999, Some(2.0), 0), "999 requests"),
            (doubt(5, 1000, None, 0), "no upper bound"),
            (doubt(5, 1000, Some(2.0), 2), "2 of 1002"),
        ] {
            assert_eq!(result.len(), 1, "{result:?}");
            assert!(result[0].contains(word) && result[0].contains("--all"), "{result:?}");
        }
    }

    #[test]
    fn a_trace_of_the_proposed_length_sees_enough() {
        for (duration_ns, seen, needed) in
            [(10_000_000_000, 178, 1000), (2_500_000_000, 999, 1000), (1, 1, 1)]
        {
            let seconds = seconds_for(duration_ns, seen, needed);
            let comes = seen as f64 * seconds as f64 * 1e9 / duration_ns as f64;
            assert!(
                seconds >= 1 && comes >= 1.2 * needed as f64,
                "{seconds} s see {comes} of {needed}"
            );
        }
        assert_eq!(seconds_for(10_000_000_000, 178, 1000), 68);
        assert_eq!(seconds_for(10_000_000_000, 0, 20), 240, "none was seen: as if one had come");
        assert_eq!(duration_for(10_000_000_000, 178, 1000), "give --duration 68s");
        assert_eq!(duration_for(30_000_000_000, 1, 1000), "trace under more load");
    }

    #[test]
    fn a_tail_that_hooks_made_is_doubted_and_another_is_not() {
        for (tail_ratio, is_doubted) in [(1.49, false), (1.51, true)] {
            let slowing = Slowing {
                cpu_ratio: Some(1.1),
                tail_ratio: Some(tail_ratio),
                ..Slowing::default()
            };
            let row = Row { requests: 1000, ..Row::default() };
            let counts = Counts {
                rows: vec![(1, row)],
                reasons: vec![0; REASONS.len()],
                ..Counts::default()
            };
            let p99_ns = Some(Interval { low: 1.0, high: Some(2.0) });
            let accuracy = Some(Accuracy { clusters: 9, p99_ns, ..Accuracy::default() });
            let sampling = Sampling { accuracy, slowing: Some(slowing), ..Sampling::default() };
            assert_eq!(doubts(&counts, &sampling).len(), usize::from(is_doubted));
        }
    }

    #[test]
    fn where_every_request_counts_there_is_nothing_to_doubt() {
        assert!(doubts(&Counts::default(), &Sampling::default()).is_empty());
        assert!(doubt(1, 0, None, 0).is_empty(), "no request at all is said elsewhere");
    }
}
