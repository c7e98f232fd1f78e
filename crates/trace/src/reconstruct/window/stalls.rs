//! What attaching and detaching does to the tail that the users of a service see, by estimate.
//!
//! A step (one hook attached or detached) holds a CPU for a time `s`, here taken as the service's CPU. A
//! request that arrives meanwhile waits for the rest of the step. Later requests wait until the queue is empty
//! again, which takes `s` ÷ (1 − ρ) in all, where ρ is the busy share. The delays in this time are taken as
//! even between 0 and `s`. All steps together take the share `f` of the time, which makes queues longer by
//! `f` ÷ (1 − ρ). At other times a request is in a window or outside. In a window the hooks make it longer by
//! a known ratio ([`crate::reconstruct::window::slowing`]). Mean and quantiles with the tracer, over those
//! without, follow from these three parts and from the totals that windows saw.
//!
//! Where the tracer has a CPU for itself, no one waits for it, and this is too much.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reconstruct::bins;

/// Of mean and p99, and of p99.9: with a larger ratio the result says so.
pub const MEAN_MAX: f64 = 1.05;
/// See [`MEAN_MAX`].
pub const P99_MAX: f64 = 1.05;
/// See [`MEAN_MAX`].
pub const P999_MAX: f64 = 1.1;
/// A queue behind a busier CPU than this would have no end.
const BUSY_MAX: f64 = 0.95;
/// Requests above a quantile that is to be stated.
const ABOVE_MIN: f64 = 10.0;
/// Halvings of the range in which a quantile is looked for.
const HALVINGS: u32 = 40;

/// What tracing does to the tail of all requests, in windows and between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TailCost {
    /// Steps that held up a CPU: hooks attached and detached, one at a time.
    pub steps: u64,
    /// The longest of them, ns of the tracer's CPU time.
    pub longest_ns: u64,
    /// All of them ÷ length of the trace.
    pub steps_ratio: f64,
    /// Mean with the tracer ÷ mean without, as if each step held up the service; `null`: no request was
    /// seen.
    pub mean_ratio: Option<f64>,
    /// The same of p99; `null`: fewer than ten requests lie above.
    pub p99_ratio: Option<f64>,
    /// The same of p99.9.
    pub p999_ratio: Option<f64>,
    /// A larger mean, p99 or p99.9 than so many times that without is warned of.
    pub most: [f64; 3],
}

impl TailCost {
    /// What users will notice, if any ratio is above its bound.
    pub fn warning(&self) -> Option<String> {
        let ratios = [self.mean_ratio, self.p99_ratio, self.p999_ratio];
        let names = ["mean", "p99", "p99.9"];
        let all = names.iter().zip(ratios).zip(self.most);
        let above = all.filter(|((_, ratio), most)| ratio.is_some_and(|ratio| ratio > *most));
        let text: Vec<String> = above
            .map(|((name, ratio), most)| {
                format!("{name} ×{:.2}, more than ×{most:.2}", ratio.unwrap_or(most))
            })
            .collect();
        (!text.is_empty()).then(|| {
            format!(
                "users notice this trace, by estimate: {}; give a lower --cost or a longer --duration",
                text.join("; ")
            )
        })
    }
}

/// The service in a trace.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Requests in windows by their totals: bins of [`bins::TOTAL`].
    pub totals: &'a [u64],
    /// Mean total in windows, ns.
    pub mean_ns: f64,
    /// Busy share of the busiest worker.
    pub busy: f64,
    /// Share of the trace in which hooks looked at requests.
    pub inside: f64,
    /// How many times as long these are there, in the mean and at the tail.
    pub longer: (f64, f64),
    /// Length of the trace, ns.
    pub elapsed_ns: f64,
}

/// Steps that held up a CPU, by how long.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// By bin: how many, and ns in all.
    by_bin: BTreeMap<usize, (u64, u64)>,
    longest_ns: u64,
}

impl Stalls {
    /// Adds a step that took so long.
    pub fn add(&mut self, ns: u64) {
        let (n, sum_ns) = self.by_bin.entry(bins::STAGE.of(ns)).or_default();
        (*n, *sum_ns) = (*n + 1, *sum_ns + ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// The longest so far, ns.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// What they did to the service's users.
    pub fn cost(&self, seen: &Seen<'_>) -> TailCost {
        let (steps, sum_ns) =
            self.by_bin.values().fold((0, 0), |(n, ns), (more, more_ns)| (n + more, ns + more_ns));
        let mixed = Mixed::new(self, seen);
        TailCost {
            steps,
            longest_ns: self.longest_ns,
            steps_ratio: sum_ns as f64 / seen.elapsed_ns.max(1.0),
            mean_ratio: mixed.mean_ratio(seen),
            p99_ratio: mixed.quantile_ratio(0.99),
            p999_ratio: mixed.quantile_ratio(0.999),
            most: [MEAN_MAX, P99_MAX, P999_MAX],
        }
    }
}

/// All requests: those between windows, those in them, and those that a step held up.
struct Mixed {
    /// Totals without the tracer: from, to (ns) and share of the requests.
    parts: Vec<[f64; 3]>,
    requests: f64,
    /// Share of the requests that are in windows, and how many times as long they are there.
    inside: (f64, f64),
    /// Longest delay (ns) of those that a step of this length held up, and their share.
    held: Vec<[f64; 2]>,
    /// How many times as long queues are for what the steps take.
    fuller: f64,
}

impl Mixed {
    fn new(stalls: &Stalls, seen: &Seen<'_>) -> Self {
        let requests = seen.totals.iter().sum::<u64>() as f64;
        let longer = seen.longer.1.max(1.0);
        let part = |(bin, &n): (usize, &u64)| {
            let edge = |bin| bins::TOTAL.low(bin) as f64 / longer;
            (n > 0).then(|| [edge(bin), edge(bin + 1), n as f64 / requests])
        };
        let idle = 1.0 - seen.busy.clamp(0.0, BUSY_MAX);
        let held = |&(n, sum_ns): &(u64, u64)| {
            let share = sum_ns as f64 / idle / seen.elapsed_ns.max(1.0);
            [sum_ns as f64 / n as f64, share]
        };
        Self {
            parts: seen.totals.iter().enumerate().filter_map(part).collect(),
            requests,
            inside: (seen.inside.clamp(0.0, 1.0), longer),
            fuller: 1.0 + stalls.by_bin.values().map(|sums| held(sums)[1]).sum::<f64>(),
            held: stalls.by_bin.values().map(held).collect(),
        }
    }

    fn mean_ratio(&self, seen: &Seen<'_>) -> Option<f64> {
        let (inside, longer) = (self.inside.0, seen.longer.0.max(1.0));
        let without_ns = seen.mean_ns / longer;
        let delay_ns: f64 = self.held.iter().map(|[most_ns, share]| most_ns / 2.0 * share).sum();
        (without_ns > 0.0).then(|| self.fuller + inside * (longer - 1.0) + delay_ns / without_ns)
    }

    fn quantile_ratio(&self, q: f64) -> Option<f64> {
        if self.requests * (1.0 - q) < ABOVE_MIN - 1e-9 {
            return None;
        }
        let without = self.find(q, |ns| self.below(ns, 0.0));
        (without > 0.0).then(|| self.find(q, |ns| self.below_with(ns)) / without)
    }

    /// Share of the requests without the tracer that take `ns` at most, if each is delayed by up to
    /// `delay_ns`, evenly.
    fn below(&self, ns: f64, delay_ns: f64) -> f64 {
        let of = |[from, to, share]: &[f64; 3]| {
            let (from, wide) = if delay_ns > to - from {
                (f64::midpoint(*from, *to), delay_ns)
            } else {
                (*from, to - from)
            };
            share * ((ns - from) / wide).clamp(0.0, 1.0)
        };
        self.parts.iter().map(of).sum()
    }

    /// The same of all requests with the tracer.
    fn below_with(&self, ns: f64) -> f64 {
        let ((inside, longer), ns) = (self.inside, ns / self.fuller);
        let all_held: f64 = self.held.iter().map(|[_, share]| share).sum::<f64>();
        // More cannot be held up than there are.
        let fits = (1.0 - inside).max(0.0) / all_held.max(1.0 - inside).max(1e-12);
        let held: f64 =
            self.held.iter().map(|[most_ns, share]| fits * share * self.below(ns, *most_ns)).sum();
        let outside = (1.0 - inside - fits * all_held).max(0.0);
        inside * self.below(ns / longer, 0.0) + outside * self.below(ns, 0.0) + held
    }

    fn find(&self, q: f64, below: impl Fn(f64) -> f64) -> f64 {
        let longest = self.held.iter().map(|[ns, _]| *ns).fold(0.0, f64::max);
        let highest = self.parts.last().map_or(0.0, |[_, to, _]| to * self.inside.1);
        let (mut low, mut high) = (0.0, self.fuller * (highest + longest));
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if below(middle) < q { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests;
