//! Intended arrivals, drawn before they are due (METHOD M1, open loop): what is sent when never
//! depends on a reply.
//!
//! One recorded seed gives one schedule, whatever the machine does. Poisson arrivals are drawn for
//! each thread on its own at λ/n, because superposed Poisson streams are Poisson; every other
//! process is drawn once in full and dealt out, thread k taking arrivals k, k+n, k+2n, …, so that
//! what the server sees is the process asked for, with however many threads.

mod drawing;
mod due;
mod in_sessions;
mod timetable;

use sojourn_base::Fault;
use sojourn_base::rng::{self, RngExt, stream};

use crate::arrivals;
use crate::plan::{Op, Plan};
use crate::popularity::{self, Choice};
use crate::rate::Rate;
use crate::sessions::{self, Sessions};

pub use drawing::Drawing;
use due::DueTimes;
pub use in_sessions::{InSession, InSessions};
pub use timetable::Timetable;

/// Requests/s for which a closed-loop plan has requests enough.
pub const CLOSED_RPS_MAX: f64 = 1e6;

/// What plans are drawn from: all of a load that can be stated without a protocol.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Length of the warm-up, ns: the measured part starts after it.
    pub warmup_ns: u64,
    /// Length of the measured part, ns.
    pub measured_ns: u64,
    /// Offered load, as [`Rate::parse`] reads it.
    pub rate: String,
    /// Arrival process, as [`arrivals::parse`] reads it.
    pub arrivals: String,
    /// What each arrival is, as [`sessions::parse`] reads it.
    pub sessions: String,
    /// Popularity of items, or of the films of sessions, as [`popularity::parse`] reads it.
    pub popularity: String,
    /// How many items there are.
    pub items: u64,
    /// Shares of requests that are operations 1, 2, … (see [`Op`]); the rest are operation 0.
    pub shares: Vec<f64>,
    /// Threads that the load is dealt out to.
    pub threads: u32,
    /// Seed of every draw; not 0.
    pub seed: u64,
    /// Most requests of a plan, all threads together.
    pub requests_max: u64,
}

impl Workload {
    /// What thread `thread` of an open loop will send.
    pub fn draw(&self, thread: u32) -> Result<Plan, Fault> {
        self.check()?;
        if let Some(sessions) = sessions::parse(&self.sessions)? {
            return self.draw_sessions(&sessions, thread);
        }
        let timetable = Timetable::of(self)?;
        let intended_ns = self.times(due_times(self, &timetable, thread, 1.0)?)?;
        self.plan("", thread, intended_ns)
    }

    /// The requests of all sessions that thread `thread` has.
    fn draw_sessions(&self, sessions: &Sessions, thread: u32) -> Result<Plan, Fault> {
        let timetable = Timetable::of(self)?;
        self.refuse_more(timetable.expected_by(timetable.end_ns() as f64))?;
        let mut drawn = InSessions::new(self, sessions, thread)?;
        let mut plan = Plan::default();
        while let Some(InSession { planned, .. }) = drawn.next_planned()? {
            plan.intended_ns.push(planned.intended_ns);
            plan.item.push(planned.item);
            plan.op.push(planned.op);
            if plan.item.len() as u64 * u64::from(self.threads) > 2 * self.requests_max {
                self.refuse_more(plan.item.len() as f64 * f64::from(self.threads))?;
            }
        }
        plan.measured_from = plan.intended_ns.partition_point(|&ns| ns < self.warmup_ns);
        Ok(plan)
    }

    /// What thread `thread` of a closed loop may send: every request is intended at 0, and there are
    /// more than can be sent.
    pub fn draw_closed(&self, thread: u32) -> Result<Plan, Fault> {
        self.check()?;
        let run_s = Timetable::of(self)?.end_ns() as f64 / 1e9;
        let all = (run_s * CLOSED_RPS_MAX).min(self.requests_max as f64);
        let share = all / f64::from(self.threads);
        self.plan("", thread, vec![0; share.ceil() as usize])
    }

    /// What a probe client will send: Poisson at `rate_rps`, so that it sees time averages (METHOD
    /// M5, a client of low rate beside the load).
    pub fn draw_probe(&self, rate_rps: f64) -> Result<Plan, Fault> {
        self.check()?;
        let rate = Rate::parse(&rate_rps.to_string(), 1.0).map_err(|f| f.within("probe"))?;
        let timetable = Timetable { rate, sessions: None, ..Timetable::of(self)? };
        let process = arrivals::parse("poisson", rate_rps)?;
        let due = DueTimes::new(process, (self.seed, "probe gaps"), &timetable, (0, 1), 1.0);
        let intended_ns = self.times(due)?;
        self.plan("probe ", 0, intended_ns)
    }

    /// Refuses what no plan can be drawn from.
    fn check(&self) -> Result<(), Fault> {
        if self.seed == 0 {
            let fix = "resolve the job first, which gives it a fresh seed and records it";
            return Err(Fault::usage("the plan has no seed", "seed", fix));
        }
        if self.threads == 0 {
            return Err(Fault::usage("there are 0 threads", "threads", "give 1 thread or more"));
        }
        if let Some(share) = self.shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
            let what = format!("the share of an operation is {share}");
            return Err(Fault::usage(what, "shares", "give a share from 0 to 1"));
        }
        let sum: f64 = self.shares.iter().sum();
        if sum > 1.0 {
            let what = format!("the shares of operations add to {sum}");
            return Err(Fault::usage(what, "shares", "give shares that add to at most 1"));
        }
        Ok(())
    }

    /// All of `due`, unless they are more than fit.
    fn times(&self, mut due: DueTimes) -> Result<Vec<u64>, Fault> {
        let (expected, share, threads) = (due.expected(), due.share(), due.threads());
        self.refuse_more(expected / share)?;
        let room = (expected + 6.0 * expected.sqrt()) / threads as f64;
        let mut intended_ns = Vec::with_capacity(room as usize + 16);
        while let Some(ns) = due.next_ns()? {
            if due.drawn() as u64 > self.requests_max + 1 {
                self.refuse_more(due.drawn() as f64 / share)?;
            }
            intended_ns.push(ns);
        }
        Ok(intended_ns)
    }

    /// Refuses a plan of `requests`, all threads together, that would be too long.
    pub fn refuse_more(&self, requests: f64) -> Result<(), Fault> {
        if requests <= self.requests_max as f64 {
            return Ok(());
        }
        let what =
            format!("the plan has {requests:.0} requests, at most {} may be", self.requests_max);
        let fix = "shorten the run, lower the rate, or raise the limit";
        Err(Fault::usage(what, "requests_max", fix))
    }

    /// How items are chosen, films in sessions.
    pub fn choice(&self) -> Result<Choice, Fault> {
        let films = sessions::parse(&self.sessions)?.map(|sessions| sessions.films(self.items));
        popularity::parse(&self.popularity, films.transpose()?.unwrap_or(self.items))
    }

    /// A plan of requests that belong to no session; where there are some, they ask for what a session
    /// asks for at some moment.
    fn plan(&self, role: &str, thread: u32, intended_ns: Vec<u64>) -> Result<Plan, Fault> {
        let (choice, sessions) = (self.choice()?, sessions::parse(&self.sessions)?);
        let mut rng = stream(self.seed, &format!("{role}items"), u64::from(thread));
        let next = |_: &u64| match &sessions {
            Some(sessions) => {
                let film = choice.next_item(&mut rng);
                sessions.first_item(film, &mut rng) + rng.random_range(0..sessions.requests())
            }
            None => choice.next_item(&mut rng),
        };
        let item = intended_ns.iter().map(next).collect();
        let mut rng = stream(self.seed, &format!("{role}ops"), u64::from(thread));
        let op = intended_ns.iter().map(|_| next_op(&self.shares, &mut rng)).collect();
        let measured_from = intended_ns.partition_point(|&ns| ns < self.warmup_ns);
        Ok(Plan { intended_ns, item, op, measured_from })
    }
}

/// When the arrivals of `thread` are due, one after another, at `share` of the rate.
fn due_times(
    asked: &Workload,
    timetable: &Timetable,
    thread: u32,
    share: f64,
) -> Result<DueTimes, Fault> {
    let process = arrivals::parse(&asked.arrivals, timetable.mean_rps() * share)?;
    Ok(if process.superposes() {
        let use_name = format!("gaps {thread}");
        let share = share / f64::from(asked.threads);
        DueTimes::new(process, (asked.seed, &use_name), timetable, (0, 1), share)
    } else {
        let dealt = (thread as usize, asked.threads as usize);
        DueTimes::new(process, (asked.seed, "gaps"), timetable, dealt, share)
    })
}

/// One operation. `shares` that are all 0 draw nothing.
fn next_op(shares: &[f64], rng: &mut rng::Rng) -> Op {
    if shares.iter().all(|&share| share == 0.0) {
        return Op(0);
    }
    let u: f64 = rng.random();
    let mut below = 0.0;
    for (number, share) in (1..).zip(shares) {
        below += share;
        if u < below {
            return Op(number);
        }
    }
    Op(0)
}

#[cfg(test)]
mod tests;
