//! Did the instrument itself run? A client that was stopped sees latency that no server caused.

use sojourn_base::units::show_ns;

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "client stopped",
    about: "outages of the client take at most outage_share_max of the time",
    source: "METHOD M27",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let outages = &evidence.outages;
    if evidence.outages_unlisted > 0 {
        let unlisted = evidence.outages_unlisted;
        return Some(format!(
            "{unlisted} outages beyond what the log holds; raise outage_over, or use a quieter host"
        ));
    }
    let most = evidence.job.outage_share_max;
    (outages.share_time > most).then(|| {
        let [total, longest] = [outages.total_ns, outages.longest_ns].map(|ns| show_ns(ns as f64));
        let steal = evidence.checks.steal_share.filter(|&share| share > 0.001);
        let steal = steal.map_or(String::new(), |s| format!(" (steal {:.1} %)", s * 100.0));
        format!(
            "the client did not run for {total} in {} outages, the longest {longest}: {:.2} % of the \
             time, {:.2} % may be{steal}; use a quieter host or CPUs of its own, or measure longer",
            outages.count,
            outages.share_time * 100.0,
            most * 100.0
        )
    })
}
