//! A trace that is loaded: what it is asked, what comes out of it, and what it has seen.
//!
//! [`crate::session`] makes one and hands it to the way to trace: [`crate::session::windowed`] or
//! [`crate::session::whole`].

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{Link, Object, RingBuffer, RingBufferBuilder};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic};
use sojourn_base::process;

use crate::attach::control::Control;
use crate::attach::how::Options;
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::steps::Steps;
use crate::attach::target::Target;
use crate::culprit::keep::Keep;
use crate::culprit::result::Blamed;
use crate::culprit::watch::Watch;
use crate::reconstruct::counts::Counts;
use crate::reconstruct::parts::Hook;
use crate::reconstruct::record::{Record, Worst};
use crate::reconstruct::window::Sampling;
use crate::reconstruct::window::clusters::Clusters;
use crate::reconstruct::window::estimate::Estimate;
use crate::reconstruct::window::stalls::Stalls;
use crate::session::read::Memory;

/// So that the end of the server and ^C are noticed soon.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// What a session saw, from attaching to detaching.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the kernel counted.
    pub counts: Counts,
    /// The slowest requests, slowest first.
    pub worst: Vec<Record>,
    /// What was attached.
    pub hooks: Vec<Hook>,
    /// Things the reader should know.
    pub warnings: Vec<String>,
    /// Why the result must not be believed.
    pub failures: Vec<String>,
    /// Start, ns since the Unix epoch.
    pub started_unix_ns: u64,
    /// Start, `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// A signal ended it.
    pub was_interrupted: bool,
    /// Who made the slowest requests slow, if that was asked.
    pub blamed: Option<Blamed>,
    /// Which requests were traced.
    pub sampling: Sampling,
    /// What came in each window; empty where all requests were traced.
    pub clusters: Clusters,
    /// System calls had no hook: some stages were not distinguished.
    pub is_few: bool,
    /// CPU time per TCP segment in windows ÷ between them.
    pub cpu_ratio: Option<Estimate>,
    /// What held up a CPU when windows came and went.
    pub stalls: Stalls,
    /// Time in which hooks looked at requests, in windows, ns.
    pub enabled_ns: u64,
    /// What threads that were on their CPU at a window's end had run since they came there, ns, by slot
    /// from 1 on: the hooks add a run when it ends.
    pub(crate) still_ran: Vec<u64>,
}

/// A trace that is loaded and may begin.
pub(crate) struct Live<'a, 's> {
    pub object: &'a Object,
    pub target: &'a Target,
    pub options: Options,
    pub stop: &'a AtomicBool,
    pub control: Control,
    pub is_few: bool,
    pub watch: Option<&'a Watch>,
    pub ring: RingBuffer<'a>,
    pub taken: &'a RefCell<Taken<'s>>,
}

impl Live<'_, '_> {
    /// Takes what is in the ring; how many records that were.
    pub fn look_into_ring(&self) -> Result<u64, Fault> {
        self.ring.consume().map_err(refused)?;
        self.watch.map_or(Ok(()), Watch::consume)?;
        let came = std::mem::take(&mut self.taken.borrow_mut().count);
        self.tell_floors();
        Ok(came)
    }

    /// Tells the hooks which totals are wanted.
    pub fn tell_floors(&self) {
        self.control.want(self.taken.borrow_mut().floors_ns(self.options));
    }

    /// A window is over: whoever wanted to know it hears of it, and it is added to those before.
    pub fn window_over(
        &self,
        memory: &Memory,
        length_ns: u64,
        outcome: &mut Outcome,
    ) -> Result<(), Fault> {
        let now = memory.snapshot();
        let totals = outcome.clusters.totals_since(&now);
        outcome.clusters.add(now);
        (self.taken.borrow_mut().window)(length_ns, &totals)
    }

    /// Begins the look at what ran and waited, if that is asked for; it ends with `unwatch`, and then
    /// the answer may be dropped.
    pub fn watch(&self, steps: &mut Steps) -> Result<Vec<Link>, Fault> {
        self.watch.map_or(Ok(Vec::new()), |watch| watch.attach(steps))
    }

    /// What ran and waited is looked at no more.
    pub fn unwatch(&self) {
        self.watch.inspect(|watch| watch.disable());
    }

    /// Sleeps until then, for some time at most; false if the trace is to end now.
    pub fn sleep_until(&self, until_ns: u64, longest: Duration, outcome: &mut Outcome) -> bool {
        outcome.was_interrupted = self.stop.load(Ordering::Relaxed);
        if outcome.was_interrupted || !outcome.failures.is_empty() {
            return false;
        }
        if !process::lives(Path::new("/proc"), self.target.pid) {
            outcome.failures.push(format!(
                "process {} ended after {:.1} s of {:.1} s",
                self.target.pid,
                (Monotonic.now_ns() - outcome.started_ns) as f64 / 1e9,
                self.options.duration_ns as f64 / 1e9
            ));
            return false;
        }
        let left = Duration::from_nanos(until_ns.saturating_sub(Monotonic.now_ns()));
        std::thread::sleep(left.min(longest).min(LONGEST_SLEEP));
        true
    }
}

/// Is given the length of a window that is over, ns, and its requests by bin of the totals.
pub type Window<'a> = dyn FnMut(u64, &[u64]) -> Result<(), Fault> + 'a;

/// What comes out of the ring, and where it goes.
pub(crate) struct Taken<'a> {
    pub worst: Worst,
    pub keep: Option<Keep>,
    pub sink: &'a mut dyn FnMut(&Record),
    pub window: &'a mut Window<'a>,
    /// Records since this was last set to 0.
    pub count: u64,
}

impl Taken<'_> {
    /// Totals that are wanted: for the worst list, and to be looked into; 0: none.
    fn floors_ns(&mut self, options: Options) -> (u64, u64) {
        let worst_ns = if options.worst == 0 { 0 } else { self.worst.floor_ns() };
        (worst_ns, self.keep.as_mut().map_or(0, Keep::floor_ns))
    }
}

/// The ring, mapped once: to map 16 MiB anew at every look takes 0.1 ms of somebody's CPU.
pub(crate) fn ring<'a>(
    object: &Object,
    taken: &'a RefCell<Taken>,
) -> Result<RingBuffer<'a>, Fault> {
    let take = |bytes: &[u8]| {
        if let Some(record) = Record::decode(bytes) {
            let taken = &mut *taken.borrow_mut();
            taken.count += 1;
            taken.worst.offer(&record);
            if let Some(keep) = &mut taken.keep {
                keep.offer(&record);
            }
            if record.is_full {
                (taken.sink)(&record);
            }
        }
        0
    };
    let map = load::map(object, "ring")?;
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, take).map_err(refused)?;
    builder.build().map_err(refused)
}
