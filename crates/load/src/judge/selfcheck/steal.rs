//! Did the server's CPUs run? What the hypervisor or other tasks take from them is latency that the
//! service did not cause.
//!
//! Where a log has every time that the service's threads were kept from their CPUs, both readings stand
//! in the result: as experienced, and undisturbed (METHOD M29). Then only a run of which little was
//! undisturbed is void, unless the job says that others share these CPUs on purpose. Without such a log the sum of steal is all that is known.
//!
//! Like a late client, stops of the server only make the service look worse, so a target that holds
//! stands. They take capacity too, so without a log a violated one does not stand.

use sojourn_base::units::percents;

use super::{Check, Evidence};
use crate::judge::stops;
use crate::watch::server_watch::NO_PRIORITY;

/// Of the time of the server's CPUs, where no log says when.
const STEAL_MAX: f64 = 0.01;

/// Of the time of the server's CPUs, in a closed loop: its peak is too low by as much.
const TAKEN_MAX: f64 = 0.1;

pub(super) const CHECK: Check = Check {
    name: "server stopped",
    about: "stops of the server's CPUs disturbed at most disturbed_share_max of the requests, and took at \
            most 10 % of a closed loop's time",
    source: "METHOD M27, M29, M33; proc(5), stat",
    in_closed_loop: true,
    is_lateness: true,
    failed,
};

/// The share of the server's CPUs that was stolen, if that is too much and no log says when.
pub(super) fn excess(evidence: &Evidence) -> Option<f64> {
    let is_logged = evidence.server_stops.as_ref().is_some_and(stops::is_whole);
    let steal = evidence.checks.server_steal_share.filter(|_| !is_logged);
    steal.filter(|steal| *steal > STEAL_MAX)
}

/// Why a closed loop is not the service's peak: a share of its CPUs' time is as much of its pace.
fn below_peak(evidence: &Evidence) -> Option<String> {
    let taken = evidence.server_stops.as_ref()?.share_taken;
    let is_asked = evidence.job.disturbed_share_max < 1.0; // else who shares them is measured too
    (is_asked && taken > TAKEN_MAX).then(|| {
        let [taken, most] = percents(taken, TAKEN_MAX, 0);
        format!(
            "other tasks used {taken} % of the time of the service's CPUs, {most} % may be: it can do \
             more than this; give the server CPUs of its own, or measure again in a quieter hour"
        )
    })
}

fn failed(evidence: &Evidence) -> Option<String> {
    if let Some(steal) = excess(evidence) {
        let [steal, most] = percents(steal, STEAL_MAX, 1);
        let lack = evidence.server_stops.as_ref().and_then(|stops| stops.lacks.first());
        let (why, root) = lack.map_or_else(Default::default, |lack| {
            let root = if lack == NO_PRIORITY { "measure as root, " } else { "" };
            (format!(" ({lack})"), root)
        });
        return Some(format!(
            "the hypervisor took {steal} % of the time of the server's CPUs, {most} % may be where \
             no log says when{why}; {root}use a machine with CPUs of its own, or measure again in a \
             quieter hour"
        ));
    }
    if evidence.job.find_max {
        return below_peak(evidence);
    }
    let disturbed = evidence.server_stops.as_ref()?.share_disturbed;
    let most = evidence.job.disturbed_share_max;
    (disturbed > most).then(|| {
        let [disturbed, most] = percents(disturbed, most, 0);
        format!(
            "other tasks used the service's CPUs: {disturbed} % of the requests were due then or \
             in the recovery, {most} % may be; give the server CPUs of its own"
        )
    })
}
