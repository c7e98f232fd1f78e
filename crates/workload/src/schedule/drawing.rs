//! A plan drawn piece by piece: the same requests as [`Workload::draw`] gives at once.

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, stream};

use super::{DueTimes, InSessions, Timetable, Workload, due_times, next_op};
use crate::plan::Planned;
use crate::popularity::Choice;
use crate::sessions;

/// The plan of one thread, from its first request on. Times, items and operations have streams of
/// their own, so it does not matter where one piece ends and the next begins.
#[derive(Debug)]
pub struct Drawing {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Single(Box<Single>),
    Sessions(Box<InSessions>),
}

/// Arrivals of which each is one request.
#[derive(Debug)]
struct Single {
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
        if let Some(sessions) = sessions::parse(&asked.sessions)? {
            let drawn = InSessions::new(asked, &sessions, thread)?;
            return Ok(Self { source: Source::Sessions(Box::new(drawn)) });
        }
        let stream_of = |use_name| stream(asked.seed, use_name, u64::from(thread));
        let single = Single {
            due: due_times(asked, &Timetable::of(asked)?, thread, 1.0)?,
            choice: asked.choice()?,
            items: stream_of("items"),
            ops: stream_of("ops"),
            shares: asked.shares.clone(),
        };
        Ok(Self { source: Source::Single(Box::new(single)) })
    }

    /// The next request; `None` at the end of the load.
    pub fn next_planned(&mut self) -> Result<Option<Planned>, Fault> {
        match &mut self.source {
            Source::Single(single) => single.next_planned(),
            Source::Sessions(drawn) => Ok(drawn.next_planned()?.map(|it| it.planned)),
        }
    }
}

impl Single {
    fn next_planned(&mut self) -> Result<Option<Planned>, Fault> {
        let Some(intended_ns) = self.due.next_ns()? else { return Ok(None) };
        let item = self.choice.next_item(&mut self.items);
        Ok(Some(Planned { intended_ns, item, op: next_op(&self.shares, &mut self.ops) }))
    }
}
