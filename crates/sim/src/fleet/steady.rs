//! How long a queue must be watched: until its start is forgotten, and until it has been seen in
//! enough independent states.
//!
//! A queue forgets within its relaxation time. For M/M/n near saturation that is ρ/(1−√ρ)² requests;
//! for other service (1 + c²)/2 times as many, by the diffusion that both tend to. It is the unit here.
//! Sources: Morse, Queues, Inventories and Maintenance (1958), 6; Whitt, Planning queueing
//! simulations, Management Science 35(11), 1989.

/// Relaxation times before any request counts: e⁻³ is left of what the start was wrong by.
const WARMUP_TIMES: f64 = 3.0;
/// Requests before any counts, at least: at low loads relaxation times are shorter than services.
const WARMUP_MIN: u64 = 200;
/// Relaxation times that all servers of an hour are watched for in sum. One is about one independent
/// state; with so many the p99 of an exponential tail is known to ±2 % (95 %).
const WATCHED_TIMES: f64 = 40_000.0;
/// Times kept per hour by all servers together, at least.
const STORED_MIN: usize = 200_000;
/// Requests simulated per hour, at most: half a minute of one CPU.
const REQUESTS_MAX: f64 = 1e9;

/// What is simulated of one server in one hour, in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Before any counts.
    pub(super) warmup: u64,
    /// One of so many counts.
    pub(super) stride: u64,
    /// Whether the start is forgotten by then.
    pub(super) is_warm: bool,
}

/// Relaxation time of a queue, in requests.
pub(super) fn relaxation(load: f64, scv: f64) -> f64 {
    load / (1.0 - load.sqrt()).powi(2) * (1.0 + scv) / 2.0
}

/// Groups of times that depend on each other, at least, from which an hour's spread is taken.
const GROUPS_MIN: usize = 64;

/// Times retained of each server in an hour, of `servers`; `asked` at least, in even groups.
pub(super) fn kept(asked: u32, servers: usize) -> usize {
    (asked as usize).max(STORED_MIN.div_ceil(servers)).next_multiple_of(groups(servers))
}

/// Groups that the times of one of `servers` make: one, or parts of it where servers are few.
pub(super) fn groups(servers: usize) -> usize {
    GROUPS_MIN.div_ceil(servers)
}

impl Plan {
    /// For one of `servers` at `load`, of which `kept` times are kept; `asked`: requests of warm-up
    /// that the job insists on, 0 for as many as it takes.
    pub(super) fn new(load: f64, scv: f64, servers: usize, retained: usize, asked: u32) -> Self {
        let cold = Self { warmup: WARMUP_MIN.max(u64::from(asked)), stride: 1, is_warm: false };
        let relaxation = relaxation(load, scv);
        if load >= 1.0 || !relaxation.is_finite() {
            return cold;
        }
        let needed = (WARMUP_TIMES * relaxation).max(WARMUP_MIN as f64);
        let most = REQUESTS_MAX / servers as f64;
        let warmup = if asked > 0 { f64::from(asked) } else { needed.min(most) };
        let watched = (WATCHED_TIMES / servers as f64 * relaxation).min((most - warmup).max(0.0));
        let stride = (watched / retained as f64).ceil().max(1.0) as u64;
        Self { warmup: warmup as u64, stride, is_warm: warmup >= needed.floor() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relaxation_is_that_of_the_textbook_and_grows_with_variance() {
        // (1 − √.81)² = .01, (1 − √.25)² = .25
        assert!((relaxation(0.81, 1.0) - 81.0).abs() < 1e-9);
        assert!((relaxation(0.25, 1.0) - 1.0).abs() < 1e-12);
        assert!((relaxation(0.81, 0.0) - 40.5).abs() < 1e-9);
        assert!((relaxation(0.81, 3.0) - 162.0).abs() < 1e-9);
    }

    #[test]
    fn the_warm_up_is_three_relaxation_times_and_not_below_200() {
        let plan = |load| Plan::new(load, 1.0, 12_000, 64, 0);
        assert_eq!(plan(0.81), Plan { warmup: 243, stride: 5, is_warm: true });
        assert_eq!(plan(0.25), Plan { warmup: 200, stride: 1, is_warm: true });
        assert!(plan(0.98).warmup > 29_000 && plan(0.98).is_warm);
    }

    /// Few servers are watched for longer: the sum counts.
    #[test]
    fn all_servers_together_are_watched_for_40_000_relaxation_times() {
        for (servers, retained) in [(1, 200_000), (100, 2000), (12_000, 64)] {
            let plan = Plan::new(0.98, 1.0, servers, retained, 0);
            let watched = (servers * retained) as f64 * plan.stride as f64 / relaxation(0.98, 1.0);
            assert!((40_000.0..46_000.0).contains(&watched), "{servers}: {watched}");
        }
    }

    #[test]
    fn what_cannot_be_warm_says_so() {
        let is_warm = |load, scv, asked| Plan::new(load, scv, 12_000, 64, asked).is_warm;
        assert!(is_warm(0.95, 1.0, 0) && is_warm(0.95, 1.0, 5000));
        assert!(!is_warm(0.95, 1.0, 200), "as asked, too short");
        assert!(!is_warm(0.9999, 1.0, 0), "longer than is simulated at most");
        assert!(!is_warm(1.0, 1.0, 0) && !is_warm(0.5, f64::INFINITY, 0), "no steady state");
        assert_eq!(Plan::new(1.5, 1.0, 9, 64, 0).warmup, 200);
        assert_eq!(Plan::new(0.5, 1.0, 9, 64, 777).warmup, 777);
        let near = Plan::new(0.9999, 1.0, 12_000, 64, 0);
        assert!((near.warmup + 64 * near.stride) as f64 <= 1e9 / 12_000.0 + 64.0, "{near:?}");
    }

    #[test]
    fn few_servers_keep_more_each() {
        assert_eq!((kept(64, 12_000), kept(64, 600), kept(64, 1)), (64, 334, 200_000));
        assert_eq!(kept(500, 600), 500);
    }

    /// No group spans two servers, and there are enough to tell a spread from.
    #[test]
    fn times_make_even_groups() {
        assert_eq!((groups(12_000), groups(64), groups(63), groups(1)), (1, 1, 2, 64));
        for servers in [1, 3, 7, 64, 600] {
            assert_eq!(kept(64, servers) % groups(servers), 0);
            assert!(servers * groups(servers) >= GROUPS_MIN);
        }
    }
}
