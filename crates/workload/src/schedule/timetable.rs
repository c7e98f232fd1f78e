//! When things happen in a run, and how many requests are expected by when.

use sojourn_base::Fault;
use sojourn_base::units::show_count;

use super::Workload;
use crate::arrivals;
use crate::rate::Rate;
use crate::sessions::{self, Sessions};

/// Requests/s that one thread is asked for at most: ten times what one can send. What is due and not sent is counted
/// at the end one by one, so a recorded log whose gaps are next to nothing would never be done.
const THREAD_RPS_MAX: f64 = 1e8;

/// When things happen, ns after the start of the warm-up, and at which rate.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// Length of the warm-up, ns: the measured part starts here.
    pub warmup_ns: u64,
    /// Length of the measured part, ns.
    pub measured_ns: u64,
    /// Offered load from the start of the measured part; of sessions that of their requests, as if all
    /// were due when their session begins.
    pub rate: Rate,
    /// What each arrival is; `None`: one request.
    pub sessions: Option<Sessions>,
}

impl Timetable {
    /// That of a workload: its rate, or the one that recorded arrivals bring along.
    pub fn of(asked: &Workload) -> Result<Self, Fault> {
        let (warmup_ns, measured_ns) = (asked.warmup_ns, asked.measured_ns);
        if measured_ns == 0 {
            return Err(Fault::usage("nothing is measured", "duration", "give a time above 0"));
        }
        let rate = Rate::parse(&asked.rate, measured_ns as f64 / 1e9)?;
        let sessions = sessions::parse(&asked.sessions)?;
        let each = sessions.as_ref().map_or(1.0, |sessions| f64::from(sessions.requests()));
        let begins = mean_rps(&rate, measured_ns) / each;
        let own = arrivals::parse(&asked.arrivals, begins)?.own_rate_rps();
        let rate = own.map_or(rate, |begins| Rate::Constant(begins * each));
        let all_rps = mean_rps(&rate, measured_ns);
        if all_rps > THREAD_RPS_MAX * f64::from(asked.threads.max(1)) {
            let most = show_count(THREAD_RPS_MAX);
            let what = format!("{} requests/s are asked for", show_count(all_rps));
            let fix = format!("ask for at most {most} a thread: lower the rate or a trace's speed");
            return Err(Fault::usage(what, "rate", fix));
        }
        Ok(Self { warmup_ns, measured_ns, rate, sessions })
    }

    /// That of arrivals: of begins where each is a session.
    pub fn arrivals_rps(&self) -> f64 {
        self.mean_rps() / self.sessions.as_ref().map_or(1.0, |it| f64::from(it.requests()))
    }

    /// The same as if every arrival were one request, when it begins.
    #[must_use]
    pub fn of_begins(&self) -> Self {
        Self { sessions: None, ..self.clone() }
    }

    /// Mean offered load of the measured part, requests/s.
    pub fn mean_rps(&self) -> f64 {
        mean_rps(&self.rate, self.measured_ns)
    }

    /// Requests expected by `ns` after the start of the warm-up (operational time).
    pub fn expected_by(&self, ns: f64) -> f64 {
        let warmup_s = self.warmup_ns as f64 / 1e9;
        let until = |t_s: f64| match &self.sessions {
            Some(sessions) => sessions.mean_of(t_s, |t_s| self.rate.integral(t_s)),
            None => self.rate.integral(t_s),
        };
        until(ns / 1e9 - warmup_s) - until(-warmup_s)
    }

    /// Inverse of [`Self::expected_by`] without sessions, ns; infinite when the rate has ended.
    pub(super) fn ns_at(&self, expected: f64) -> f64 {
        let warmup_s = self.warmup_ns as f64 / 1e9;
        (self.rate.inverse(expected + self.rate.integral(-warmup_s)) + warmup_s) * 1e9
    }

    /// End of the load, ns after the start of the warm-up.
    pub fn end_ns(&self) -> u64 {
        self.warmup_ns + self.measured_ns
    }
}

fn mean_rps(rate: &Rate, measured_ns: u64) -> f64 {
    let measured_s = measured_ns as f64 / 1e9;
    rate.integral(measured_s) / measured_s
}
