//! Has a sleeping instrument CPU to spare? A spinning one always uses all of it.

use sojourn_base::units::percents;

use super::{Check, Evidence};

const SHARE_MAX: f64 = 0.8;

pub(super) const CHECK: Check = Check {
    name: "cpu",
    about: "a client that sleeps uses at most 80 % of its CPU",
    source: "METHOD M3",
    in_closed_loop: false,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let share = evidence.checks.cpu_share_max;
    (evidence.sleeps() && share > SHARE_MAX).then(|| {
        let [share, most] = percents(share, SHARE_MAX, 0);
        format!(
            "the busiest client thread used {share} % of a CPU, {most} % may be; add threads with a \
             CPU each"
        )
    })
}
