//! From the rings of threads that are ready to the keeper over them.

use std::sync::Arc;

use sojourn_base::Fault;

use super::{Border, Geometry, Keeper, Ring};
use crate::job::Job;
use crate::plan::lanes::{MarksLanes, PlanLanes};
use crate::plan::schedule;
use crate::watch::sentinel::SentinelLog;

/// A thread's ring, for the keeper.
pub struct Lanes {
    /// Its size.
    pub ring: Geometry,
    /// What the keeper shares with the thread.
    pub border: Arc<Border>,
    /// Places of the plan.
    pub plan: PlanLanes,
    /// Places of the marks.
    pub marks: MarksLanes,
}

/// The keeper of the rings of a long run; `None`: its plans and marks are whole.
pub fn keeper(
    job: &Job,
    mut rings: Vec<(usize, Option<Lanes>)>,
    logs: Vec<SentinelLog>,
) -> Result<Option<Keeper>, Fault> {
    rings.sort_unstable_by_key(|(nth, _)| *nth);
    let rings = rings
        .into_iter()
        .filter_map(|(nth, lanes)| Some((nth as u32, lanes?)))
        .map(|(nth, Lanes { ring, border, plan, marks })| {
            Ring::new((plan, marks), schedule::drawing(job, nth)?, ring, border)
        })
        .collect::<Result<Vec<Ring>, Fault>>()?;
    if rings.is_empty() {
        return Ok(None);
    }
    Keeper::new(job, &schedule::timetable(job)?, rings, logs).map(Some)
}
