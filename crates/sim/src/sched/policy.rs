//! What the machine asks of a scheduling policy. One instance per CPU; it owns the run queue.
//!
//! A task is *queued* (runnable, waiting), *current* (picked last) or *blocked*. The machine calls
//! `charge` before every other call, so a policy always knows how long the current task has run.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::{Fault, units};

/// A task's number on the machine.
pub type TaskId = usize;

/// What a task was granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Share of the CPU among those who want it; 1024 is standard.
    pub weight: u64,
    /// Virtual time it may borrow, ns (`bvt` only).
    pub warp_ns: i64,
    /// Higher runs first (`rt` only).
    pub priority: u32,
    /// CPU time per period, ns; 0: no limit (`rt` only).
    pub quota_ns: u64,
    /// Length of that period, ns.
    pub period_ns: u64,
}

/// Most virtual time that a knob or a grant may name, ns: 1,000 s. Sums of more of it could wrap.
const VIRTUAL_MAX_NS: u64 = 1_000_000_000_000;

/// Reads a time that is compared with virtual times.
pub(super) fn virtual_ns(text: &str, at: &str) -> Result<u64, Fault> {
    let ns = units::parse_ns(text).map_err(|fault| fault.within(at))?;
    if ns > VIRTUAL_MAX_NS {
        return Err(Fault::usage(format!("{at} is {text}"), at, "give 1000s or less"));
    }
    Ok(ns)
}

/// A run queue and its rules.
pub trait Policy: Debug {
    /// A blocked task becomes queued.
    fn wake(&mut self, task: TaskId, now: u64);
    /// The current task becomes queued.
    fn put_back(&mut self, task: TaskId, now: u64);
    /// The current task becomes blocked.
    fn block(&mut self, task: TaskId, now: u64);
    /// A queued task becomes current; `None` if there is none that may run.
    fn pick(&mut self, now: u64) -> Option<TaskId>;
    /// The current task ran for `ran_ns`, up to `now`.
    fn charge(&mut self, task: TaskId, ran_ns: u64, now: u64);
    /// Whether `woken`, queued just now, takes the CPU from `current`.
    fn preempts(&mut self, woken: TaskId, current: TaskId, now: u64) -> bool;
    /// When the policy wants to decide again if nothing else happens.
    fn look_again(&self, current: Option<TaskId>, now: u64) -> Option<u64>;
    /// It is that time: whether `current` must go back to the queue.
    fn must_yield(&mut self, current: TaskId, now: u64) -> bool;
}

/// The knobs of all policies, as text; each policy says which ones it reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tuning {
    /// `cfs`, `bvt`: time in which every runnable task should run once. L is half of it (L20).
    pub latency: String,
    /// `cfs`, `bvt`: least time before the tick may take the CPU away.
    pub min_granularity: String,
    /// `cfs`, `bvt`: how far behind a waking task must be to preempt.
    pub wakeup_granularity: String,
    /// `cfs`, `bvt`, `eevdf`: period of the timer tick.
    pub tick: String,
    /// `bvt`: a task that narrowly missed preempting is looked at again no sooner than after this (L26).
    pub grace: String,
    /// `eevdf`: time a task asks for at once.
    pub slice: String,
}

/// Linux 3.5 on 8 CPUs or more: `kernel/sched/fair.c`, 6/0.75/1 ms times 1 + log2(8) = 4;
/// 24 ms is also what the paper states (L20). The tick is that of Ubuntu's kernels, 250 Hz.
/// The slice is Linux 6.6's 0.75 ms times 4. The grace is not stated anywhere: an assumption.
impl Default for Tuning {
    fn default() -> Self {
        Self {
            latency: "24ms".into(),
            min_granularity: "3ms".into(),
            wakeup_granularity: "4ms".into(),
            tick: "4ms".into(),
            grace: "500us".into(),
            slice: "3ms".into(),
        }
    }
}

/// [`Tuning`], understood: all times in ns.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    /// See [`Tuning::latency`].
    pub latency_ns: u64,
    /// See [`Tuning::min_granularity`].
    pub min_granularity_ns: u64,
    /// See [`Tuning::wakeup_granularity`].
    pub wakeup_granularity_ns: u64,
    /// See [`Tuning::tick`].
    pub tick_ns: u64,
    /// See [`Tuning::grace`].
    pub grace_ns: u64,
    /// See [`Tuning::slice`].
    pub slice_ns: u64,
}

impl Tuning {
    /// Reads the texts into ns; a fault names the first that is no time, or too long.
    pub fn knobs(&self) -> Result<Knobs, Fault> {
        let knobs = Knobs {
            latency_ns: virtual_ns(&self.latency, "tuning.latency")?,
            min_granularity_ns: virtual_ns(&self.min_granularity, "tuning.min_granularity")?,
            wakeup_granularity_ns: virtual_ns(
                &self.wakeup_granularity,
                "tuning.wakeup_granularity",
            )?,
            tick_ns: virtual_ns(&self.tick, "tuning.tick")?,
            grace_ns: virtual_ns(&self.grace, "tuning.grace")?,
            slice_ns: virtual_ns(&self.slice, "tuning.slice")?,
        };
        for (value, at) in
            [(knobs.tick_ns, "tick"), (knobs.slice_ns, "slice"), (knobs.grace_ns, "grace")]
        {
            if value < 1000 {
                let what = format!("{at} is {value} ns");
                return Err(Fault::usage(what, format!("tuning.{at}"), "give 1us or more"));
            }
        }
        Ok(knobs)
    }
}

/// The first tick after `now`; ticks are whole multiples.
pub fn next_tick(now: u64, tick_ns: u64) -> u64 {
    (now / tick_ns + 1) * tick_ns
}
