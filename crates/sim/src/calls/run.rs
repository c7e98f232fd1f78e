//! From the job to its result: independent runs, and what they came to together.

use sojourn_base::Fault;
use sojourn_base::rng::stream;
use sojourn_base::span::Times;
use sojourn_base::units::parse_ns;
use sojourn_workload::arrivals;
use sojourn_workload::rate::Rate;

use super::job::{JOB_SCHEMA, Job};
use super::plan::Plan;
use super::result::{CallsResult, RunIntervals, SCHEMA, ServiceResult};
use super::world::{Counts, Event, World};
use crate::result::{Verdict, is_cut};
use crate::stats::Interval;

/// A second half that waits so much longer than the first is no steady state.
const GROWS: f64 = 1.5;
/// Fewer requests than this are not compared half by half, because chance would decide.
const HALF_MIN: u64 = 1000;
/// A run with a smaller share of its schedule's requests leaves out what the schedule is for.
const PLAYED_MIN: f64 = 0.99;
/// What a rate may be here.
const RATES: &str = "write 50, steps:50@10s,150@60s, ramp:10..200@60s or sine:50,20,60s";

/// What one run came to.
struct Ran {
    times: Times,
    offered_rps: f64,
    growth: f64,
    is_full: bool,
    is_cut: bool,
    events: u64,
    shares: Vec<[f64; 3]>,
    counts: Vec<Counts>,
    users: u64,
}

/// Runs `job`; a fault if it is wrong.
pub fn run(job: &Job) -> Result<CallsResult, Fault> {
    crate::check_schema(&job.schema, JOB_SCHEMA)?;
    let plan = Plan::new(job)?;
    let ran: Vec<Ran> =
        (0..u64::from(job.runs)).map(|run| one(job, &plan, run)).collect::<Result<_, _>>()?;
    Ok(result(job, &ran, planned(&Users::new(job)?.rate)))
}

/// When users come: an arrival process under a rate that may change.
struct Users {
    process: arrivals::Process,
    rate: Rate,
    passed: f64,
    is_steady: bool,
}

impl Users {
    fn new(job: &Job) -> Result<Self, Fault> {
        let own = arrivals::parse(&job.arrivals, 1.0)?.own_rate_rps();
        let rate = match (job.rate.trim(), own) {
            ("", Some(own)) => Rate::Constant(own),
            ("", None) => {
                let what = format!("{} has no rate of its own", job.arrivals);
                return Err(Fault::usage(what, "rate", "give a rate such as 50 or 2k"));
            }
            (text, _) => rate(text)?,
        };
        let is_steady = matches!(rate, Rate::Constant(_)) && own.is_none();
        let mean = mean_rps(&rate);
        if !mean.is_finite() {
            let what = format!("the rate is {mean} requests/s");
            return Err(Fault::usage(what, "rate", "give a rate such as 50 or 2k"));
        }
        Ok(Self { process: arrivals::parse(&job.arrivals, mean)?, rate, passed: 0.0, is_steady })
    }

    /// Time of the next arrival, ns.
    fn next_ns(&mut self, rng: &mut sojourn_base::rng::Rng) -> f64 {
        self.passed += self.process.next_gap(rng);
        self.rate.inverse(self.passed) * 1e9
    }
}

/// A run ends with its requests, so a ramp brings a length of its own: `ramp:10..200@60s`. Where a rate is wrong,
/// [`Rate`] advises ramps without one, which are refused here.
fn rate(text: &str) -> Result<Rate, Fault> {
    let parse = |text: &str, length_s| {
        Rate::parse(text, length_s).map_err(|fault| {
            let has_ramp = fault.fix.contains("ramp:");
            if has_ramp { Fault { fix: RATES.into(), ..fault } } else { fault }
        })
    };
    if !text.starts_with("ramp:") {
        return parse(text, 0.0);
    }
    let wrong = |what: String| Fault::usage(what, "rate", "write ramp:10..200@60s");
    let (levels, length) =
        text.rsplit_once('@').ok_or_else(|| wrong(format!("'{text}' has no length")))?;
    let length_s = parse_ns(length).map_err(|fault| wrong(fault.what))? as f64 / 1e9;
    if length_s <= 0.0 {
        return Err(wrong(format!("the length of '{text}' is 0")));
    }
    parse(levels, length_s)
}

/// Requests in the whole length of a schedule, in a period of a sine; 0: the rate is steady.
fn planned(rate: &Rate) -> f64 {
    length_s(rate).map_or(0.0, |length_s| rate.integral(length_s))
}

/// Length of a schedule, of a period of a sine; `None`: the rate is steady.
fn length_s(rate: &Rate) -> Option<f64> {
    match rate {
        Rate::Constant(_) => None,
        Rate::Steps(steps) => Some(steps.iter().map(|(_, length_s)| length_s).sum()),
        Rate::Ramp(.., length_s) | Rate::Sine(.., length_s) => Some(*length_s),
    }
}

/// The mean over that length, requests/s: bursts have their lengths at it.
fn mean_rps(rate: &Rate) -> f64 {
    length_s(rate).map_or(rate.at(0.0), |length_s| rate.integral(length_s) / length_s)
}

fn one(job: &Job, plan: &Plan, run: u64) -> Result<Ran, Fault> {
    let mut users = Users::new(job)?;
    let mut gaps = stream(job.seed, "gaps", run);
    let end = job.warmup + job.requests;
    let most = plan.tasks_max(end);
    let mut is_full = false;
    let mut world = World::new(plan, job.warmup..end, job.seed, run);
    let mut user = 0;
    let mut last_ns = users.next_ns(&mut gaps);
    world.await_user(user, last_ns);
    while world.left > 0 && world.events < job.events_max {
        let Some(event) = world.next() else { break };
        if event != Event::Arrive {
            world.handle(event);
            continue;
        }
        world.begin(user);
        user += 1;
        // Others keep coming until the last that counts is answered: else it would have it easy.
        last_ns = users.next_ns(&mut gaps);
        is_full = user >= end && world.tasks.len() > most;
        if !is_full {
            world.await_user(user, last_ns);
        }
    }
    let halves = world.halves.map(|(sum, count)| sum / count.max(1) as f64);
    let is_long = world.halves.iter().all(|half| half.1 >= HALF_MIN) && users.is_steady;
    let now = world.now;
    Ok(Ran {
        offered_rps: user as f64 / last_ns.min(now).max(1.0) * 1e9,
        growth: if is_long && halves[0] > 0.0 { halves[1] / halves[0] } else { 1.0 },
        is_full: is_full && users.is_steady,
        is_cut: world.left > 0,
        events: world.events,
        shares: world.stations.iter_mut().map(|station| station.shares(now)).collect(),
        counts: world.counts,
        users: user,
        times: world.times,
    })
}

/// `planned`: requests in the whole length of the rate.
fn result(job: &Job, ran: &[Ran], planned: f64) -> CallsResult {
    let mut times = Times::new();
    for one in ran {
        times.merge(&one.times);
    }
    let reasons = reasons(job, ran, planned);
    let answered: Vec<f64> = ran
        .iter()
        .map(|one| 1.0 - one.times.lost() as f64 / one.times.count().max(1) as f64)
        .collect();
    let means: Vec<Option<f64>> = ran.iter().map(|one| one.times.span().mean).collect();
    let intervals = RunIntervals { mean: over_runs(&means), ..RunIntervals::default() };
    CallsResult {
        schema: SCHEMA.into(),
        program: crate::program(),
        label: "simulated".into(),
        job: job.clone(),
        verdict: Verdict::of(&reasons),
        reasons,
        offered_rps: ran.iter().map(|one| one.offered_rps).sum::<f64>() / ran.len() as f64,
        answered: student(&answered),
        intervals: intervals.with_quantiles(|quantile| {
            let each = ran.iter().map(|one| one.times.quantile(quantile.q).map(|ns| ns as f64));
            let is_carried = |one: &Ran| one.times.count() as f64 * (1.0 - quantile.q) >= 10.0;
            if ran.iter().all(is_carried) { over_runs(&each.collect::<Vec<_>>()) } else { None }
        }),
        sojourn_ns: times.span(),
        services: (0..job.services.len()).map(|index| service(job, index, ran)).collect(),
        events: ran.iter().map(|one| one.events).sum(),
    }
}

fn reasons(job: &Job, ran: &[Ran], planned: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    if ran.iter().any(|one| one.is_cut) {
        reasons.push(format!(
            "not finished: a run had {} events before its requests were answered; ask for fewer \
             requests, or raise events_max",
            job.events_max
        ));
    }
    let asked = job.warmup + job.requests;
    if (asked as f64) < PLAYED_MIN * planned {
        reasons.push(format!(
            "cut short: the whole length of the rate has {planned:.0} requests, and a run has {asked}; \
             ask for as many"
        ));
    }
    if ran.iter().any(|one| is_cut(one.times.histogram().max())) {
        reasons.push("sojourn times above 1 h were cut there; use a smaller unit".into());
    }
    let growing = ran.iter().filter(|one| one.growth > GROWS).count();
    if growing * 2 > ran.len() {
        reasons.push(
            "no steady state: in most runs the second half waited much longer than the first; \
             offer less, or ask for more requests"
                .into(),
        );
    } else if ran.iter().any(|one| one.is_full) {
        reasons.push(
            "no steady state: more requests were under way than a run counts; offer less, or ask \
             for more requests"
                .into(),
        );
    }
    reasons
}

fn service(job: &Job, index: usize, ran: &[Ran]) -> ServiceResult {
    let mean = |of: &dyn Fn(&Ran) -> f64| ran.iter().map(of).sum::<f64>() / ran.len() as f64;
    let per = |part: u64, of: u64| part as f64 / of.max(1) as f64;
    let share = |which: usize| mean(&|one: &Ran| one.shares[index][which]);
    let of_came = |of: fn(&Counts) -> u64| {
        mean(&|one: &Ran| per(of(&one.counts[index]), one.counts[index].came))
    };
    let of_first = |of: fn(&Counts) -> u64| {
        mean(&|one: &Ran| per(of(&one.counts[index]), one.counts[index].first))
    };
    ServiceResult {
        name: job.services[index].name.clone(),
        utilisation: share(0),
        instances: share(1),
        slow_share: share(2),
        per_request: mean(&|one: &Ran| per(one.counts[index].came, one.users)),
        refused: of_came(|counts| counts.refused),
        wasted: of_came(|counts| counts.wasted),
        timeouts: of_first(|counts| counts.timeouts),
        retries: of_first(|counts| counts.retries),
        hedges: of_first(|counts| counts.hedges),
    }
}

fn over_runs(each: &[Option<f64>]) -> Option<Interval> {
    let known: Option<Vec<f64>> = each.iter().copied().collect();
    known.map(|values| student(&values))
}

fn student(values: &[f64]) -> Interval {
    let n = values.len() as f64;
    let mid = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mid).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_95(n - 1.0) * (variance / n).sqrt();
    Interval { lo: mid - half, mid, hi: mid + half }
}

/// Student's t at 97.5 %, within 0.1 % from 4 degrees of freedom on.
///
/// Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
fn t_95(freedom: f64) -> f64 {
    let exact = [12.706_205, 4.302_653, 3.182_446];
    if freedom < 3.5 {
        return exact[(freedom as usize).clamp(1, 3) - 1];
    }
    let z: f64 = 1.959_964;
    let g1 = (z.powi(3) + z) / 4.0;
    let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + g1 / freedom + g2 / freedom.powi(2) + g3 / freedom.powi(3)
}

#[cfg(test)]
mod tests;
