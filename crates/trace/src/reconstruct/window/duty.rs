//! How long windows are and how often they come, so that tracing takes what it may and no more.
//!
//! What a window takes is seen on the spot: the service's CPU time per TCP segment while hooks are
//! attached, against the same between windows. Until a few windows have been, a share is assumed that is
//! above what a saturated memcached loses ([`ASSUMED`]); it is outvoted as windows come. The tracer's
//! own CPU time (mostly attaching and detaching) counts as if it were taken from the service, as it is
//! where both share a CPU.

use crate::reconstruct::window::Cost;
use crate::reconstruct::window::draw::Draw;
use crate::reconstruct::window::estimate::{Estimate, jackknife};
use crate::reconstruct::window::work::Work;

/// Share of the service's CPU time that is lost while the hooks are attached, until it is known. A
/// saturated memcached of one thread lost 0.22: the journal's entry on the tracer.
const ASSUMED: f64 = 0.25;
/// The assumption weighs as much as so many windows.
const ASSUMED_WINDOWS: f64 = 4.0;
/// Of the standard error, at most so much is added for safety.
const SAFETY_MAX: f64 = 0.2;
/// Least price: noise may say that tracing costs nothing.
const PRICE_MIN: f64 = 0.02;
/// What the tracer itself takes for a window, and for how long the hooks stay attached beside it, until
/// both are known, ns.
const OWN_NS: f64 = 6e6;
const BESIDE_NS: f64 = 2e7;
/// Mean length of a window, ns; at most this share of what lies between two, where hooks cost little:
/// a short trace needs windows enough, too.
const SHORTEST_NS: f64 = 2e7;
const LONGEST_NS: f64 = 4e8;
const LONGEST_SHARE: f64 = 0.3;
/// Windows are made longer as long as a trace has so many. Attaching and detaching hold up requests
/// that are no window's: the rarer they come, the less of the tail is theirs.
const WINDOWS: f64 = 10.0;
/// One comes every so many ns, at most and at least.
const SLOT_NS: (f64, f64) = (5e8, 4e9);
/// Largest share of the time with hooks attached.
const DUTY_MAX: f64 = 0.5;
/// More turns than this are put together, two by two.
const MOST: usize = 512;

/// One window, and the gap before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// What the service did in the gap.
    pub outside: Work,
    /// What it did from before attaching until after detaching.
    pub inside: Work,
    /// What it did while arrivals were counted.
    pub traced: Work,
    /// Length of the window, ns.
    pub length_ns: f64,
    /// From before attaching until after detaching, ns.
    pub attached_ns: f64,
    /// CPU time of the tracer for it, ns.
    pub own_ns: f64,
}

/// Follows the cost that was asked for.
#[derive(Debug)]
pub struct Duty {
    asked: f64,
    /// A window comes every so many ns, if the cost allows it.
    every_ns: f64,
    /// CPU time and segments, inside, outside and while arrivals were counted, by window.
    turns: Vec<[f64; 6]>,
    windows: f64,
    length_ns: f64,
    attached_ns: f64,
    own_ns: f64,
}

impl Duty {
    /// For a share of the service's CPU time, in a trace of `trace_ns`.
    pub fn new(asked: f64, trace_ns: f64) -> Self {
        let none = 0.0;
        Self {
            asked,
            every_ns: (trace_ns / WINDOWS).clamp(SLOT_NS.0, SLOT_NS.1),
            turns: Vec::new(),
            windows: none,
            length_ns: none,
            attached_ns: none,
            own_ns: none,
        }
    }

    /// Takes in what a window and the gap before it saw.
    pub fn add(&mut self, turn: &Turn) {
        let Turn { outside, inside, traced, .. } = *turn;
        if inside.segments > 0.0 || outside.segments > 0.0 {
            let sums = [inside, outside, traced].map(|work| [work.cpu_ns, work.segments]);
            self.turns.push(std::array::from_fn(|k| sums[k / 2][k % 2]));
        }
        if self.turns.len() == MOST {
            let pairs = self.turns.chunks(2);
            let add =
                |two: &[[f64; 6]]| std::array::from_fn(|k| two.iter().map(|turn| turn[k]).sum());
            self.turns = pairs.map(add).collect();
        }
        self.windows += 1.0;
        self.length_ns += turn.length_ns;
        self.attached_ns += turn.attached_ns;
        self.own_ns += turn.own_ns;
    }

    /// Share of the service's CPU time that is lost while the hooks are attached, on the safe side.
    fn price(&self) -> f64 {
        let seen = jackknife(&self.turns, lost_inside)
            .map_or(ASSUMED, |Estimate { value, se, .. }| {
                (value + se.min(SAFETY_MAX)).clamp(PRICE_MIN, 1.0)
            });
        let windows = self.turns.len() as f64;
        (ASSUMED_WINDOWS * ASSUMED + windows * seen) / (ASSUMED_WINDOWS + windows)
    }

    /// Attached before and after a window, ns.
    fn beside_ns(&self) -> f64 {
        (BESIDE_NS + self.attached_ns - self.length_ns) / (1.0 + self.windows)
    }

    fn own_per_window_ns(&self) -> f64 {
        (OWN_NS + self.own_ns) / (1.0 + self.windows)
    }

    /// Mean length of the next window, ns.
    fn window_ns(&self) -> f64 {
        let affords_ns = self.every_ns * self.asked - self.own_per_window_ns();
        let longest_ns = LONGEST_NS.min(LONGEST_SHARE * self.every_ns);
        (affords_ns / self.price() - self.beside_ns()).clamp(SHORTEST_NS, longest_ns)
    }

    /// What a window of this length needs of its slot, ns.
    pub fn needed_ns(&self, window_ns: f64) -> f64 {
        window_ns + self.beside_ns()
    }

    /// Length of the next slot, in which one window lies, ns.
    fn slot_ns(&self) -> f64 {
        let attached_ns = self.needed_ns(self.window_ns());
        self.time_for(attached_ns, self.own_per_window_ns())
    }

    /// When the next slot begins, ns from the beginning: by then what was spent has been earned.
    fn due_ns(&self) -> f64 {
        self.time_for(self.attached_ns, self.own_ns)
    }

    /// Draws the next window: when it begins at the earliest, ns from the beginning of the trace, and
    /// its length, ns.
    pub fn next(&self, draw: &mut Draw) -> (u64, u64) {
        let length_ns = draw.length_ns(self.window_ns());
        let place_ns = draw.place_ns(self.slot_ns(), self.needed_ns(length_ns as f64));
        (self.due_ns() as u64 + place_ns, length_ns)
    }

    /// How long a trace must be in which so much is spent.
    fn time_for(&self, attached_ns: f64, own_ns: f64) -> f64 {
        ((self.price() * attached_ns + own_ns) / self.asked).max(attached_ns / DUTY_MAX)
    }

    /// Time with hooks attached, ns.
    pub fn attached_ns(&self) -> f64 {
        self.attached_ns
    }

    /// How many times as much CPU time a segment takes while arrivals are counted.
    pub fn cpu_ratio(&self) -> Option<Estimate> {
        jackknife(&self.turns, ratio_traced)
    }

    /// What it came to in `elapsed_ns`, of which the tracer itself took `own_ns` of CPU time.
    pub fn cost(&self, elapsed_ns: f64, own_ns: f64) -> Cost {
        let measured = jackknife(&self.turns, lost_of_all);
        Cost {
            asked: self.asked,
            measured: measured.map(|result| result.value),
            interval: measured.map(Estimate::interval),
            while_attached: self.price(),
            is_assumed: (self.turns.len() as f64) < ASSUMED_WINDOWS,
            tracer_cpu_ratio: own_ns / elapsed_ns.max(1.0),
        }
    }
}

/// CPU time inside beyond what the same segments take outside, ÷ CPU time inside.
fn lost_inside(sums: &[f64; 6]) -> f64 {
    extra_ns(sums) / sums[0]
}

/// The same ÷ all CPU time.
fn lost_of_all(sums: &[f64; 6]) -> f64 {
    extra_ns(sums) / (sums[0] + sums[2])
}

/// CPU time per segment while arrivals are counted ÷ the same outside.
fn ratio_traced(
    [_, _, outside_ns, outside_segments, traced_ns, traced_segments]: &[f64; 6],
) -> f64 {
    (traced_ns / traced_segments) / (outside_ns / outside_segments)
}

fn extra_ns([inside_ns, inside_segments, outside_ns, outside_segments, ..]: &[f64; 6]) -> f64 {
    inside_ns - inside_segments * outside_ns / outside_segments
}

#[cfg(test)]
mod tests;
