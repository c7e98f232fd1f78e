//! A trace that is attached all the time: of every request, or of a sample of flows.

use std::time::Duration;

use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};

use crate::attach::how::How;
use crate::attach::links::{Attached, Clocks};
use crate::attach::steps::Steps;
use crate::reconstruct::window::draw::Draw;
use crate::session::live::{Live, Outcome};
use crate::session::pace::Pace;
use crate::session::read::Memory;

/// Other flows are chosen every so often.
const SALT: Duration = Duration::from_millis(50);
/// Of a sample, what is one draw: requests of one flow at one time are alike, those of half a second
/// come from ten choices of flows.
const SLICE_NS: u64 = 500_000_000;
/// The same of a trace of all requests: a stall lies in one or two of them.
const SLICE_OF_ALL_NS: u64 = 100_000_000;

/// Attaches, waits, detaches.
pub(crate) fn run(
    live: &Live<'_, '_>,
    begun: &mut dyn FnMut(),
    outcome: &mut Outcome,
) -> Result<(), Fault> {
    let memory = Memory::new(live.object)?;
    let mut steps = Steps::default();
    let lives = Attached::lives(live.object, &mut steps)?;
    let attached = Attached::requests(live.object, live.options.how, live.is_few, &mut steps)?;
    let watched = live.watch(&mut steps)?;
    let (clocks, clock) = Clocks::new(live.object);
    outcome.hooks.extend(attached.hooks.iter().chain(&lives.hooks).cloned());
    outcome.hooks.push(clock);
    clocks.tick(true);
    let mut flows = Flows::new(live, outcome);
    flows.salt(live);
    outcome.started_ns = live.control.begin(1)?;
    begun();
    wait(live, &memory, &mut flows, outcome)?;
    let ended_ns = live.control.end();
    live.control.disable();
    live.unwatch();
    memory.still_running(1, (outcome.started_ns, ended_ns), &mut outcome.still_ran);
    if flows.draw.is_none() {
        outcome.clusters.add(memory.snapshot()); // the rest, so that the blocks hold every request
    }
    live.control.close()?; // before the hooks are detached, which takes long: who closes meanwhile is lost
    outcome.counts.duration_ns = ended_ns - outcome.started_ns;
    outcome.counts.traced_ns = outcome.counts.duration_ns;
    outcome.sampling.traced_ns = outcome.counts.traced_ns;
    outcome.sampling.duty = 1.0;
    steps.detach(watched);
    attached.detach(&mut steps);
    lives.detach(&mut steps);
    Ok(())
}

fn wait(
    live: &Live<'_, '_>,
    memory: &Memory,
    flows: &mut Flows,
    outcome: &mut Outcome,
) -> Result<(), Fault> {
    let end_ns = outcome.started_ns + live.options.duration_ns;
    let mut pace = Pace::new(live.options.ring_bytes);
    while Monotonic.now_ns() < end_ns {
        let pause = if flows.draw.is_some() { pace.pause().min(SALT) } else { pace.pause() };
        if !live.sleep_until(end_ns, pause, outcome) {
            break;
        }
        pace.came(live.look_into_ring()?);
        flows.turn(live, memory, outcome)?;
    }
    Ok(())
}

/// Which flows are in the sample, if it is one.
struct Flows {
    draw: Option<Draw>,
    salted_ns: u64,
    sliced_ns: u64,
}

impl Flows {
    fn new(live: &Live<'_, '_>, outcome: &mut Outcome) -> Self {
        let now_ns = Monotonic.now_ns();
        let draw = match live.options.how {
            How::Sample { one_in, seed } => {
                (outcome.sampling.one_in, outcome.sampling.seed) = (Some(one_in), Some(seed));
                Some(Draw::new(seed))
            }
            How::Windows { .. } | How::All => None,
        };
        Self { draw, salted_ns: now_ns, sliced_ns: now_ns }
    }

    fn salt(&mut self, live: &Live<'_, '_>) {
        if let Some(draw) = &mut self.draw {
            live.control.salt(draw.salt());
        }
    }

    /// Chooses others if it is time, and closes a slice.
    fn turn(
        &mut self,
        live: &Live<'_, '_>,
        memory: &Memory,
        outcome: &mut Outcome,
    ) -> Result<(), Fault> {
        let now_ns = Monotonic.now_ns();
        if now_ns >= self.salted_ns + SALT.as_nanos() as u64 {
            self.salt(live);
            self.salted_ns = now_ns;
        }
        let slice_ns = if self.draw.is_some() { SLICE_NS } else { SLICE_OF_ALL_NS };
        if now_ns >= self.sliced_ns + slice_ns {
            live.window_over(memory, now_ns - self.sliced_ns, outcome)?;
            self.sliced_ns = now_ns;
        }
        Ok(())
    }
}
