//! A plan drawn piece by piece: the same requests as [`Workload::draw`] gives at once.

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, stream};

use super::{DueTimes, Timetable, Workload, due_times, next_op};
use crate::plan::Planned;
use crate::popularity::{self, Choice};

/// The plan of one thread, from its first request on. Times, items and operations have streams of
/// their own, so it does not matter where one piece ends and the next begins.
#[derive(Debug)]
pub struct Drawing {
    shares: Vec<f64>,
    due: DueTimes,
    choice: Choice,
    items: Rng,
    ops: Rng,
}

impl Drawing {
    /// Thread `thread` of an open loop.
    pub fn new(asked: &Workload, thread: u32) -> Result<Self, Fault> {
        asked.check()?;
        let stream_of = |use_name| stream(asked.seed, use_name, u64::from(thread));
        Ok(Self {
            due: due_times(asked, &Timetable::of(asked)?, thread)?,
            choice: popularity::parse(&asked.popularity, asked.items)?,
            items: stream_of("items"),
            ops: stream_of("ops"),
            shares: asked.shares.clone(),
        })
    }

    /// The next request; `None` at the end of the load.
    pub fn next_planned(&mut self) -> Result<Option<Planned>, Fault> {
        let Some(intended_ns) = self.due.next_ns()? else { return Ok(None) };
        let item = self.choice.next_item(&mut self.items);
        Ok(Some(Planned { intended_ns, item, op: next_op(&self.shares, &mut self.ops) }))
    }
}
