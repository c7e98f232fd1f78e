//! Intended arrivals, drawn before they are due (METHOD M1): what is sent when never depends on a reply.
//!
//! One recorded seed gives one schedule, whatever the machine does. Poisson arrivals are drawn for
//! each thread on its own at λ/n, because superposed Poisson streams are Poisson; every other
//! process is drawn once in full and dealt out, thread k taking arrivals k, k+n, k+2n, …, so that
//! what the server sees is the process asked for, with however many threads.

mod drawing;
mod due;

use sojourn_base::Fault;
use sojourn_base::rng::{self, RngExt, stream};
use sojourn_base::units::parse_ns;

use crate::arrivals;
use crate::job::Job;
use crate::long;
use crate::marks::{Op, Plan};
use crate::popularity;
use crate::rate::Rate;

pub use drawing::{Drawing, Planned};
use due::DueTimes;

/// Requests/s for which a closed-loop plan (`find_max`) has requests enough.
pub(crate) const CLOSED_RPS_MAX: f64 = 1e6;

/// When things happen, ns after the start of the warm-up, and at which rate.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// Length of the warm-up, ns: the measured part starts here.
    pub warmup_ns: u64,
    /// Length of the measured part, ns.
    pub measured_ns: u64,
    /// Offered load from the start of the measured part.
    pub rate: Rate,
}

impl Timetable {
    /// Reads the job's `warmup`, `duration` and `rate`.
    pub fn of(job: &Job) -> Result<Self, Fault> {
        let time = |text: &str, at: &str| parse_ns(text).map_err(|fault| fault.within(at));
        let warmup_ns = time(&job.warmup, "warmup")?;
        let measured_ns = time(&job.duration, "duration")?;
        if measured_ns == 0 {
            return Err(Fault::usage("nothing is measured", "duration", "give a time above 0"));
        }
        let rate = Rate::parse(&job.rate, measured_ns as f64 / 1e9)?;
        let own = arrivals::parse(&job.arrivals, mean_rps(&rate, measured_ns))?.own_rate_rps();
        Ok(Self { warmup_ns, measured_ns, rate: own.map_or(rate, Rate::Constant) })
    }

    /// Mean offered load of the measured part, requests/s.
    pub fn mean_rps(&self) -> f64 {
        mean_rps(&self.rate, self.measured_ns)
    }

    /// Requests expected by `ns` after the start of the warm-up (operational time).
    pub fn expected_by(&self, ns: f64) -> f64 {
        let warmup_s = self.warmup_ns as f64 / 1e9;
        self.rate.integral(ns / 1e9 - warmup_s) - self.rate.integral(-warmup_s)
    }

    /// Inverse of [`Self::expected_by`], ns; infinite when the rate has ended.
    fn ns_at(&self, expected: f64) -> f64 {
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

/// What thread `thread` of `job.threads` will send. The job must be resolved:
/// its seed is not 0.
///
/// For `find_max` every request is intended at 0 and there are more than can be sent.
pub fn draw(job: &Job, thread: u32) -> Result<Plan, Fault> {
    check(job)?;
    let timetable = Timetable::of(job)?;
    let intended_ns = if job.find_max {
        let run_s = timetable.end_ns() as f64 / 1e9;
        let share = (run_s * CLOSED_RPS_MAX).min(job.requests_max as f64) / f64::from(job.threads);
        vec![0; share.ceil() as usize]
    } else {
        draw_times(job, &timetable, thread)?
    };
    plan(job, "", thread, intended_ns, timetable.warmup_ns)
}

/// What the probe client will send: Poisson at `probe_rate`, so that it sees time averages (M5).
pub fn draw_probe(job: &Job) -> Result<Plan, Fault> {
    check(job)?;
    let rate = Rate::parse(&job.probe_rate.to_string(), 1.0).map_err(|f| f.within("probe"))?;
    let timetable = Timetable { rate, ..Timetable::of(job)? };
    let process = arrivals::parse("poisson", job.probe_rate)?;
    let due = DueTimes::new(process, (job.seed, "probe gaps"), &timetable, (0, 1), 1.0);
    let intended_ns = times(due, job)?;
    plan(job, "probe ", 0, intended_ns, timetable.warmup_ns)
}

/// Number of distinct items a job can ask for: keys, or paths with `{}` counted once per item.
pub fn population(job: &Job) -> u64 {
    if !job.target.starts_with("http") {
        return job.items;
    }
    job.paths.iter().map(|path| if path.contains("{}") { job.items } else { 1 }).sum()
}

fn check(job: &Job) -> Result<(), Fault> {
    if job.seed == 0 {
        let fix = "resolve the job first, which gives it a fresh seed and records it";
        return Err(Fault::usage("the plan has no seed", "seed", fix));
    }
    if job.threads == 0 {
        return Err(Fault::usage("there are 0 threads", "threads", "give 1 thread or more"));
    }
    for (share, at) in [(job.set_share, "set_share"), (job.multiget_share, "multiget_share")] {
        if !(0.0..=1.0).contains(&share) {
            return Err(Fault::usage(format!("{at} is {share}"), at, "give a share from 0 to 1"));
        }
    }
    if job.set_share + job.multiget_share > 1.0 {
        let what =
            format!("{} of requests are SETs and {} multi-GETs", job.set_share, job.multiget_share);
        return Err(Fault::usage(what, "set_share", "give shares that add to at most 1"));
    }
    Ok(())
}

fn draw_times(job: &Job, timetable: &Timetable, thread: u32) -> Result<Vec<u64>, Fault> {
    times(due_times(job, timetable, thread)?, job)
}

/// When the requests of `thread` are due, one after another.
fn due_times(job: &Job, timetable: &Timetable, thread: u32) -> Result<DueTimes, Fault> {
    let process = arrivals::parse(&job.arrivals, timetable.mean_rps())?;
    Ok(if process.superposes() {
        let use_name = format!("gaps {thread}");
        let share = 1.0 / f64::from(job.threads);
        DueTimes::new(process, (job.seed, &use_name), timetable, (0, 1), share)
    } else {
        let dealt = (thread as usize, job.threads as usize);
        DueTimes::new(process, (job.seed, "gaps"), timetable, dealt, 1.0)
    })
}

/// All of `due`, unless they are more than fit.
fn times(mut due: DueTimes, job: &Job) -> Result<Vec<u64>, Fault> {
    let (expected, share, threads) = (due.expected(), due.share(), due.threads());
    refuse_more(expected, share, job)?;
    let room = (expected + 6.0 * expected.sqrt()) / threads as f64;
    let mut intended_ns = Vec::with_capacity(room as usize + 16);
    while let Some(ns) = due.next_ns()? {
        if due.drawn() as u64 > job.requests_max + 1 {
            refuse_more(due.drawn() as f64, share, job)?;
        }
        intended_ns.push(ns);
    }
    Ok(intended_ns)
}

/// Refuses plans of load and probe that would be too long, before any of them is drawn.
pub fn check_length(job: &Job, timetable: &Timetable) -> Result<(), Fault> {
    let end_ns = timetable.end_ns() as f64;
    if !job.find_max && long::geometry(job, timetable).is_none() {
        refuse_more(timetable.expected_by(end_ns), 1.0, job)?;
    }
    refuse_more(job.probe_rate * end_ns / 1e9, 1.0, job).map_err(|fault| fault.within("probe_rate"))
}

fn refuse_more(requests: f64, share: f64, job: &Job) -> Result<(), Fault> {
    let all = requests / share;
    if all <= job.requests_max as f64 {
        return Ok(());
    }
    let what = format!("the plan has {all:.0} requests, at most {} may be", job.requests_max);
    let fix = if job.raw.is_empty() {
        "shorten the run, lower the rate, or raise the limit"
    } else {
        "leave out raw, for which all requests are kept; or shorten the run, or raise the limit"
    };
    Err(Fault::usage(what, "requests_max", fix))
}

fn plan(
    job: &Job,
    role: &str,
    thread: u32,
    intended_ns: Vec<u64>,
    warmup_ns: u64,
) -> Result<Plan, Fault> {
    let choice = popularity::parse(&job.popularity, population(job))?;
    let mut rng = stream(job.seed, &format!("{role}items"), u64::from(thread));
    let item = intended_ns.iter().map(|_| choice.next_item(&mut rng)).collect();
    let mut rng = stream(job.seed, &format!("{role}ops"), u64::from(thread));
    let op = intended_ns.iter().map(|_| next_op(job, &mut rng)).collect();
    let measured_from = intended_ns.partition_point(|&ns| ns < warmup_ns);
    Ok(Plan { intended_ns, item, op, measured_from })
}

fn next_op(job: &Job, rng: &mut rng::Rng) -> Op {
    if job.set_share + job.multiget_share == 0.0 {
        return Op::Get;
    }
    let u: f64 = rng.random();
    match u {
        u if u < job.set_share => Op::Set,
        u if u < job.set_share + job.multiget_share => Op::MultiGet,
        _ => Op::Get,
    }
}

#[cfg(test)]
mod tests;
