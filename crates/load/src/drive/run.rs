//! One run: threads started together, what they bring home collected.
//!
//! What the world refuses is found before the first request is due.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;

use sojourn_base::clock::{Clock, Monotonic, unix_ns};
use sojourn_base::scrape::{Listener, Stopper};
use sojourn_base::{Fault, threads};

use crate::drive::Live;
use crate::drive::long::{Keeper, keeper};
use crate::drive::measurement::Measurement;
use crate::drive::part::{Part, Together, run_thread};
use crate::drive::progress::{self, Progress};
use crate::drive::ready::Ready;
use crate::drive::running::Running;
use crate::metrics::{self, Buckets};
use crate::plan::begin;
use crate::plan::marks::ThreadMeasurement;
use crate::plan::resolve::Resolved;
use crate::protocols::sampled::Sampled;
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::status_counts::StatusCounts;
use crate::watch::cpu;
use crate::watch::cpu_time::Meter;
use crate::watch::sentinel::Sentinels;
use crate::watch::server_watch::ServerWatch;

/// Runs all threads to the end, or until they are stopped. Whether the server was lost is for the
/// caller to say, who knows whether a signal ended the run.
pub fn run(ready: Ready, progress: &mut Progress) -> Result<Measurement, Fault> {
    let Ready { resolved, protocol, threads, probe, ring, addresses, live } = ready;
    let together = Together::default();
    let (shown, looks) = (live.clone(), Arc::clone(&protocol));
    let sentinels = start_sentinels(&resolved, threads.len())?;
    let server_watch = watch_server(&resolved)?;
    let (are_done, busy) = (AtomicBool::new(false), resolved.cpus_in_use());
    let running = Running::new(threads.len());
    let listener = counted_for(progress.listener(), &live);
    let parts = Part::each(threads, live, ring, probe, &protocol);
    thread::scope(|scope| {
        let (are_done, busy, running) = (&are_done, &busy, &running);
        let (drives, ready_drives) = mpsc::channel();
        let (resolved, together) = (&resolved, &together);
        let handles = each_started(parts, |part| {
            let drives = drives.clone();
            threads::start_in(scope, move || {
                let _ends = running.one();
                run_thread(part, resolved, together, &drives)
            })
        });
        let handles = handles.inspect_err(|_| together.start(None))?;
        drop(drives);
        let logs = sentinels.iter().flatten().flat_map(Sentinels::logs).cloned().collect();
        let ready = ready_drives.iter().take(handles.len()).collect::<Result<Vec<_>, Fault>>();
        let ready = ready.and_then(|rings| keeper(&resolved.job, rings, logs));
        let stop = &shown[0].stop;
        let ready = ready.and_then(|it| Ok((it, begin::wait(resolved.job.start_at, stop)?)));
        let client_cpus = Meter::start(&resolved.cpus);
        let server_cpus = meter_server(resolved);
        together.start(ready.as_ref().ok().map(|(_, start_ns)| *start_ns));
        let (keeper, start_ns) = ready?;
        let halt = |_: &Fault| stop.store(true, Relaxed);
        let listening = listener.map(|listener| serve(scope, listener, &shown, busy));
        let listening = listening.transpose().inspect_err(halt)?;
        let started_unix_ns = unix_ns() + start_ns - Monotonic.now_ns(); // it may be past by now
        let keeping = keeper.map(|keeper| keep(scope, keeper, (start_ns, busy), are_done));
        let keeping = keeping.transpose().inspect_err(halt)?;
        progress.follow(&shown, (resolved.warmup_ns, resolved.load_ns()), running);
        let runs: Vec<ThreadMeasurement> =
            handles.into_iter().filter_map(|handle| handle.join().ok().flatten()).collect();
        are_done.store(true, Relaxed);
        drop(listening);
        let retained =
            keeping.map(|keeping| keeping.join().map_err(|_| keeper_died())).transpose()?;
        let sentinels = sentinels.into_iter().flatten().flat_map(|s| s.stop(start_ns)).collect();
        let to_ns = measured_to(&runs, resolved.load_ns());
        let long = retained.map(|keeper| keeper.finish(&runs, to_ns)).transpose()?;
        Ok(Measurement {
            job: resolved.job.clone(),
            threads: runs,
            long,
            sentinels,
            client_cpus: client_cpus.shares(),
            server_cpus: server_cpus.and_then(|meter| meter.shares()),
            server_seen: server_watch.map(|watch| watch.stop(start_ns)),
            started_unix_ns: started_unix_ns + resolved.warmup_ns,
            start_ns,
            are_syscalls_counted: true,
            was_lost: false,
            addresses,
            looked: looks.sampled().map(Sampled::look),
            notices: looks.notices().map(ServerNotices::collected),
            statuses: looks.statuses().map(StatusCounts::counts).unwrap_or_default(),
        })
    })
}

/// The threads of all `parts`, or why one could not be started.
fn each_started<T>(
    parts: Vec<Part>,
    start: impl FnMut(Part) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    parts.into_iter().map(start).collect()
}

/// The listener; if there is one, the threads count for it.
fn counted_for(listener: Option<Listener>, live: &[Arc<Live>]) -> Option<Listener> {
    if listener.is_some() {
        for live in live {
            let _ = live.times.set(Buckets::default()); // of each run once
        }
    }
    listener
}

/// Answers Prometheus on other CPUs than the load's, if there are any, until what it returns is dropped.
fn serve<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    listener: Listener,
    shown: &'scope [Arc<Live>],
    busy: &'scope [usize],
) -> Result<Option<Stopper>, Fault> {
    let Some(stopper) = listener.stopper() else { return Ok(None) };
    threads::start_in(scope, move || {
        cpu::keep_off(busy);
        listener.serve(|head| metrics::answer(head, &progress::seen(shown)));
    })?;
    Ok(Some(stopper))
}

/// Lets the keeper of a long run work until `is_over`, on other CPUs than the load's, if there are any.
fn keep<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    keeper: Keeper,
    (start_ns, busy): (u64, &'scope [usize]),
    is_over: &'scope AtomicBool,
) -> Result<thread::ScopedJoinHandle<'scope, Keeper>, Fault> {
    threads::start_in(scope, move || {
        cpu::keep_off(busy);
        keeper.run(start_ns, is_over)
    })
}

/// Who sees what stops the instrument: its threads that sleep, and the CPUs of a synthetic service.
fn start_sentinels(resolved: &Resolved, threads: usize) -> Result<[Option<Sentinels>; 2], Fault> {
    // A thread that spins sees its own outages; a second one on its CPU would only disturb it.
    let (over_ns, cpus) = (resolved.outage_over_ns, &resolved.instrument_cpus);
    let own =
        (!resolved.wait.is_busy()).then(|| Sentinels::start(&resolved.cpus, threads, over_ns));
    let over_service = (!cpus.is_empty())
        .then(|| Sentinels::start_over_service(cpus, over_ns, resolved.job.server_pid));
    Ok([own.transpose()?, over_service.transpose()?])
}

/// What the server's CPUs do, its own part of their time apart if its process is known.
fn meter_server(resolved: &Resolved) -> Option<Meter> {
    let cpus = resolved.server_cpus.as_deref()?;
    Some(Meter::start(cpus).with_server(resolved.job.server_pid))
}

/// Who sees what stops the server, if its CPUs and its process are known.
fn watch_server(resolved: &Resolved) -> Result<Option<ServerWatch>, Fault> {
    // A synthetic service is part of the instrument: what stops it is an outage, not a disturbance.
    let watched = resolved.server_cpus.as_ref().filter(|_| resolved.instrument_cpus.is_empty());
    watched
        .filter(|_| resolved.job.server_pid > 0)
        .map(|cpus| ServerWatch::start(cpus, resolved.job.server_pid))
        .transpose()
}

fn keeper_died() -> Fault {
    let what = "the thread that summarises the run has died";
    Fault::failed(what, "run", "a defect of this program: please report it")
}

/// When the measured part ended, ns after the start of the warm-up.
fn measured_to(runs: &[ThreadMeasurement], planned_ns: u64) -> u64 {
    runs.iter().filter_map(|run| run.stopped_ns).fold(planned_ns, u64::min)
}
