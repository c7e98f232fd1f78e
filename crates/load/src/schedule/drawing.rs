//! A plan drawn piece by piece: the same requests as [`super::draw`] gives at once.

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, stream};

use super::{DueTimes, Timetable, check, due_times, next_op, population};
use crate::job::Job;
use crate::marks::Op;
use crate::popularity::{self, Choice};

/// One request of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it is due, ns after the start of the warm-up.
    pub intended_ns: u64,
    /// Which key or path it asks for.
    pub item: u32,
    /// What it does.
    pub op: Op,
}

/// The plan of one thread, from its first request on. Times, items and operations have streams of
/// their own, so it does not matter where one piece ends and the next begins.
#[derive(Debug)]
pub struct Drawing {
    job: Job,
    due: DueTimes,
    choice: Choice,
    items: Rng,
    ops: Rng,
}

impl Drawing {
    /// Thread `thread` of an open-loop `job`, which must be resolved: its seed is not 0.
    pub fn new(job: &Job, thread: u32) -> Result<Self, Fault> {
        check(job)?;
        let stream_of = |use_name| stream(job.seed, use_name, u64::from(thread));
        Ok(Self {
            due: due_times(job, &Timetable::of(job)?, thread)?,
            choice: popularity::parse(&job.popularity, population(job))?,
            items: stream_of("items"),
            ops: stream_of("ops"),
            job: job.clone(),
        })
    }

    /// The next request; `None` at the end of the load.
    pub fn next_planned(&mut self) -> Result<Option<Planned>, Fault> {
        let Some(intended_ns) = self.due.next_ns()? else { return Ok(None) };
        let item = self.choice.next_item(&mut self.items);
        Ok(Some(Planned { intended_ns, item, op: next_op(&self.job, &mut self.ops) }))
    }
}
