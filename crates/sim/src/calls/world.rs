//! One run: the clock, the events, and what requests are at.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use sojourn_base::rng::{Rng, stream};
use sojourn_base::span::Times;

use super::plan::Plan;
use super::station::Station;

/// The pseudo-service of users' requests: they only call.
pub(super) const CLIENT: usize = usize::MAX;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The next user's request.
    Arrive,
    /// A task's own service ends.
    Served { task: u64 },
    /// An attempt is given up, if it is still the newest.
    Timeout { call: u64, attempt: u32 },
    /// A second copy of it is sent.
    Hedge { call: u64, attempt: u32 },
    /// The pause before the next attempt is over.
    Again { call: u64 },
    /// The scaler of a service looks.
    Scale { service: usize },
    /// An instance has started.
    Ready { service: usize },
    /// The governor of a service looks.
    Govern { service: usize },
}

#[derive(Debug)]
struct Due {
    at_ns: f64,
    number: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    /// The earliest is the greatest; of equals, the one that was asked for first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at_ns.total_cmp(&self.at_ns).then(other.number.cmp(&self.number))
    }
}

/// A request at a service, or a user's.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) service: usize,
    pub(super) instance: usize,
    /// Call and attempt that it answers; of a user, his number.
    pub(super) call: u64,
    pub(super) attempt: u32,
    pub(super) began_ns: f64,
    pub(super) stage: usize,
    /// Replies that the stage still needs, and failures that it can bear.
    pub(super) needed: u32,
    pub(super) spare: u32,
    /// Whether a worker is its own while it calls.
    pub(super) has_worker: bool,
}

/// One call that waits for its reply.
#[derive(Clone, Debug)]
pub(super) struct Calling {
    pub(super) parent: u64,
    /// Service and stage of the parent, by which its plan is found.
    pub(super) from: usize,
    pub(super) stage: usize,
    pub(super) copy: u32,
    /// Number of the newest attempt, from 0.
    pub(super) attempt: u32,
    /// Copies of that attempt without a reply: a hedge makes it two.
    pub(super) under_way: u32,
}

/// Counters of one service as it was called.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) came: u64,
    pub(super) refused: u64,
    /// Work for callers that no longer waited.
    pub(super) wasted: u64,
    pub(super) first: u64,
    pub(super) timeouts: u64,
    pub(super) retries: u64,
    pub(super) hedges: u64,
}

/// Streams of random numbers, one for each use, so that two jobs share what they have in common.
pub(super) struct Draws {
    pub(super) service: Vec<Rng>,
    pub(super) pick: Rng,
    pub(super) fails: Rng,
}

/// Everything that one run holds.
pub(super) struct World<'a> {
    pub(super) plan: &'a Plan,
    pub(super) now: f64,
    pub(super) stations: Vec<Station>,
    pub(super) tasks: HashMap<u64, Task>,
    pub(super) calls: HashMap<u64, Calling>,
    pub(super) counts: Vec<Counts>,
    pub(super) draws: Draws,
    pub(super) events: u64,
    /// Times of the users' requests that count, and of each half of them.
    pub(super) times: Times,
    pub(super) halves: [(f64, u64); 2],
    pub(super) counted: std::ops::Range<u64>,
    pub(super) left: u64,
    due: BinaryHeap<Due>,
    number: u64,
}

impl<'a> World<'a> {
    pub(super) fn new(plan: &'a Plan, counted: std::ops::Range<u64>, seed: u64, run: u64) -> Self {
        let service = (0..plan.services.len()).map(|i| stream(seed, &format!("service {i}"), run));
        let draws = Draws {
            service: service.collect(),
            pick: stream(seed, "pick", run),
            fails: stream(seed, "fails", run),
        };
        let mut world = Self {
            plan,
            now: 0.0,
            stations: plan.services.iter().map(Station::new).collect(),
            tasks: HashMap::new(),
            calls: HashMap::new(),
            counts: vec![Counts::default(); plan.services.len()],
            draws,
            events: 0,
            times: Times::new(),
            halves: [(0.0, 0); 2],
            left: counted.end - counted.start,
            counted,
            due: BinaryHeap::new(),
            number: 0,
        };
        for (service, one) in plan.services.iter().enumerate() {
            if let Some(scaling) = &one.scaling {
                world.after(scaling.every_ns, Event::Scale { service });
            }
            if let Some(speed) = &one.speed {
                world.after(speed.every_ns, Event::Govern { service });
            }
        }
        world
    }

    /// A name that nothing else in this run has.
    pub(super) fn fresh(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(super) fn after(&mut self, ns: f64, event: Event) {
        let number = self.fresh();
        self.due.push(Due { at_ns: self.now + ns, number, event });
    }

    /// The next user is number `user` and comes at `at_ns`. If that is never, the rate has ended, and the run
    /// does not wait for the users that lack.
    pub(super) fn await_user(&mut self, user: u64, at_ns: f64) {
        if at_ns.is_finite() {
            self.after(at_ns - self.now, Event::Arrive);
        } else {
            self.left -= self.counted.end.saturating_sub(user.max(self.counted.start));
        }
    }

    /// The next event; the clock goes there.
    pub(super) fn next(&mut self) -> Option<Event> {
        let due = self.due.pop()?;
        self.now = due.at_ns;
        self.events += 1;
        Some(due.event)
    }

    /// A user's request ends: with its time, or lost.
    pub(super) fn end(&mut self, user: u64, began_ns: f64, is_answered: bool) {
        if !self.counted.contains(&user) {
            return;
        }
        self.left -= 1;
        if !is_answered {
            self.times.add_lost();
            return;
        }
        let ns = self.now - began_ns;
        self.times.add((ns + 0.5) as u64);
        let middle = self.counted.start + (self.counted.end - self.counted.start) / 2;
        let half = &mut self.halves[usize::from(user >= middle)];
        *half = (half.0 + ns, half.1 + 1);
    }
}
