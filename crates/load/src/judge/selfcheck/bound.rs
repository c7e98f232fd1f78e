//! Is the sample large enough to decide on the `QoS` bound? (METHOD M10, M12, M34)
//!
//! Asked after all else: a run that cannot be believed stays `unknown` for its own reason.

use sojourn_base::quantiles::name_of;
use sojourn_base::units::{show_count, show_ns};

use super::Evidence;
use super::judgement::{Judgement, is_loose, is_server_busy};
use crate::judge::qos_sample::{QosSample, Sample, Says, unseen};
use crate::judge::result::Verdict;

/// Holds the verdict of the quantile against the error of its sample.
pub(super) fn decide(evidence: &Evidence, judged: &mut Judgement) {
    let (Some(windows), Some(bound_ns)) = (&evidence.misses, evidence.qos_bound_ns) else { return };
    let sample = Sample::of(windows, evidence.job.qos_quantile);
    if evidence.retained == 0 {
        return;
    }
    let report = sample.report();
    let says = match judged.verdict {
        Verdict::Violated => sample.with_misses(surely(evidence, judged, bound_ns)).says(),
        _ => sample.says(),
    };
    let is_reported = match judged.verdict {
        Verdict::Holds => says == Says::Holds,
        Verdict::Violated => says == Says::Violated,
        Verdict::Unknown => true, // for a reason of its own
    };
    if !is_reported && !evidence.job.pooled {
        judged.verdict = Verdict::Unknown;
        judged.reasons = vec![open(&report, bound_ns)];
    }
    if judged.verdict == Verdict::Holds && !evidence.job.pooled {
        judged.notes.extend(unnoticed(evidence, &report, bound_ns));
    }
    judged.qos = Some(report);
}

/// Misses that neither a late client nor what exclusion leaves can have caused; see [`super::judge`].
fn surely(evidence: &Evidence, judged: &Judgement, bound_ns: u64) -> u64 {
    let greatest_ns = || evidence.pick_up.quantile(1.0).unwrap_or(0);
    let is_late = !judged.lateness.is_empty() && !is_server_busy(evidence);
    let late_ns = if is_late { judged.lateness_ns.unwrap_or_else(greatest_ns) } else { 0 };
    let allowance = if is_loose(evidence) { evidence.outages.allowance } else { 1.0 };
    if late_ns == 0 && allowance <= 1.0 {
        return u64::MAX; // all of them
    }
    evidence.sojourn.above(((bound_ns + late_ns) as f64 * allowance) as u64)
}

/// Why the sample cannot decide, and how many requests would.
fn open(sample: &QosSample, bound_ns: u64) -> String {
    let QosSample { quantile, requests, misses, together, needed, .. } = sample;
    let (name, allowed) = (name_of(*quantile), share((1.0 - quantile) * 100.0));
    let bound = show_ns(bound_ns as f64);
    let needs = match needed {
        Some(needed) => format!("{name} needs {needed} requests, there are {requests}"),
        None => {
            format!("{name} is too near the bound for any number of requests, there are {requests}")
        }
    };
    let groups = if *together > 1.5 && *misses > 1 {
        format!(", and misses come together, some {} at a time", show_count(together.round()))
    } else {
        String::new()
    };
    format!(
        "qos: undecided: {needs}; {misses} of them missed the bound of {bound}, {allowed} % \
         may{groups}; measure longer, or at a higher rate"
    )
}

/// A percentage without noise: 0.1, not 0.10000000000000009.
fn share(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

/// What a run so short may have missed though it would violate the bound.
fn unnoticed(evidence: &Evidence, sample: &QosSample, bound_ns: u64) -> Option<String> {
    let apart_ns = unseen(sample.quantile, bound_ns, evidence.measured_ns.1)?;
    Some(format!(
        "a stall that makes requests miss for as long as the bound, once in {}, would violate it too, and a \
         run of {} may not contain one; measure longer to exclude it",
        show_ns(apart_ns),
        show_ns(evidence.measured_ns.1 as f64)
    ))
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::result::{RunResult, Verdict};
    use crate::judge::summary::summarise;
    use crate::output::table::table;
    use crate::protocols::Outcome;

    /// A run at 1k/s of so long, of which every `every`th request is lost.
    fn run(duration: &str, every: usize, change: impl FnOnce(&mut Job)) -> RunResult {
        let mut job = Job {
            rate: "1k".into(),
            duration: duration.into(),
            qos_quantile: 0.99,
            qos_bound: "20ms".into(),
            ..fake::job()
        };
        change(&mut job);
        let mut run = fake::run(job, 0, 1_000);
        let lost = run.threads[0].marks.outcome.iter_mut().step_by(every);
        lost.for_each(|it| *it = Outcome::TimedOut);
        summarise(&run).unwrap()
    }

    const NONE: usize = usize::MAX;

    #[test]
    fn a_handful_of_requests_decides_nothing_and_says_how_many_would() {
        let few = run("100ms", NONE, |_| ());
        assert_eq!(few.verdict, Verdict::Unknown);
        let [reason] = &few.reasons[..] else { panic!("{:?}", few.reasons) };
        let n = few.sojourn_ns.count;
        let words = format!("qos: undecided: p99 needs 563 requests, there are {n}; 0 of them");
        assert!(reason.starts_with(&words), "{reason}");
        assert_eq!(few.qos.as_ref().unwrap().needed, Some(563));
        let page = table(&few);
        assert!(page.contains('–') && page.contains("p99 needs 563"), "{page}");
    }

    #[test]
    fn enough_of_them_decide_and_near_the_bound_they_do_not() {
        assert_eq!(run("2s", NONE, |_| ()).verdict, Verdict::Holds);
        assert_eq!(run("2s", 20, |_| ()).verdict, Verdict::Violated);
        let near = run("2s", 80, |_| ());
        assert_eq!(near.verdict, Verdict::Unknown, "1.25 %, and 1 % may");
        assert!(near.reasons[0].starts_with("qos: undecided"), "{:?}", near.reasons);
        let within = run("2s", 120, |_| ());
        assert_eq!(within.verdict, Verdict::Unknown, "0.83 %");
        assert_eq!(within.qos.unwrap().misses, within.sojourn_ns.lost);
    }

    #[test]
    fn one_of_several_runs_has_the_verdict_of_its_quantile() {
        let pooled = |job: &mut Job| job.pooled = true;
        assert_eq!(run("100ms", NONE, pooled).verdict, Verdict::Holds);
        assert_eq!(run("2s", 80, pooled).verdict, Verdict::Violated);
        assert!(run("2s", 80, pooled).qos.is_some());
    }

    /// One connection that asks again every 0.1 ms, so many times in all.
    fn closed(requests: usize) -> RunResult {
        let job = Job { find_max: true, requests_max: 100_000, ..fake::job() };
        let (qos_quantile, qos_bound) = (0.99, "20ms".into());
        let mut run = fake::run(Job { qos_quantile, qos_bound, ..job }, 0, 0);
        let marks = &mut run.threads[0].marks;
        for i in 0..marks.sent_ns.len() {
            let at_ns = if i < requests { 100_000_000 + 100_000 * i as u64 } else { 0 };
            (marks.sent_ns[i], marks.done_ns[i]) = (at_ns, at_ns + 90_000);
        }
        summarise(&run).unwrap()
    }

    #[test]
    fn a_closed_loop_is_decided_the_same_way() {
        let result = closed(10_000);
        assert_eq!(result.verdict, Verdict::Holds, "{:?}", result.reasons);
        assert_eq!((result.windows, result.qos.is_some()), (None, true));
        let few = closed(300);
        assert!(few.reasons[0].contains("p99 needs 563 requests, there are 300"), "{few:?}");
    }

    #[test]
    fn a_run_too_short_for_a_rare_stall_says_so() {
        let is_noted = |result: &RunResult| {
            result.notes.iter().any(|note| note.contains("may not contain one"))
        };
        assert!(is_noted(&run("2s", NONE, |_| ())));
        let long = run("2s", NONE, |job| job.qos_bound = "6ms".into());
        assert!(!is_noted(&long), "{:?}", long.notes);
    }
}
