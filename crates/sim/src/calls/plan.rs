//! A job, understood and found possible: names are indices, texts are ns.

use sojourn_base::Fault;
use sojourn_base::kind::nearest;
use sojourn_base::units::parse_ns;

use super::job::{Call, Job, Scaling, ServiceJob, Speed};
use crate::service::Service;

/// Calls that one request may cause, over all services.
const CALLS_MAX: f64 = 1e5;
/// Once the last request that counts has come, others come until so many more are under way than ever
/// counted. From then on they change little, and their number would have no end.
const BEHIND_MAX: f64 = 100_000.0;
/// Tasks that wait for one worker at a load of 0.999.
const WAITING_MAX: f64 = 1000.0;
const INSTANCES_MAX: u32 = 10_000;
const PICKS: [&str; 4] = ["random", "turn", "shortest", "each"];

/// Which instance gets a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    Random,
    Turn,
    Shortest,
    Each,
}

/// One stage of calls.
#[derive(Clone, Debug)]
pub(super) struct CallPlan {
    pub(super) to: usize,
    pub(super) copies: u32,
    pub(super) need: u32,
    pub(super) fails: f64,
    pub(super) timeout_ns: f64,
    pub(super) retries: u32,
    pub(super) backoff_ns: f64,
    pub(super) retry_budget: f64,
    pub(super) hedge_ns: f64,
}

/// One service.
#[derive(Debug)]
pub(super) struct ServicePlan {
    pub(super) service: Service,
    pub(super) workers: u32,
    pub(super) instances: u32,
    pub(super) pick: Pick,
    pub(super) holds: bool,
    pub(super) queue_max: usize,
    pub(super) calls: Vec<CallPlan>,
    pub(super) scaling: Option<ScalingPlan>,
    pub(super) speed: Option<SpeedPlan>,
}

#[derive(Clone, Debug)]
pub(super) struct ScalingPlan {
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) target: f64,
    pub(super) every_ns: f64,
    pub(super) startup_ns: f64,
    pub(super) down_after_ns: f64,
}

#[derive(Clone, Debug)]
pub(super) struct SpeedPlan {
    pub(super) low: f64,
    pub(super) up_above: f64,
    pub(super) every_ns: f64,
}

/// The whole system.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) client: CallPlan,
    pub(super) services: Vec<ServicePlan>,
    /// Calls of one request, attempts left out.
    calls: f64,
}

impl Plan {
    pub(super) fn new(job: &Job) -> Result<Self, Fault> {
        if job.services.is_empty() {
            return Err(wrong("there is no service", "services", "name at least one"));
        }
        if job.requests == 0 || !(2..=1000).contains(&job.runs) {
            let what = format!("requests is {}, runs is {}", job.requests, job.runs);
            return Err(wrong(what, "requests", "give 1 request or more, and 2 to 1,000 runs"));
        }
        if job.warmup.checked_add(job.requests).is_none() {
            let what = format!("warmup is {}, requests is {}", job.warmup, job.requests);
            return Err(wrong(what, "requests", "give fewer than 1e19 in sum"));
        }
        let client = call(&job.client, &job.services, Some(0)).map_err(|f| f.within("client"))?;
        let services = job.services.iter().enumerate().map(|(index, one)| {
            service(one, &job.services).map_err(|f| f.within(&format!("services[{index}]")))
        });
        let mut plan = Self { client, services: services.collect::<Result<_, _>>()?, calls: 0.0 };
        plan.calls = plan.calls_of_one(job)?;
        Ok(plan)
    }

    /// Tasks under way that no steady state has, in a run of `users` requests: all of these at once and
    /// [`BEHIND_MAX`] more, and [`WAITING_MAX`] for each worker.
    pub(super) fn tasks_max(&self, users: u64) -> usize {
        let of = |one: &ServicePlan| {
            let instances = one.scaling.as_ref().map_or(one.instances, |scaling| scaling.max);
            f64::from(one.workers) * f64::from(instances)
        };
        let workers: f64 = self.services.iter().map(of).sum();
        let users = users as f64 + BEHIND_MAX;
        (users * (1.0 + self.calls) + workers * WAITING_MAX) as usize
    }

    /// Calls of one request, attempts left out; a circle of services would have no end.
    fn calls_of_one(&self, job: &Job) -> Result<f64, Fault> {
        let mut calls = f64::from(self.client.copies);
        let mut at = vec![0.0; self.services.len()];
        at[self.client.to] = calls;
        for _ in 0..=self.services.len() {
            let mut next = vec![0.0; self.services.len()];
            for (index, service) in self.services.iter().enumerate() {
                for one in &service.calls {
                    next[one.to] += at[index] * f64::from(one.copies);
                }
            }
            calls += next.iter().sum::<f64>();
            at = next;
        }
        if let Some(index) = at.iter().position(|count| *count > 0.0) {
            let what =
                format!("service {} calls itself by way of others", job.services[index].name);
            return Err(wrong(what, "services", "let calls lead away from the first service"));
        }
        if calls > CALLS_MAX {
            let what = format!("one request causes {calls} calls");
            return Err(wrong(what, "services", "let it cause at most 100,000"));
        }
        Ok(calls)
    }
}

fn service(job: &ServiceJob, every: &[ServiceJob]) -> Result<ServicePlan, Fault> {
    let is_possible = (1..=100_000).contains(&job.workers);
    if !is_possible || !(1..=INSTANCES_MAX).contains(&job.instances) {
        let what = format!("workers is {}, instances is {}", job.workers, job.instances);
        return Err(wrong(what, "workers", "give 1 or more of each, at most 10,000 instances"));
    }
    let pick = match job.pick.as_str() {
        "random" => Pick::Random,
        "turn" => Pick::Turn,
        "shortest" => Pick::Shortest,
        "each" => Pick::Each,
        other => {
            let what = format!("'{other}' is no way to pick an instance");
            return Err(wrong(what, "pick", PICKS.join(", ")));
        }
    };
    let calls = job.calls.iter().enumerate().map(|(index, one)| {
        call(one, every, None).map_err(|f| f.within(&format!("calls[{index}]")))
    });
    Ok(ServicePlan {
        service: Service::parse(&job.service, &job.unit)?,
        workers: job.workers,
        instances: job.instances,
        pick,
        holds: job.holds,
        queue_max: if job.queue_max == 0 { usize::MAX } else { job.queue_max as usize },
        calls: calls.collect::<Result<_, _>>()?,
        scaling: job.scaling.as_ref().map(|one| scaling(one, job.instances)).transpose()?,
        speed: job.speed.as_ref().map(speed).transpose()?,
    })
}

fn call(job: &Call, every: &[ServiceJob], unnamed: Option<usize>) -> Result<CallPlan, Fault> {
    let named = every.iter().position(|one| one.name == job.to);
    let to = named.or(unnamed.filter(|_| job.to.is_empty())).ok_or_else(|| {
        let names: Vec<&str> = every.iter().map(|one| one.name.as_str()).collect();
        let hint = nearest(&job.to, names.iter().copied())
            .map_or(String::new(), |name| format!("did you mean {name}? "));
        let what = format!("no service is called '{}'", job.to);
        wrong(what, "to", format!("{hint}known: {}", names.join(", ")))
    })?;
    if job.copies == 0 || job.need > job.copies {
        let what = format!("copies is {}, need is {}", job.copies, job.need);
        return Err(wrong(what, "copies", "give 1 or more, and need at most as many"));
    }
    if !(0.0..1.0).contains(&job.fails) || job.retry_budget < 0.0 {
        let what = format!("fails is {}, retry_budget is {}", job.fails, job.retry_budget);
        return Err(wrong(
            what,
            "fails",
            "give a chance from 0 to below 1, and a budget of 0 or more",
        ));
    }
    if job.retries > 1_000_000 {
        return Err(wrong(
            format!("retries is {}", job.retries),
            "retries",
            "give at most 1,000,000",
        ));
    }
    Ok(CallPlan {
        to,
        copies: job.copies,
        need: if job.need == 0 { job.copies } else { job.need },
        fails: job.fails,
        timeout_ns: or_never(&job.timeout, "timeout")?,
        retries: job.retries,
        backoff_ns: ns(&job.backoff, "backoff")?,
        retry_budget: job.retry_budget,
        hedge_ns: or_never(&job.hedge, "hedge")?,
    })
}

fn scaling(job: &Scaling, instances: u32) -> Result<ScalingPlan, Fault> {
    let is_range = job.min >= 1 && job.min <= job.max && job.max <= INSTANCES_MAX;
    if !is_range || !(job.min..=job.max).contains(&instances) {
        let what = format!("min is {}, max is {}, instances is {instances}", job.min, job.max);
        return Err(wrong(what, "scaling", "give 1 ≤ min ≤ instances ≤ max ≤ 10,000"));
    }
    if !(job.target > 0.0 && job.target <= 1.0) {
        let what = format!("target is {}", job.target);
        return Err(wrong(what, "scaling.target", "give a share above 0, at most 1"));
    }
    Ok(ScalingPlan {
        min: job.min,
        max: job.max,
        target: job.target,
        every_ns: above_zero(&job.every, "scaling.every")?,
        startup_ns: ns(&job.startup, "scaling.startup")?,
        down_after_ns: ns(&job.down_after, "scaling.down_after")?,
    })
}

fn speed(job: &Speed) -> Result<SpeedPlan, Fault> {
    if !(job.low > 0.0 && job.low <= 1.0 && (0.0..=1.0).contains(&job.up_above)) {
        let what = format!("low is {}, up_above is {}", job.low, job.up_above);
        return Err(wrong(what, "speed", "give a speed above 0, at most 1, and a share of 0 to 1"));
    }
    let every_ns = above_zero(&job.every, "speed.every")?;
    Ok(SpeedPlan { low: job.low, up_above: job.up_above, every_ns })
}

fn or_never(text: &str, at: &str) -> Result<f64, Fault> {
    if text.is_empty() { Ok(f64::INFINITY) } else { ns(text, at) }
}

fn above_zero(text: &str, at: &str) -> Result<f64, Fault> {
    let result = ns(text, at)?;
    if result > 0.0 { Ok(result) } else { Err(wrong(format!("{at} is 0"), at, "give 10ms or 15s")) }
}

fn ns(text: &str, at: &str) -> Result<f64, Fault> {
    parse_ns(text).map(|ns| ns as f64).map_err(|fault| fault.within(at))
}

fn wrong(what: impl Into<String>, at: &str, fix: impl Into<String>) -> Fault {
    Fault::usage(what, at, fix)
}
