//! Takes quantiles out of a result that its samples cannot carry, and says why.
//!
//! Histograms and counts stay whole: who has several runs can put them together.

use std::collections::BTreeMap;

use sojourn_base::quantiles::{QUANTILES, name_of};
use sojourn_base::span::Span;

use crate::judge::quantiles::refused;
use crate::judge::result::RunResult;

/// Takes quantiles out of `result` that their samples cannot carry, and notes each in `refused`.
pub fn withhold(result: &mut RunResult) {
    let mut reasons = BTreeMap::new();
    let spans = [
        ("sojourn_ns", Some(&mut result.sojourn_ns)),
        ("sojourn_all_ns", Some(&mut result.sojourn_all_ns)),
        ("undisturbed_ns", result.undisturbed_ns.as_mut()),
        ("wire_ns", Some(&mut result.wire_ns)),
        ("first_byte_ns", Some(&mut result.first_byte_ns)),
        ("send_lag_ns", Some(&mut result.send_lag_ns)),
        ("pick_up_ns", Some(&mut result.pick_up_ns)),
        ("probe_sojourn_ns", result.probe_sojourn_ns.as_mut()),
    ];
    for (name, span) in spans {
        if let Some(span) = span {
            of_span(name, span, &mut reasons);
        }
    }
    if let Some(sessions) = &mut result.sessions {
        of_span("sessions.play_list_ns", &mut sessions.play_list_ns, &mut reasons);
        of_span("sessions.chunk_ns", &mut sessions.chunk_ns, &mut reasons);
    }
    for (nth, thread) in result.threads.iter_mut().enumerate() {
        for (q, value) in [(0.5, &mut thread.p50), (0.99, &mut thread.p99)] {
            if let Some(why) = refused(q, thread.requests) {
                *value = None;
                reasons.insert(format!("threads.{nth}.{}", name_of(q)), why);
            }
        }
    }
    result.refused = reasons;
}

fn of_span(name: &str, span: &mut Span, reasons: &mut BTreeMap<String, String>) {
    let count = span.count;
    for (quantile, value) in QUANTILES.iter().zip(span.quantiles_mut()) {
        if let Some(why) = refused(quantile.q, count) {
            *value = None;
            reasons.insert(format!("{name}.{}", quantile.key), why);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::summary::summarise;

    #[test]
    fn what_a_sample_cannot_carry_is_null_and_says_why() {
        let job =
            |duration: &str| Job { rate: "300".into(), duration: duration.into(), ..fake::job() };
        let few = summarise(&fake::run(job("1s"), 0, 1_000)).unwrap();
        assert!(few.sojourn_ns.p95.is_some());
        assert_eq!((few.sojourn_ns.p99, few.wire_ns.p99, few.threads[0].p99), (None, None, None));
        let n = few.sojourn_ns.count;
        assert_eq!(few.refused["sojourn_ns.p99"], format!("p99 needs 563 requests, there are {n}"));
        assert!(few.refused.contains_key("sojourn_ns.p999"));
        let whole = sojourn_base::span::decode(&few.sojourn_ns.hdr).unwrap();
        assert_eq!(whole.len(), n, "the histogram stays whole");
        let more = summarise(&fake::run(job("4s"), 0, 1_000)).unwrap();
        assert!(more.sojourn_ns.p99.is_some() && more.sojourn_ns.p999.is_none());
        assert!(more.refused["sojourn_ns.p9999"].starts_with("p99.99 needs 56646 requests"));
        let pooled = Job { pooled: true, ..job("1s") };
        let pooled = summarise(&fake::run(pooled, 0, 1_000)).unwrap();
        assert!(pooled.sojourn_ns.p999.is_some() && pooled.refused.is_empty());
    }
}
