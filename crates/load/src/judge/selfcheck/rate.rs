//! Is the load the load that was asked for?
//!
//! Two questions, because M3's 1 % alone would blame the instrument for chance: a Poisson plan of N
//! requests is off by 1/√N (one sigma) however well it is drawn and sent.
//! 1. The plan against the job: its count within 1 % of λT, or within 3.3 sigma (one run in a
//!    thousand) if that is more; sigma from the process's own dispersion. But half the rate off is
//!    another load, also where the process is so wild that chance explains it (infinite variance).
//! 2. The sending against the plan: the rate at which requests were issued within 1 % of the rate
//!    at which the plan has them. Here chance plays no part.

use sojourn_base::units::percents;

use super::{Check, Evidence};

const WITHIN: f64 = 0.01;
const SIGMAS: f64 = 3.3;
/// Most that chance may excuse.
const CHANCE_MAX: f64 = 0.5;

pub(super) const CHECK: Check = Check {
    name: "rate",
    about: "the offered load is the load asked for, within 1 %",
    source: "METHOD M3",
    in_closed_loop: false,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let planned = evidence.checks.rate_error;
    let chance = SIGMAS * (evidence.dispersion_planned / evidence.asked.max(1.0)).sqrt();
    let within = WITHIN.max(chance.min(CHANCE_MAX));
    if planned.abs() > within {
        let [off, most] = percents(planned.abs(), within, 2);
        return Some(format!(
            "the plan is {off} % {} the rate asked for, {most} % may be; measure longer",
            side(planned)
        ));
    }
    let sent = evidence.checks.sent_rate_error;
    (sent.abs() > WITHIN).then(|| {
        let [off, most] = percents(sent.abs(), WITHIN, 2);
        format!(
            "requests were issued at a rate {off} % {} the plan's, {most} % may be; lower the rate, \
             or give the client more threads and CPUs of its own",
            side(sent)
        )
    })
}

fn side(error: f64) -> &'static str {
    if error > 0.0 { "above" } else { "below" }
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::result::Verdict;
    use crate::judge::summary::summarise;

    #[test]
    fn chance_does_not_excuse_another_load() {
        // Nearly all gaps are 10,000 times shorter than their mean: a million requests a second.
        let job = Job { arrivals: "pareto:1.0001".into(), rate: "100".into(), ..fake::job() };
        let result = summarise(&fake::run(job, 0, 30_000)).unwrap();
        assert!(result.checks.rate_error.abs() > 0.5, "{}", result.checks.rate_error);
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons.iter().any(|text| text.starts_with("rate: the plan is")));
    }
}
