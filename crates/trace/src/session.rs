//! One trace: load, attach, wait, read, detach. The only part that talks to the kernel.
//!
//! Everything attached hangs on file descriptors of this process, so it goes when the process goes,
//! also by `kill -9`.

use std::cell::RefCell;
use std::io::Read as _;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{
    Iter, Link, MapCore as _, MapFlags, Object, ObjectBuilder, RingBuffer, RingBufferBuilder,
};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic, unix_ns};

use crate::counts::Counts;
use crate::culprit::keep::Keep;
use crate::culprit::result::{Asked, Blamed};
use crate::culprit::watch::Watch;
use crate::hooks::{Hook, READY_FENTRY, SAMPLER, TRACEPOINTS};
use crate::pace::Pace;
use crate::record::{Record, Worst};
use crate::result;
use crate::target::Target;
use crate::{bins, culprit, kernel, load, read};

const ANOTHER: &str =
    "another sojourn-trace was running: its cost is inside these numbers, and ours in its";
/// CPU samples a second; a prime, so that it keeps no step with anything periodic.
const SAMPLE_HZ: u64 = 997;

/// What is asked for: how long, and how much of each request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Length, ns.
    pub duration_ns: u64,
    /// Size of the ring, bytes.
    pub ring_bytes: u32,
    /// A record of every request.
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
}

/// Traces `target`; `begun` is called when counting has begun, `sink` gets every record in full mode.
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
    let stamps = kernel::receive_stamps();
    if let Err(error) = &stamps {
        outcome.warnings.push(format!("no receive stamps ({error}): rx counts as 0"));
    }
    let object = load::object(load::OBJECT, target, options, stamps.is_ok())?;
    let _stats = options.hook_cost.then(kernel::enable_bpf_stats);
    for pid in &target.pids {
        let map = load::map(&object, "tgids")?;
        map.update(&pid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
    }
    let attached = attach(&object, &mut outcome)?;
    let watch = options.blame.map(|_| Watch::begin(&load::map(&object, "tgids")?)).transpose()?;
    let taken = RefCell::new(Taken {
        worst: Worst::new(options.worst),
        keep: options.blame.map(Keep::new),
        sink,
        count: 0,
    });
    let ring = ring(&object, &taken)?;
    let floors_ns = taken.borrow_mut().floors_ns(options);
    watch.as_ref().map_or(Ok(()), |watch| watch.enable(true))?;
    outcome.started_unix_ns = unix_ns();
    outcome.started_ns = Monotonic.now_ns();
    control(&object, outcome.started_ns, 0, floors_ns)?;
    begun();
    wait(&object, target, options, stop, (&ring, watch.as_ref(), &taken), &mut outcome)?;
    watch.as_ref().map_or(Ok(()), |watch| watch.enable(false))?;
    if only.is_some_and(|only| kernel::was_joined(&only)) {
        outcome.warnings.push(ANOTHER.into());
    }
    drain(&object, &mut outcome)?;
    ring.consume().map_err(refused)?;
    drop(ring);
    read::counts(&object, &mut outcome.counts, outcome.started_ns)?;
    read::costs(&object, options.hook_cost, &mut outcome.hooks);
    let Taken { worst, keep, .. } = taken.into_inner();
    outcome.worst = worst.into_sorted();
    name_threads(&mut outcome);
    if let (Some(watch), Some(keep)) = (watch, keep) {
        outcome.hooks.extend(watch.hooks(options.hook_cost));
        outcome.blamed = Some(blame(watch, keep, &outcome)?);
    }
    drop((attached, stamps));
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

/// Dropping it detaches everything.
#[derive(Default)]
struct Attached {
    links: Vec<Link>,
    clocks: Vec<OwnedFd>,
}

fn attach(object: &Object, outcome: &mut Outcome) -> Result<Attached, Fault> {
    let mut attached = Attached::default();
    for hook in TRACEPOINTS.iter().chain([&READY_FENTRY]) {
        let Some(program) = load::program(object, hook.program) else {
            if hook.program != READY_FENTRY.program {
                note(outcome, hook, false);
            }
            continue;
        };
        if hook.program == "on_end" {
            note(outcome, hook, true); // run once, at the end
            continue;
        }
        match program.attach() {
            Ok(link) => {
                attached.links.push(link);
                note(outcome, hook, true);
            }
            Err(_) if !hook.lost.is_empty() => note(outcome, hook, false),
            Err(error) => return Err(refused(error).within(hook.point)),
        }
    }
    let clocks = kernel::cpu_clocks(kernel::cpus(), SAMPLE_HZ);
    if let (Some(program), Ok(clocks)) = (load::program(object, SAMPLER.program), clocks) {
        let links: Result<Vec<Link>, _> =
            clocks.iter().map(|clock| program.attach_perf_event(clock.as_raw_fd())).collect();
        note(outcome, &SAMPLER, links.is_ok());
        attached.links.extend(links.unwrap_or_default());
        attached.clocks = clocks;
    } else {
        note(outcome, &SAMPLER, false);
    }
    Ok(attached)
}

fn note(outcome: &mut Outcome, hook: &Hook, is_attached: bool) {
    outcome.hooks.push(result::Hook {
        name: hook.point.into(),
        attached: is_attached,
        lost: if is_attached { String::new() } else { hook.lost.into() },
        missed: 0,
        runs: None,
        run_ns: None,
    });
}

/// What user space tells the hooks: the kernel's `struct control`.
fn control(
    object: &Object,
    started_ns: u64,
    ended_ns: u64,
    (worst_ns, blame_ns): (u64, u64),
) -> Result<(), Fault> {
    let is_enabled = u64::from(ended_ns == 0);
    let offset_ns = kernel::real_minus_mono_ns() as u64;
    let words = [is_enabled, started_ns, offset_ns, worst_ns, ended_ns, blame_ns];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let map = load::map(object, ".data.control")?;
    map.update(&0_u32.to_ne_bytes(), &bytes, MapFlags::ANY).map_err(refused)
}

fn wait(
    object: &Object,
    target: &Target,
    options: Options,
    stop: &AtomicBool,
    (ring, watch, taken): (&RingBuffer, Option<&Watch>, &RefCell<Taken>),
    outcome: &mut Outcome,
) -> Result<(), Fault> {
    let started_ns = outcome.started_ns;
    let end_ns = started_ns + options.duration_ns;
    let floors_ns = || taken.borrow_mut().floors_ns(options);
    let mut told_ns = floors_ns();
    let mut pace = Pace::new(options.ring_bytes);
    loop {
        let now_ns = Monotonic.now_ns();
        outcome.was_interrupted = stop.load(Ordering::Relaxed);
        if now_ns >= end_ns || outcome.was_interrupted {
            break;
        }
        if !kernel::lives(target.pid) {
            outcome.failures.push(format!(
                "process {} ended after {:.1} s of {:.1} s",
                target.pid,
                (now_ns - started_ns) as f64 / 1e9,
                options.duration_ns as f64 / 1e9
            ));
            break;
        }
        std::thread::sleep(pace.pause().min(Duration::from_nanos(end_ns - now_ns)));
        ring.consume().map_err(refused)?;
        watch.map_or(Ok(()), Watch::consume)?;
        pace.came(std::mem::take(&mut taken.borrow_mut().count));
        if floors_ns() != told_ns {
            told_ns = floors_ns();
            control(object, started_ns, 0, told_ns)?;
        }
    }
    let ended_ns = Monotonic.now_ns();
    control(object, started_ns, ended_ns, floors_ns())?;
    outcome.counts.duration_ns = ended_ns - started_ns;
    Ok(())
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

/// Closes the exchanges still open, and lists the connections.
fn drain(object: &Object, outcome: &mut Outcome) -> Result<(), Fault> {
    let Some(program) = load::program(object, "on_end") else { return Ok(()) };
    let map = load::map(object, "conns")?;
    let link = program.attach_iter(map.as_fd()).map_err(refused)?;
    let mut bytes = Vec::new();
    let mut iter = Iter::new(&link).map_err(refused)?;
    iter.read_to_end(&mut bytes).map_err(|error| {
        Fault::failed(format!("cannot list connections: {error}"), "bpf_iter", "report it")
    })?;
    outcome.counts.connections = read::connections(&bytes);
    Ok(())
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
fn tid_of(tids: &[u32], slot: u32) -> u32 {
    tids.get((slot as usize).wrapping_sub(1)).copied().unwrap_or(0)
}

/// Joins the slowest requests with what was seen meanwhile.
fn blame(watch: Watch, keep: Keep, outcome: &Outcome) -> Result<Blamed, Fault> {
    let (counts, q) = (&outcome.counts, keep.quantile());
    // The edge of the quantile's bin, from which on the kernel's own count is exact.
    let bin = bins::TOTAL.quantile(&counts.totals, 0, q).map_or(0, |ns| bins::TOTAL.of(ns));
    let from_ns = bins::TOTAL.low(bin);
    let mut kept = keep.split(from_ns);
    let tids: Vec<u32> = counts.threads.iter().map(|thread| thread.tid).collect();
    for record in kept.tail.iter_mut().chain(&mut kept.body) {
        record.thread = tid_of(&tids, record.thread);
        record.writer = tid_of(&tids, record.writer);
    }
    let asked = Asked {
        q,
        from_ns,
        requests: counts.totals.iter().skip(bin).sum(),
        span: (outcome.started_ns, outcome.started_ns + counts.duration_ns),
        threads: &counts.threads,
    };
    Ok(culprit::result::blame(asked, &kept, &watch.end()?))
}

/// Refuses what this machine cannot do, before anything is loaded.
pub fn check_host() -> Result<(), Fault> {
    load::check_host()
}

/// Loads the object only, ours or one that another compiler made, and answers the verifier's cost of
/// every program.
pub fn verifier_costs(object: Option<&[u8]>) -> Result<Vec<(String, u32)>, Fault> {
    kernel::listen_to_libbpf();
    let options = Options { ring_bytes: 1 << 20, is_full: true, worst: 1, ..Options::default() };
    let bytes = object.unwrap_or(load::OBJECT);
    let object = load::object(bytes, &Target::default(), options, true)?;
    Ok(read::verifier_costs(&object))
}

/// Where an object file is opened into.
pub(crate) fn open(bytes: &[u8]) -> Result<libbpf_rs::OpenObject, libbpf_rs::Error> {
    ObjectBuilder::default().name("sojourn_trace")?.open_memory(bytes)
}
