//! Which requests were traced, at which price, and how well the numbers are known from them.

use std::fmt::Write as _;

use sojourn_base::units::{Way, several, show_bound_ns, show_ns};

use crate::judge::result::TraceResult;
use crate::reconstruct::window::slowing::Slowing;
use crate::reconstruct::window::stalls::TailCost;
use crate::reconstruct::window::{Cost, Interval};

/// Stages whose share in the tail gets an interval: the largest.
const STAGES: usize = 2;

/// Windows or flows, and the cost.
pub fn head(page: &mut String, result: &TraceResult) {
    let sampling = &result.sampling;
    if let Some(windows) = sampling.windows {
        put!(
            page,
            "{} of {} in the mean, hooks attached {:.1} % of the time",
            several(windows, "window"),
            show_ns(sampling.traced_ns as f64 / windows.max(1) as f64),
            sampling.duty * 100.0
        );
    }
    if let Some(one_in) = sampling.one_in {
        put!(page, "one flow in {one_in}, another one every 50 ms");
    }
    if let Some(price) = &sampling.cost {
        cost(page, price);
    }
    if let Some(price) = &sampling.tail_cost {
        tail_cost(page, price);
    }
}

fn tail_cost(page: &mut String, cost: &TailCost) {
    let times = |ratio: Option<f64>| ratio.map_or("unknown".into(), |r| format!("×{r:.2}"));
    put!(
        page,
        "  users: mean {}, p99 {}, p99.9 {} of those without a tracer, by estimate\n  {} steps, {} of the \
         time, {} the longest",
        times(cost.mean_ratio),
        times(cost.p99_ratio),
        times(cost.p999_ratio),
        cost.steps,
        format_args!("{:.1} %", cost.steps_ratio * 100.0),
        show_ns(cost.longest_ns as f64)
    );
}

fn cost(page: &mut String, cost: &Cost) {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    let measured = match (cost.measured, cost.interval) {
        (Some(share), Some(Interval { low, high: Some(high) })) => {
            let range = format!("({} to {})", percent(low), percent(high));
            format!("measured {} % {range} of the service's CPU time", percent(share))
        }
        _ => "not measured, for the service did too little".into(),
    };
    put!(
        page,
        "cost: asked {} %, {measured}\n  tracer itself {} % of a CPU; hooks {} % while \
         attached{}",
        percent(cost.asked),
        percent(cost.tracer_cpu_ratio),
        percent(cost.while_attached),
        if cost.is_assumed { ", as assumed" } else { "" }
    );
}

/// Both ends of an interval of times; of an open one, what it is at least.
fn times(interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { low, high: Some(high) }) => {
            format!("{} to {}", show_ns(low), show_ns(high))
        }
        Some(Interval { low, high: None }) => format!("{} or more", show_bound_ns(low, Way::Down)),
        None => "unknown".into(),
    }
}

/// Intervals of the mean, of p99, and of the largest stages of the tail.
pub fn accuracy(page: &mut String, result: &TraceResult) {
    let Some(accuracy) = &result.sampling.accuracy else { return };
    put!(
        page,
        "\nwhile traced, {:.0} % intervals from {}:\n  mean {}, p99 {}",
        accuracy.confidence * 100.0,
        several(
            accuracy.clusters as u64,
            if result.sampling.windows.is_some() { "window" } else { "half second" }
        ),
        times(accuracy.mean_ns),
        times(accuracy.p99_ns)
    );
    let mut largest: Vec<_> = result.tail.stages.iter().collect();
    largest.sort_by(|a, b| b.times.share.total_cmp(&a.times.share));
    let known = |name: &str| accuracy.stages.iter().find(|s| s.name == name)?.tail_share;
    let shares = largest.iter().take(STAGES).filter_map(|stage| {
        let Interval { low, high } = known(&stage.name)?;
        Some(format!("{} {:.1} to {:.1} %", stage.name, low * 100.0, high? * 100.0))
    });
    let shares: Vec<String> = shares.collect();
    if !shares.is_empty() {
        put!(page, "  of the p99 tail: {}", shares.join(", "));
    }
    if let Some(rate_hz) = accuracy.blind_hz {
        put!(
            page,
            "  what comes less often than {rate_hz:.1} times a second may be in no window: --cost, --duration"
        );
    }
    put!(page, "  {}", slowing(result.sampling.slowing.as_ref()));
}

/// How far the service while traced is from the service untraced.
fn slowing(slowing: Option<&Slowing>) -> String {
    let Some(Slowing { cpu_ratio: Some(ratio), busy, mean_ratio, tail_ratio, .. }) = slowing else {
        return "by how much hooks slow the service is not known here".into();
    };
    let times = |ratio: &Option<f64>| ratio.map_or("unknown".into(), |r| format!("×{r:.2}"));
    format!(
        "hooks: CPU ×{ratio:.2}, busiest worker {:.0} %; estimated mean {}, p99 tail {}",
        busy * 100.0,
        times(mean_ratio),
        times(tail_ratio)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_interval_holds_as_it_is_shown() {
        let open = Interval { low: 1_319_000.0, high: None };
        assert_eq!(times(Some(open)), "1.31 ms or more");
        assert_eq!(times(Some(Interval { high: Some(2e6), ..open })), "1.32 ms to 2 ms");
    }
}
