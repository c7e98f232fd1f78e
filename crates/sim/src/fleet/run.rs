//! One day of a datacenter: from the job to its result.

use sojourn_base::Fault;
use sojourn_base::span::{Span, Times};

use super::hour::{HourResult, Sums};
use super::job::{JOB_SCHEMA, Job};
use super::known::HALF_WIDTH_MAX;
use super::parallel::map;
use super::result::{FleetResult, PlatformResult, SCHEMA};
use super::servers::{Fleet, capacity};
use crate::result::{Verdict, is_cut};

/// With so many hours for each thread, the last ones leave a thread idle for a small part of the time.
const HOURS_EACH: usize = 4;

/// Runs `job` on `threads` threads; their number changes nothing but the time it takes.
pub fn run(job: &Job, threads: usize) -> Result<FleetResult, Fault> {
    crate::check_schema(&job.schema, JOB_SCHEMA)?;
    job.check()?;
    let fleet = Fleet::new(job)?;
    Ok(result(&fleet, &hours(&fleet, threads)))
}

/// Every hour's result. Where there are many hours each is one thread's, because what follows from an hour's
/// times is added up by one thread; where there are few, threads share each hour's servers.
fn hours(fleet: &Fleet, threads: usize) -> Vec<HourResult> {
    let count = fleet.job.load_by_hour.len();
    if count >= HOURS_EACH * threads {
        return map(count, threads, |hour| fleet.hour(hour, 1));
    }
    (0..count).map(|hour| fleet.hour(hour, threads)).collect()
}

fn result(fleet: &Fleet, hours: &[HourResult]) -> FleetResult {
    let (mut root, mut server) = (Times::new(), Times::new());
    for outcome in hours {
        root.merge(&outcome.root);
        server.merge(&outcome.server);
    }
    let reasons = reasons(hours);
    FleetResult {
        schema: SCHEMA.into(),
        program: crate::program(),
        label: "simulated".into(),
        job: fleet.job.clone(),
        verdict: Verdict::of(&reasons),
        reasons,
        root_ns: root.span(),
        server_ns: server.span(),
        hours: hours.iter().map(|outcome| outcome.hour.clone()).collect(),
        platforms: (0..fleet.job.platforms.len()).map(|i| platform(fleet, i, hours)).collect(),
    }
}

/// Why the numbers cannot be believed, each with its worst hour.
fn reasons(hours: &[HourResult]) -> Vec<String> {
    let worst = |of: fn(&HourResult) -> f64| {
        let numbered = hours.iter().map(of).enumerate();
        numbered.fold((0, 0.0), |worst, next| if next.1 > worst.1 { next } else { worst })
    };
    let mut reasons = Vec::new();
    let (_, share) = worst(|result| result.hour.unstable_share);
    if share > 0.0 {
        reasons.push(format!(
            "unstable: in the worst hour {:.2} % of the servers are offered more than they can do beside their neighbours; their times are lower bounds",
            share * 100.0
        ));
    }
    let (hour, share) = worst(|result| result.cold_share);
    if share > 0.0 {
        reasons.push(format!(
            "cold: in hour {hour} {:.2} % of the servers were still forgetting their start when requests began to count; leave warmup at 0, or offer less than this load of {}",
            share * 100.0,
            hours[hour].hour.load
        ));
    }
    let is_long = |times: &Span| times.max.is_some_and(is_cut);
    if hours.iter().any(|it| is_long(&it.hour.server_ns) || is_long(&it.hour.root_ns)) {
        reasons.push("times above 1 h were cut there; use a smaller unit".into());
    }
    let (hour, half_width) = worst(|result| result.server_half_width);
    if half_width > HALF_WIDTH_MAX {
        reasons.push(imprecise("server", "samples", hour, half_width));
    }
    let (hour, half_width) = worst(|result| result.root_half_width);
    if half_width > HALF_WIDTH_MAX {
        reasons.push(imprecise("root", "roots", hour, half_width));
    }
    reasons
}

fn imprecise(owner: &str, knob: &str, hour: usize, half_width: f64) -> String {
    let (got, most) = (half_width * 100.0, HALF_WIDTH_MAX * 100.0);
    let times = (half_width / HALF_WIDTH_MAX).powi(2).ceil();
    let fix = if times.is_finite() {
        format!("{times} times the {knob}")
    } else {
        format!("more {knob}")
    };
    format!(
        "{owner} times are known to ±{got:.1} % (95 %) in hour {hour}, at most ±{most} % allowed: ask for {fix}"
    )
}

fn platform(fleet: &Fleet, index: usize, hours: &[HourResult]) -> PlatformResult {
    let platform = &fleet.job.platforms[index];
    let servers = fleet.servers.iter().filter(|facts| facts.platform == index).count();
    let by = (servers.max(1) * hours.len()) as f64;
    let mean = |of: fn(&Sums) -> f64| {
        hours.iter().map(|result| of(&result.by_platform[index])).sum::<f64>() / by
    };
    PlatformResult {
        name: platform.name.clone(),
        servers: servers as u64,
        price_usd: platform.price_usd,
        capacity_rps: capacity(platform) * 1e9 / fleet.service.mean_ns(),
        service_load: mean(|sums| sums.load),
        utilisation: mean(|sums| sums.utilisation),
        neighbour_throughput: mean(|sums| sums.throughput),
    }
}

#[cfg(test)]
mod tests;
