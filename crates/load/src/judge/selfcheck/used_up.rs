//! Did the closed loop's plan last as long as its time?
//!
//! What is sent is drawn before the run, for a closed loop too. Where all of it was sent before its
//! time was over, the end of the run is the plan's doing, and the last requests went out on fewer
//! connections than asked for.

use sojourn_base::units::{show_count, show_ns};
use sojourn_workload::schedule::CLOSED_RPS_MAX;

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "plan",
    about: "a closed loop's plan lasted until its time was over",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let (after_ns, planned_ns) = evidence.used_up_ns?;
    let job = &evidence.job;
    let drawn = planned_ns as f64 / 1e9 * CLOSED_RPS_MAX;
    let [after, planned] = [after_ns, planned_ns].map(|ns| show_ns(ns as f64));
    let fix = if drawn > job.requests_max as f64 {
        "raise requests_max, or shorten the run".into()
    } else {
        format!("at more than {}/s ask for an open loop with --rate", show_count(CLOSED_RPS_MAX))
    };
    Some(format!(
        "all {} requests of a thread's plan were sent after {after} of {planned}; {fix}",
        show_count(drawn.min(job.requests_max as f64) / f64::from(job.threads))
    ))
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::result::Verdict;
    use crate::judge::summary::summarise;

    #[test]
    fn a_closed_loop_that_used_up_its_plan_does_not_hold() {
        let job = Job { find_max: true, requests_max: 1_000_000, ..fake::job() };
        let mut run = fake::run(job, 0, 1_000);
        for ns in &mut run.threads[0].marks.sent_ns {
            *ns += 200_000_000; // in the measured part
        }
        assert_eq!(summarise(&run).unwrap().verdict, Verdict::Holds);
        run.threads[0].used_up_ns = Some(1_200_000_000);
        run.threads[0].stopped_ns = Some(1_200_000_000);
        let result = summarise(&run).unwrap();
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with("plan: all 1M requests"), "{:?}", result.reasons);
        assert!(result.reasons[0].contains("1.20 s of 2.10 s; raise requests_max"));
    }
}
