//! Did the server's CPUs run? What the hypervisor takes from them is latency that no server caused.
//!
//! Like a late client it only ever makes the service look worse, so a target that holds stands.
//! Unlike it, it takes capacity, so a violated one does not: that decides about the machine's
//! neighbours. Known only where the job names `server_cpus`.

use super::{Check, Evidence};

pub(super) const CHECK: Check = Check {
    name: "server stopped",
    about: "the hypervisor took at most outage_share_max of the time of the server's CPUs",
    source: "METHOD M27; proc(5), stat",
    in_closed_loop: true,
    is_lateness: true,
    failed,
};

/// The share that was taken, if that is more than may be.
pub(super) fn excess(evidence: &Evidence) -> Option<f64> {
    evidence.checks.server_steal_share.filter(|steal| *steal > evidence.job.outage_share_max)
}

fn failed(evidence: &Evidence) -> Option<String> {
    let steal = excess(evidence)?;
    Some(format!(
        "the hypervisor took {:.1} % of the time of the server's CPUs, {:.1} % may be; use a \
         machine with CPUs of its own, or measure again in a quieter hour",
        steal * 100.0,
        evidence.job.outage_share_max * 100.0
    ))
}
