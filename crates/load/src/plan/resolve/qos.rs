//! The `QoS` target of a job: a quantile and a bound, or neither.

use sojourn_base::Fault;

use super::longest::parsed;
use crate::job::Job;

/// A `QoS` target: quantile and bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Qos {
    /// Quantile in (0, 1).
    pub q: f64,
    /// Bound on the sojourn time, ns.
    pub bound_ns: u64,
}

/// The target; refuses half of one, and one that nothing can meet.
pub fn qos_of(job: &Job) -> Result<Option<Qos>, Fault> {
    let q = job.qos_quantile;
    if !(0.0..1.0).contains(&q) {
        let fix = "give a quantile above 0 and below 1, such as 0.99 for p99";
        return Err(Fault::usage(format!("qos_quantile is {q}"), "qos_quantile", fix));
    }
    match (q > 0.0, job.qos_bound.is_empty()) {
        (false, true) => Ok(None),
        (true, false) => {
            let bound_ns = parsed("qos_bound", &job.qos_bound)?;
            if bound_ns == 0 {
                let fix = "give a time above 0, such as 500us";
                return Err(Fault::usage(
                    "qos_bound is 0: no request can meet it",
                    "qos_bound",
                    fix,
                ));
            }
            Ok(Some(Qos { q, bound_ns }))
        }
        _ => Err(Fault::usage(
            "a QoS target needs both a quantile and a bound, one is missing",
            "qos_quantile, qos_bound",
            "give both, such as --qos-quantile 0.99 --qos-bound 500us, or neither",
        )),
    }
}

/// The bound of the `QoS` target of a resolved job, ns; `None` without a target.
pub fn qos_bound_ns(job: &Job) -> Result<Option<u64>, Fault> {
    Ok(qos_of(job)?.map(|qos| qos.bound_ns))
}
