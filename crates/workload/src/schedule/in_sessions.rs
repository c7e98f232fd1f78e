//! Requests of sessions, merged in order of time.
//!
//! Sessions begin as the arrival process says, from so long before the load on as one lasts. So those that
//! began before it are there with what they have left to ask for, and the load is the same from its first
//! moment to its last. Each session stays on one thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sojourn_base::Fault;
use sojourn_base::rng::{Rng, stream};

use super::{DueTimes, Timetable, Workload, due_times};
use crate::plan::{Op, Planned};
use crate::popularity::Choice;
use crate::sessions::Sessions;

/// One request, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InSession {
    /// What is asked, and when.
    pub planned: Planned,
    /// The session's number, of those of its thread.
    pub session: u64,
    /// Which of its requests it is; 0 is the play list.
    pub nth: u32,
}

/// A request that is still to come; times in ns after the first session could begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    due_ns: u64,
    session: u64,
    nth: u32,
    begun_ns: u64,
    first_item: u32,
}

/// The requests of one thread's sessions, ascending.
#[derive(Debug)]
pub struct InSessions {
    sessions: Sessions,
    begins: DueTimes,
    /// When the next session begins; `None`: no more do.
    next_ns: Option<u64>,
    begun: u64,
    coming: BinaryHeap<Reverse<Coming>>,
    /// Start and end of the load, ns after the first session could begin.
    load: (u64, u64),
    choice: Choice,
    films: Rng,
    qualities: Rng,
}

impl InSessions {
    /// The sessions of thread `thread`; a draw is the same whenever it is made again.
    pub fn new(asked: &Workload, sessions: &Sessions, thread: u32) -> Result<Self, Fault> {
        let own = Timetable::of(asked)?;
        let before_ns = sessions.length_ns();
        let timetable = Timetable { warmup_ns: own.warmup_ns + before_ns, ..own.of_begins() };
        let mut begins =
            due_times(asked, &timetable, thread, 1.0 / f64::from(sessions.requests()))?;
        let stream_of = |use_name| stream(asked.seed, use_name, u64::from(thread));
        Ok(Self {
            next_ns: begins.next_ns()?,
            begins,
            begun: 0,
            coming: BinaryHeap::new(),
            load: (before_ns, timetable.end_ns()),
            choice: asked.choice()?,
            films: stream_of("items"),
            qualities: stream_of("qualities"),
            sessions: sessions.clone(),
        })
    }

    /// The next request; `None` at the end of the load.
    pub fn next_planned(&mut self) -> Result<Option<InSession>, Fault> {
        loop {
            self.begin()?;
            let Some(Reverse(now)) = self.coming.pop() else { return Ok(None) };
            if now.due_ns >= self.load.1 {
                return Ok(None);
            }
            if now.nth < self.sessions.chunks {
                let nth = now.nth + 1;
                let due_ns = now.begun_ns + self.sessions.offset_ns(nth);
                self.coming.push(Reverse(Coming { due_ns, nth, ..now }));
            }
            if now.due_ns >= self.load.0 {
                let planned = Planned {
                    intended_ns: (now.due_ns - self.load.0).max(1), // as `DueTimes` has it
                    item: now.first_item + now.nth,
                    op: Op(0),
                };
                return Ok(Some(InSession { planned, session: now.session, nth: now.nth }));
            }
        }
    }

    /// Lets the sessions begin that do so before anything else is due.
    fn begin(&mut self) -> Result<(), Fault> {
        while let Some(begun_ns) = self.next_ns
            && self.coming.peek().is_none_or(|Reverse(first)| begun_ns <= first.due_ns)
        {
            let film = self.choice.next_item(&mut self.films);
            let first_item = self.sessions.first_item(film, &mut self.qualities);
            let (session, nth) = (self.begun, 0);
            self.coming.push(Reverse(Coming {
                due_ns: begun_ns,
                session,
                nth,
                begun_ns,
                first_item,
            }));
            self.begun += 1;
            self.next_ns = self.begins.next_ns()?;
        }
        Ok(())
    }
}
