//! The windows of one trace, one after the other.

use std::path::Path;
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};

use crate::attach::links::{Attached, Clocks};
use crate::attach::steps::Steps;
use crate::reconstruct::window::draw::Draw;
use crate::reconstruct::window::duty::{Duty, Turn};
use crate::reconstruct::window::work::{Work, own_cpu_ns};
use crate::reconstruct::window::{DRAIN_MAX_NS, PLACES, Place};
use crate::session::live::{Live, Outcome};
use crate::session::read::Memory;

/// Between two windows at least: an attachment that just went may still be on its way out.
const GAP_MIN_NS: u64 = 10_000_000;
/// From attached until arrivals count: so many times what the longest step took, and at least so long. A
/// Redis at half load, whose client attaching in one go held up for 3.4 ms, had 2.7 times as many arrivals
/// in the first millisecond after it, latencies three times as long, and was itself again after two.
const SETTLE_TIMES: u32 = 4;
const SETTLE: Duration = Duration::from_millis(3);
const SETTLE_MAX: Duration = Duration::from_millis(50);
/// First look for requests that have not ended, after a window; each further one twice as late.
const DRAIN_LOOK: Duration = Duration::from_millis(2);
const DRAIN_LOOK_MAX: Duration = Duration::from_millis(20);
/// Inside a window records must not fill the ring.
const RING_LOOK: Duration = Duration::from_millis(30);

/// Traces in windows that cost `asked` of the service's CPU time, drawn from `seed`.
pub(crate) fn run(
    live: &Live<'_, '_>,
    (asked, seed): (f64, u64),
    begun: &mut dyn FnMut(),
    outcome: &mut Outcome,
) -> Result<(), Fault> {
    let mut steps = Steps::last();
    let lives = Attached::lives(live.object, &mut steps)?;
    let (clocks, clock) = Clocks::new(live.object);
    let memory = Memory::new(live.object)?;
    outcome.hooks.extend(lives.hooks.iter().cloned());
    outcome.hooks.push(clock);
    outcome.sampling.seed = Some(seed);
    let trace_ns = if live.options.is_live { 0.0 } else { live.options.duration_ns as f64 };
    let (duty, draw) = (Duty::new(asked, trace_ns), Draw::new(seed));
    let work = live.work();
    let mut windows =
        Windows { live, clocks, memory, duty, draw, work, steps: steps.again(), epoch: 0 };
    outcome.started_ns = Monotonic.now_ns();
    let own_ns = own_cpu_ns();
    begun();
    while let Some(length_ns) = windows.wait_for_next(outcome) {
        windows.one(length_ns, outcome)?;
    }
    let elapsed_ns = Monotonic.now_ns() - outcome.started_ns;
    outcome.counts.duration_ns = elapsed_ns;
    outcome.counts.traced_ns = outcome.sampling.traced_ns;
    outcome.sampling.windows = Some(windows.epoch);
    outcome.sampling.duty = windows.duty.attached_ns() / elapsed_ns.max(1) as f64;
    outcome.cpu_ratio = windows.duty.cpu_ratio();
    outcome.sampling.cost = Some(windows.duty.cost(elapsed_ns as f64, own_cpu_ns() - own_ns));
    outcome.stalls = windows.steps.stalls;
    Ok(())
}

struct Windows<'a, 's> {
    live: &'a Live<'a, 's>,
    clocks: Clocks,
    memory: Memory,
    duty: Duty,
    draw: Draw,
    /// When the last window was over.
    work: Work,
    steps: Steps,
    /// Number of the last window.
    epoch: u64,
}

impl Windows<'_, '_> {
    /// Sleeps until the next window; its length, or `None` at the end of the trace.
    fn wait_for_next(&mut self, outcome: &mut Outcome) -> Option<u64> {
        let (place_ns, length_ns) = self.duty.next(&mut self.draw);
        let from_ns = outcome.started_ns + place_ns;
        let end_ns = outcome.started_ns + self.live.options.duration_ns;
        let needed_ns = self.duty.needed_ns(length_ns as f64) as u64;
        // A trace that is shorter than a slot has one window all the same.
        let is_first = self.epoch == 0;
        let latest_ns = if is_first { end_ns.saturating_sub(needed_ns) } else { u64::MAX };
        let from_ns = from_ns.min(latest_ns).max(Monotonic.now_ns() + GAP_MIN_NS);
        let fits = from_ns + if is_first { length_ns } else { needed_ns } <= end_ns;
        let is_on = self.sleep_until(if fits { from_ns } else { end_ns }, outcome);
        (fits && is_on).then_some(length_ns)
    }

    fn sleep_until(&self, until_ns: u64, outcome: &mut Outcome) -> bool {
        while Monotonic.now_ns() < until_ns {
            if !self.live.sleep_until(until_ns, Duration::MAX, outcome) {
                return false;
            }
        }
        true
    }

    /// One window: attach, count arrivals, wait for the last of them, detach, take what came.
    fn one(&mut self, length_ns: u64, outcome: &mut Outcome) -> Result<(), Fault> {
        let (before, own_ns, from_ns) = (self.live.work(), own_cpu_ns(), Monotonic.now_ns());
        self.epoch += 1;
        self.steps.begin_window();
        let (how, steps) = (self.live.options.how, &mut self.steps);
        let attached = Attached::requests(self.live.object, how, self.live.is_few, steps)?;
        let watched = self.live.watch(steps)?;
        if self.epoch == 1 {
            outcome.hooks.extend(attached.hooks.iter().cloned());
        }
        self.settle(outcome);
        self.clocks.tick(true);
        let at_start = self.live.work();
        let started_ns = self.live.control.begin(self.epoch)?;
        let until_ns = started_ns + length_ns;
        self.live.control.end_at(until_ns); // however late this thread is
        while Monotonic.now_ns() < until_ns {
            if !self.live.sleep_until(until_ns, RING_LOOK, outcome) {
                self.live.control.end_at(Monotonic.now_ns());
                break;
            }
            if self.live.options.is_full || self.live.watch.is_some() {
                self.live.look_into_ring()?;
            }
        }
        let ended_ns = Monotonic.now_ns().min(until_ns);
        self.steps.was_to_wake_at(ended_ns);
        let at_end = self.live.work();
        self.clocks.tick(false);
        let drained_ns = self.drain(ended_ns, outcome)?;
        self.live.control.disable();
        outcome.enabled_ns += Monotonic.now_ns() - started_ns;
        self.live.unwatch();
        let times = (started_ns, ended_ns);
        self.memory.still_running(self.epoch, times, &mut outcome.still_ran);
        self.live.control.close()?;
        self.steps.detach(watched);
        attached.detach(&mut self.steps);
        let to_ns = Monotonic.now_ns();
        let after = self.live.work();
        self.live.look_into_ring()?;
        self.live.window_over(&self.memory, ended_ns - started_ns, outcome)?;
        let seen = &mut outcome.sampling;
        seen.traced_ns += ended_ns - started_ns;
        if seen.places.len() < PLACES {
            let (attached_ns, detached_ns) = (from_ns, to_ns);
            seen.places.push(Place { attached_ns, started_ns, ended_ns, detached_ns });
        }
        seen.drain_max_ns = Some(seen.drain_max_ns.unwrap_or(0).max(drained_ns));
        self.duty.add(&Turn {
            outside: before.since(self.work),
            inside: after.since(before),
            traced: at_end.since(at_start),
            length_ns: (ended_ns - started_ns) as f64,
            attached_ns: (to_ns - from_ns) as f64,
            own_ns: own_cpu_ns() - own_ns,
        });
        self.work = after;
        Ok(())
    }

    /// Waits until what piled up is gone. Attaching changes code that all CPUs run, and takes a CPU that
    /// may be the client's or the service's: whoever was held up makes up for it at once, and a window
    /// that began there would show that burst. The hooks are attached by now and do nothing.
    fn settle(&self, outcome: &mut Outcome) {
        let longest = Duration::from_nanos(self.steps.stalls.longest_ns());
        let settle = (SETTLE_TIMES * longest).clamp(SETTLE, SETTLE_MAX);
        self.live.sleep_until(Monotonic.now_ns() + settle.as_nanos() as u64, settle, outcome);
    }

    /// Waits until what arrived in the window has ended, or for as long as that is waited for.
    fn drain(&self, ended_ns: u64, outcome: &mut Outcome) -> Result<u64, Fault> {
        let (mut pause, until_ns) = (DRAIN_LOOK, ended_ns + DRAIN_MAX_NS);
        loop {
            let is_on = self.live.sleep_until(until_ns, pause, outcome);
            self.live.look_into_ring()?;
            let now_ns = Monotonic.now_ns();
            if self.live.control.open()? == 0
                || now_ns >= until_ns
                || !is_on && was_given_time(pause)
            {
                return Ok(now_ns - ended_ns);
            }
            if !is_on {
                std::thread::sleep(pause);
            }
            pause = (2 * pause).min(DRAIN_LOOK_MAX);
        }
    }
}

/// A trace that is asked to end waits for the last requests a little, and no longer.
fn was_given_time(pause: Duration) -> bool {
    pause >= DRAIN_LOOK_MAX
}

impl Live<'_, '_> {
    fn work(&self) -> Work {
        Work::read(Path::new("/proc"), &self.target.pids)
    }
}
