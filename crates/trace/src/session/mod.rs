//! One trace: load, attach, wait, read, detach. The only part that talks to the kernel.
//!
//! Everything attached hangs on file descriptors of this process, so it goes when the process goes,
//! also by `kill -9`.

mod live;
mod pace;
mod read;
mod whole;
mod windowed;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{MapCore as _, MapFlags, Object};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic, unix_ns};

use crate::attach::control::Control;
use crate::attach::hooks::TRACEPOINTS;
use crate::attach::how::How;
pub use crate::attach::how::Options;
use crate::attach::kernel;
use crate::attach::kernel::refused;
use crate::attach::last::Last;
use crate::attach::links::{Attached, noted_iterators};
use crate::attach::load;
use crate::attach::netns;
use crate::attach::steps::Steps;
use crate::attach::target::Target;
use crate::culprit::keep::Keep;
use crate::culprit::watch::Watch;
use crate::reconstruct::counts::tid_of;
use crate::reconstruct::record::{Record, Worst};
use crate::session::live::{Live, Taken, ring};
pub use crate::session::live::{Outcome, Window};

const ANOTHER: &str =
    "another sojourn-trace was running: its cost is inside these numbers, and ours in its";
/// So that ^C is noticed soon.
const IDLE_SLEEP: Duration = Duration::from_millis(50);

/// To load the hooks, and to read what they counted, this thread goes last, for so long at most.
const LAST: Duration = Duration::from_millis(500);

/// Traces `target`; `begun` is called when the trace has begun, `sink` gets every record in full mode.
pub fn run(
    target: &Target,
    options: Options,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(),
    sink: &mut dyn FnMut(&Record),
) -> Result<Outcome, Fault> {
    run_with_windows(target, options, stop, begun, sink, &mut |_, _| Ok(()))
}

/// The same; `window` hears of each window as soon as it is over, and ends the trace by a fault.
///
/// # Errors
/// What the kernel refuses, and the fault of `window`.
pub fn run_with_windows<'a>(
    target: &Target,
    options: Options,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(),
    sink: &'a mut dyn FnMut(&Record),
    window: &'a mut Window<'a>,
) -> Result<Outcome, Fault> {
    kernel::listen_to_libbpf();
    let mut last = Last::at_most(LAST);
    traced(target, options, stop, &mut last, begun, (sink, window))
}

/// The same. `last`: this thread goes last now; it is empty during the trace, and full again at its end, beyond
/// that of the hooks.
fn traced<'a>(
    target: &Target,
    options: Options,
    stop: &AtomicBool,
    last: &mut Option<Last>,
    begun: &mut dyn FnMut(),
    (sink, window): (&'a mut dyn FnMut(&Record), &'a mut Window<'a>),
) -> Result<Outcome, Fault> {
    let mut outcome = Outcome::default();
    let only = kernel::only_tracer();
    outcome.warnings.extend(only.is_none().then(|| ANOTHER.into()));
    let has_stamps = has_stamps(options.how, &mut outcome.warnings);
    let (object, is_few) = load::object(load::OBJECT, target, options, has_stamps)?;
    outcome.is_few = is_few;
    read::check_sizes(&object)?;
    let _stats = options.hook_cost.then(kernel::enable_bpf_stats);
    let tgids = load::map(&object, "tgids")?;
    for pid in &target.pids {
        tgids.update(&pid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
    }
    let control = Control::new(&object, netns::of(Path::new("/proc"), &target.pids))?;
    outcome.hooks.extend(noted_iterators(control.iterators()));
    control.enrol()?;
    let watch = options.blame.map(|_| Watch::load(&tgids)).transpose()?;
    let taken = RefCell::new(Taken {
        worst: Worst::new(options.worst),
        keep: options.blame.map(Keep::new),
        sink,
        window,
        count: 0,
    });
    let live = Live {
        object: &object,
        target,
        options,
        stop,
        control,
        is_few,
        watch: watch.as_ref(),
        ring: ring(&object, &taken)?,
        taken: &taken,
    };
    live.tell_floors();
    *last = None;
    outcome.started_unix_ns = unix_ns();
    outcome.started_ns = Monotonic.now_ns();
    match options.how {
        How::Windows { cost, seed } => windowed::run(&live, (cost, seed), begun, &mut outcome)?,
        How::Sample { .. } | How::All => whole::run(&live, begun, &mut outcome)?,
    }
    *last = Last::at_most(LAST);
    if only.is_some_and(|only| kernel::was_joined(&only)) {
        outcome.warnings.push(ANOTHER.into());
    }
    outcome.counts.connections = read::connections(&live.control.list()?);
    live.look_into_ring()?;
    drop(live);
    read_counts(&object, options, &mut outcome)?;
    let Taken { worst, keep, .. } = taken.into_inner();
    outcome.worst = worst.into_sorted();
    name_threads(&mut outcome);
    if let (Some(watch), Some(keep)) = (watch, keep) {
        outcome.hooks.extend(watch.hooks(options.hook_cost));
        outcome.blamed = Some(watch.blame(keep, &outcome.counts, outcome.started_ns)?);
    }
    Ok(outcome)
}

/// Whether the kernel stamps received packets. Hooks ask for that while they are attached, and not between windows.
fn has_stamps(how: How, warnings: &mut Vec<String>) -> bool {
    if matches!(how, How::Sample { .. }) {
        return false;
    }
    let stamps = kernel::receive_stamps();
    if let Err(error) = &stamps {
        warnings.push(format!("no receive stamps ({error}): rx counts as 0"));
    }
    stamps.is_ok()
}

/// What the hooks counted, and what they cost.
fn read_counts(object: &Object, options: Options, outcome: &mut Outcome) -> Result<(), Fault> {
    read::counts(object, &mut outcome.counts)?;
    for (thread, ns) in outcome.counts.threads.iter_mut().zip(&outcome.still_ran) {
        thread.run_ns += ns;
    }
    read::costs(object, options.hook_cost, &mut outcome.hooks);
    Ok(())
}

fn name_threads(outcome: &mut Outcome) {
    let tids: Vec<u32> = outcome.counts.threads.iter().map(|thread| thread.tid).collect();
    for thread in &mut outcome.counts.threads {
        thread.comm =
            crate::attach::target::thread_name(Path::new("/proc"), thread.tgid, thread.tid);
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

/// Attaches what this way to trace needs, and enables nothing: every hook leaves at once. What is left of the
/// price then is that of being called, which no hook of the same shape can undercut. For benchmarks.
///
/// # Errors
/// What the kernel refuses.
pub fn idle(
    target: &Target,
    options: Options,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(),
) -> Result<(), Fault> {
    kernel::listen_to_libbpf();
    let (object, is_few) = load::object(load::OBJECT, target, options, false)?;
    let mut steps = Steps::default();
    let _attached = Attached::requests(&object, options.how, is_few, &mut steps)?;
    begun();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(IDLE_SLEEP);
    }
    Ok(())
}

/// Is given a hook's name, whether it is attached, and what attaches or detaches it.
pub type Around<'a> = dyn FnMut(&str, bool, &mut dyn FnMut()) + 'a;

/// Attaches and detaches every hook alone, each time inside `around`. For benchmarks.
///
/// # Errors
/// What the kernel refuses.
pub fn each_alone(target: &Target, options: Options, around: &mut Around<'_>) -> Result<(), Fault> {
    kernel::listen_to_libbpf();
    let (object, _) = load::object(load::OBJECT, target, options, false)?;
    for hook in &TRACEPOINTS {
        let Some(program) = load::program(&object, hook.program) else { continue };
        let mut link = None;
        around(hook.point, true, &mut || link = Some(program.attach()));
        let mut link = link.transpose().map_err(refused)?;
        around(hook.point, false, &mut || link = None);
    }
    Ok(())
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
    // The verifier goes through one way to trace at a time. Of each program the most counts.
    let sample = options(How::Sample { one_in: 2, seed: 0 });
    let mut costs = BTreeMap::new();
    for options in [options(How::All), sample, Options { all_stages: true, ..sample }] {
        let (object, _) = load::object(bytes, &Target::default(), options, true)?;
        read::check_sizes(&object)?;
        for (program, cost) in read::verifier_costs(&object) {
            let most = costs.entry(program).or_insert(0);
            *most = cost.max(*most);
        }
    }
    Ok(costs.into_iter().collect())
}
