//! One trace: load, attach, wait, read, detach. The only part that talks to the kernel.
//!
//! Everything attached hangs on file descriptors of this process, so it goes when the process goes,
//! also by `kill -9`.

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{MapCore as _, MapFlags, Object, ObjectBuilder, RingBuffer, RingBufferBuilder};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic, unix_ns};

use crate::attach::noted_iterators;
use crate::control::Control;
use crate::counts::Counts;
use crate::culprit::keep::Keep;
use crate::culprit::result::Blamed;
use crate::culprit::watch::Watch;
use crate::how::How;
use crate::record::{Record, Worst};
use crate::result;
use crate::target::Target;
use crate::window::clusters::Clusters;
use crate::window::estimate::Estimate;
use crate::window::{self, Sampling};
use crate::{kernel, load, read, whole};

const ANOTHER: &str =
    "another sojourn-trace was running: its cost is inside these numbers, and ours in its";
/// So that the end of the server and ^C are noticed soon.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// What is asked for: how long, and how much of each request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Length, ns.
    pub duration_ns: u64,
    /// Which requests.
    pub how: How,
    /// Size of the ring, bytes.
    pub ring_bytes: u32,
    /// A record of every request that is traced.
    pub is_full: bool,
    /// Slowest requests to keep.
    pub worst: usize,
    /// Let the kernel measure the hooks.
    pub hook_cost: bool,
    /// Name who made the requests from this quantile on slow.
    pub blame: Option<f64>,
}

/// What a session saw, from attaching to detaching.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What the kernel counted.
    pub counts: Counts,
    /// The slowest requests, slowest first.
    pub worst: Vec<Record>,
    /// What was attached.
    pub hooks: Vec<result::Hook>,
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
    /// CPU time per TCP segment in windows ÷ between them.
    pub cpu_ratio: Option<Estimate>,
    /// What threads that were on their CPU at a window's end had run since they came there, ns, by slot
    /// from 1 on: the hooks add a run when it ends.
    pub(crate) still_ran: Vec<u64>,
}

/// Traces `target`; `begun` is called when the trace has begun, `sink` gets every record in full mode.
pub fn run(
    target: &Target,
    options: Options,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(),
    sink: &mut dyn FnMut(&Record),
) -> Result<Outcome, Fault> {
    kernel::listen_to_libbpf();
    let mut outcome = Outcome::default();
    let only = kernel::only_tracer();
    if only.is_none() {
        outcome.warnings.push(ANOTHER.into());
    }
    let wants_stamps = !matches!(options.how, How::Sample { .. });
    let stamps = wants_stamps.then(kernel::receive_stamps);
    if let Some(Err(error)) = &stamps {
        outcome.warnings.push(format!("no receive stamps ({error}): rx counts as 0"));
    }
    let has_stamps = matches!(stamps, Some(Ok(_)));
    drop(stamps); // hooks ask for them while they are attached, and not between windows
    let object = load::object(load::OBJECT, target, options, has_stamps)?;
    let _stats = options.hook_cost.then(kernel::enable_bpf_stats);
    for pid in &target.pids {
        let map = load::map(&object, "tgids")?;
        map.update(&pid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
    }
    let control = Control::new(&object)?;
    outcome.hooks.extend(noted_iterators(control.iterators()));
    control.enrol()?;
    let watch = options.blame.map(|_| Watch::begin(&load::map(&object, "tgids")?)).transpose()?;
    let taken = RefCell::new(Taken {
        worst: Worst::new(options.worst),
        keep: options.blame.map(Keep::new),
        sink,
        count: 0,
    });
    let live = Live {
        object: &object,
        target,
        options,
        stop,
        control,
        watch: watch.as_ref(),
        ring: ring(&object, &taken)?,
        taken: &taken,
    };
    live.tell_floors();
    live.watch(true)?;
    outcome.started_unix_ns = unix_ns();
    outcome.started_ns = Monotonic.now_ns();
    match options.how {
        How::Windows { cost, seed } => window::run::run(&live, (cost, seed), begun, &mut outcome)?,
        How::Sample { .. } | How::All => whole::run(&live, begun, &mut outcome)?,
    }
    live.watch(false)?;
    if only.is_some_and(|only| kernel::was_joined(&only)) {
        outcome.warnings.push(ANOTHER.into());
    }
    outcome.counts.connections = read::connections(&live.control.list()?);
    live.look_into_ring()?;
    drop(live);
    read::counts(&object, &mut outcome.counts)?;
    for (thread, ns) in outcome.counts.threads.iter_mut().zip(&outcome.still_ran) {
        thread.run_ns += ns;
    }
    read::costs(&object, options.hook_cost, &mut outcome.hooks);
    let Taken { worst, keep, .. } = taken.into_inner();
    outcome.worst = worst.into_sorted();
    name_threads(&mut outcome);
    if let (Some(watch), Some(keep)) = (watch, keep) {
        outcome.hooks.extend(watch.hooks(options.hook_cost));
        outcome.blamed = Some(watch.blame(keep, &outcome.counts, outcome.started_ns)?);
    }
    Ok(outcome)
}

/// A refusal by the kernel in the middle of things.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(crate) fn refused(error: libbpf_rs::Error) -> Fault {
    Fault::failed(
        format!("the kernel refused: {error:#}"),
        "bpf()",
        "see dmesg; report it with the kernel's version",
    )
}

/// A trace that is loaded and may begin.
pub(crate) struct Live<'a, 's> {
    pub object: &'a Object,
    pub target: &'a Target,
    pub options: Options,
    stop: &'a AtomicBool,
    pub control: Control,
    watch: Option<&'a Watch>,
    ring: RingBuffer<'a>,
    taken: &'a RefCell<Taken<'s>>,
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
    fn tell_floors(&self) {
        self.control.want(self.taken.borrow_mut().floors_ns(self.options));
    }

    /// Begins or ends the look at what ran and waited, if that is asked for.
    fn watch(&self, is_on: bool) -> Result<(), Fault> {
        self.watch.map_or(Ok(()), |watch| watch.enable(is_on))
    }

    /// Sleeps until then, for some time at most; false if the trace is to end now.
    pub fn sleep_until(&self, until_ns: u64, longest: Duration, outcome: &mut Outcome) -> bool {
        outcome.was_interrupted = self.stop.load(Ordering::Relaxed);
        if outcome.was_interrupted || !outcome.failures.is_empty() {
            return false;
        }
        if !kernel::lives(self.target.pid) {
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

/// What comes out of the ring, and where it goes.
struct Taken<'a> {
    worst: Worst,
    keep: Option<Keep>,
    sink: &'a mut dyn FnMut(&Record),
    /// Records since this was last set to 0.
    count: u64,
}

impl Taken<'_> {
    /// Totals that are wanted: for the worst list, and to be looked into; 0: none.
    fn floors_ns(&mut self, options: Options) -> (u64, u64) {
        let worst_ns = if options.worst == 0 { 0 } else { self.worst.floor_ns() };
        (worst_ns, self.keep.as_mut().map_or(0, Keep::floor_ns))
    }
}

/// The ring, mapped once: to map 16 MiB anew at every look takes 0.1 ms of somebody's CPU.
fn ring<'a>(object: &Object, taken: &'a RefCell<Taken>) -> Result<RingBuffer<'a>, Fault> {
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

fn name_threads(outcome: &mut Outcome) {
    let tids: Vec<u32> = outcome.counts.threads.iter().map(|thread| thread.tid).collect();
    for thread in &mut outcome.counts.threads {
        thread.comm = crate::target::thread_name(Path::new("/proc"), thread.tgid, thread.tid);
    }
    let tid = |slot| tid_of(&tids, slot);
    for connection in &mut outcome.counts.connections {
        connection.tid = tid(connection.tid);
    }
    for record in &mut outcome.worst {
        record.thread = tid(record.thread);
        record.writer = tid(record.writer);
    }
}

/// Slots become thread ids: slot 1 is the first.
pub(crate) fn tid_of(tids: &[u32], slot: u32) -> u32 {
    tids.get((slot as usize).wrapping_sub(1)).copied().unwrap_or(0)
}

/// Refuses what this machine cannot do, before anything is loaded.
pub fn check_host() -> Result<(), Fault> {
    load::check_host()
}

/// Loads the object only, ours or one that another compiler made, and answers the verifier's cost of
/// every program.
pub fn verifier_costs(object: Option<&[u8]>) -> Result<Vec<(String, u32)>, Fault> {
    kernel::listen_to_libbpf();
    let options =
        |how| Options { how, ring_bytes: 1 << 20, is_full: true, worst: 1, ..Options::default() };
    let bytes = object.unwrap_or(load::OBJECT);
    // The verifier goes through one way to trace at a time; a sample has more code than the others.
    drop(load::object(bytes, &Target::default(), options(How::All), true)?);
    let sample = options(How::Sample { one_in: 2, seed: 0 });
    let object = load::object(bytes, &Target::default(), sample, true)?;
    Ok(read::verifier_costs(&object))
}

/// Where an object file is opened into.
pub(crate) fn open(bytes: &[u8]) -> Result<libbpf_rs::OpenObject, libbpf_rs::Error> {
    ObjectBuilder::default().name("sojourn_trace")?.open_memory(bytes)
}
