//! The times of a job, ns: read, decided where they are `auto`, and possible.

use sojourn_base::Fault;

use super::longest::{LONGEST_NS, parsed};
use super::qos::{Qos, qos_of};
use crate::job::Job;

/// How long replies are waited for after the last request was due, unless the job says more.
const DRAIN_NS: u64 = 2_000_000_000;

/// The times of a job, all known and possible.
pub(super) struct Times {
    pub(super) duration_ns: u64,
    pub(super) warmup_ns: u64,
    pub(super) outage_over_ns: u64,
    pub(super) timeout_ns: u64,
    pub(super) drain_ns: u64,
    pub(super) qos: Option<Qos>,
}

impl Times {
    pub(super) fn of(job: &Job) -> Result<Self, Fault> {
        let duration_ns = parsed("duration", &job.duration)?;
        if duration_ns == 0 {
            return Err(Fault::usage(
                "duration is 0",
                "duration",
                "give a time above 0, such as 10s",
            ));
        }
        let warmup_ns = parsed("warmup", &job.warmup)?;
        let outage_over_ns = parsed("outage_over", &job.outage_over)?;
        let qos = qos_of(job)?;
        let timeout_ns = match job.timeout.as_str() {
            "auto" => timeout_auto_ns(qos),
            text => parsed("timeout", text)?,
        };
        let drain_ns = match job.drain.as_str() {
            "auto" if job.timeout == "auto" => DRAIN_NS,
            "auto" => timeout_ns.max(DRAIN_NS),
            text => parsed("drain", text)?,
        };
        if timeout_ns == 0 {
            let fix = "give a time above 0, such as 1s, or auto";
            return Err(Fault::usage("timeout is 0: no reply can come in time", "timeout", fix));
        }
        Ok(Self { duration_ns, warmup_ns, outage_over_ns, timeout_ns, drain_ns, qos })
    }
}

/// Ten times the `QoS` bound, or 1 s without one.
fn timeout_auto_ns(qos: Option<Qos>) -> u64 {
    qos.map_or(1_000_000_000, |qos| qos.bound_ns.saturating_mul(10).min(LONGEST_NS))
}

/// 50 µs, or 1 % of the `QoS` bound if that is more. Source: METHOD M3 (timely sending). It leaves room for what the
/// kernel takes to wake a thread whose timer has run out (the timers' own slack is 1 ns, see `cpu`);
/// what a thread that sleeps puts its wake-ups off by intent is added to it.
pub(super) fn timely_within_auto_ns(qos: Option<Qos>) -> u64 {
    qos.map_or(0, |qos| qos.bound_ns / 100).max(50_000)
}
