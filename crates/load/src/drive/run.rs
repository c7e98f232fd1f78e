//! One run: plans drawn, sockets opened, threads started together, what they bring home collected.
//!
//! What can be refused is refused before a socket is opened; what the world refuses is found before
//! the first request is due.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::thread;

use socket2::Socket;
use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic, unix_ns};
use sojourn_base::cpus;
use sojourn_workload::arrivals;
use sojourn_workload::plan::Plan;

use crate::drive::long::{self, Border, Geometry, Lanes, keeper};
use crate::drive::measurement::Measurement;
use crate::drive::progress::{Progress, Running};
use crate::drive::turns::Turns;
use crate::drive::{self, Drive, Live, Setup, Times};
use crate::job::address::Address;
use crate::job::shards::Shards;
use crate::plan::begin;
use crate::plan::marks::{self, Marks, ThreadMeasurement};
use crate::plan::resolve::{Resolved, Wait};
use crate::plan::schedule;
use crate::protocols::sampled::Sampled;
use crate::protocols::server_notices::ServerNotices;
use crate::protocols::status_counts::StatusCounts;
use crate::protocols::{self, Protocol};
use crate::transports::hello::Greeting;
use crate::transports::{Ends, greeted, sockets, tls};
use crate::watch::cpu;
use crate::watch::cpu_time::Meter;
use crate::watch::sentinel::Sentinels;
use crate::watch::server_watch::ServerWatch;

/// A run that is ready: everything drawn, allocated and connected.
pub struct Ready {
    resolved: Resolved,
    protocol: Arc<dyn Protocol>,
    threads: Vec<(Plan, Vec<Socket>)>,
    /// What the probe client sends; the first thread does it.
    probe: Option<Plan>,
    /// The ring of each thread in a long run, whose plans are drawn later.
    ring: Option<Geometry>,
    /// Where connections lead, as [`Measurement`] has it.
    addresses: Vec<String>,
    /// Counts of each thread, for whoever shows progress.
    pub live: Vec<Arc<Live>>,
}

/// The protocol of a run, once all is refused that can be before a socket is opened: sizes, arrivals,
/// popularity. It is built once: files that it reads may be pipes.
pub fn check(resolved: &Resolved) -> Result<Arc<dyn Protocol>, Fault> {
    let job = &resolved.job;
    let protocol = protocols::build(job, &resolved.target)?;
    let timetable = schedule::timetable(job)?;
    long::check_length(job, &timetable)?;
    arrivals::parse(&job.arrivals, timetable.arrivals_rps())?;
    schedule::workload(job)?.choice()?;
    Ok(protocol)
}

/// Draws the plans and opens the sockets; `protocol`: that of `check`.
pub fn prepare(
    resolved: &Resolved,
    protocol: Arc<dyn Protocol>,
    stop: &Arc<AtomicBool>,
) -> Result<Ready, Fault> {
    let ring = long::geometry(&resolved.job, &schedule::timetable(&resolved.job)?);
    let plans = (0..resolved.job.threads)
        .map(|thread| match ring {
            Some(_) => Ok(Plan::default()),
            None => schedule::draw(&resolved.job, thread),
        })
        .collect::<Result<Vec<Plan>, Fault>>()?;
    let probes = resolved.job.probe_rate > 0.0;
    let probe = probes.then(|| schedule::draw_probe(&resolved.job)).transpose()?;
    let mut servers = match resolved.transport.kind.name {
        "null" => Vec::new(),
        _ => resolved.target.addresses()?,
    };
    let threads = plans
        .into_iter()
        .zip(0..)
        .map(|(plan, thread)| {
            let probes = u32::from(thread == 0 && probe.is_some());
            let count = resolved.connections_of(thread) + probes;
            let hello = on_sockets(resolved, protocol.as_ref());
            Ok((plan, connect(resolved, &mut servers, count, &hello)?))
        })
        .collect::<Result<Vec<_>, Fault>>()?;
    let live = threads.iter().map(|_| Arc::new(Live::new(Arc::clone(stop)))).collect();
    let addresses = servers.iter().flatten().map(Address::to_string).collect();
    Ok(Ready { resolved: resolved.clone(), protocol, threads, probe, ring, addresses, live })
}

/// What is sent first on plain sockets: over TLS the greeting follows the handshake.
fn on_sockets(resolved: &Resolved, protocol: &dyn Protocol) -> Greeting {
    if resolved.secure.is_some() { Greeting::default() } else { protocol.hello() }
}

fn connect(
    resolved: &Resolved,
    servers: &mut [Vec<Address>],
    count: u32,
    greeting: &Greeting,
) -> Result<Vec<Socket>, Fault> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    sockets::connect(servers, resolved.target.is_datagram(), &resolved.sources, count, greeting)
}

/// Runs all threads to the end, or until they are stopped. Whether the server was lost is for the
/// caller to say, who knows whether a signal ended the run.
pub fn run(ready: Ready, progress: &mut Progress) -> Result<Measurement, Fault> {
    let Ready { resolved, protocol, threads, mut probe, ring, addresses, live } = ready;
    let together = Together::new(threads.len());
    let (shown, looks) = (live.clone(), Arc::clone(&protocol));
    // A thread that spins sees its own outages; a second one on its CPU would only disturb it.
    let (over_ns, cpus) = (resolved.outage_over_ns, &resolved.instrument_cpus);
    let sentinels = [
        (!resolved.wait.is_busy())
            .then(|| Sentinels::start(&resolved.cpus, threads.len(), over_ns)),
        (!cpus.is_empty())
            .then(|| Sentinels::start_over_service(cpus, over_ns, resolved.job.server_pid)),
    ];
    // A synthetic service is part of the instrument: what stops it is an outage, not a disturbance.
    let watched = resolved.server_cpus.as_ref().filter(|_| resolved.instrument_cpus.is_empty());
    let server_watch = watched
        .filter(|_| resolved.job.server_pid > 0)
        .map(|cpus| ServerWatch::start(cpus, resolved.job.server_pid));
    let (are_done, busy) = (AtomicBool::new(false), resolved.cpus_in_use());
    let running = Running::new(threads.len());
    thread::scope(|scope| {
        let (are_done, busy, running) = (&are_done, &busy, &running);
        let (drives, ready_drives) = mpsc::channel();
        let handles: Vec<_> = threads
            .into_iter()
            .zip(live)
            .enumerate()
            .map(|(nth, ((plan, sockets), live))| {
                let (drives, resolved, together) = (drives.clone(), &resolved, &together);
                let (protocol, probe) = (Arc::clone(&protocol), probe.take());
                let ring = ring.map(|ring| (ring, Arc::new(Border::default())));
                let part = Part { nth, plan, ring, probe, sockets, protocol, live };
                scope.spawn(move || {
                    let _ends = running.one();
                    run_thread(part, resolved, together, &drives)
                })
            })
            .collect();
        drop(drives);
        let logs = sentinels.iter().flatten().flat_map(Sentinels::logs).cloned().collect();
        let ready = ready_drives.iter().take(handles.len()).collect::<Result<Vec<_>, Fault>>();
        let ready = ready.and_then(|rings| keeper(&resolved.job, rings, logs));
        let stop = &shown[0].stop;
        let ready = ready.and_then(|it| Ok((it, begin::wait(resolved.job.start_at, stop)?)));
        let client_cpus = Meter::start(&resolved.cpus);
        let server_cpus = resolved.server_cpus.as_deref().map(Meter::start);
        together.start(ready.as_ref().ok().map(|(_, start_ns)| *start_ns));
        let (keeper, start_ns) = ready?;
        let started_unix_ns = unix_ns() + start_ns.saturating_sub(Monotonic.now_ns());
        let keeping = keeper.map(|keeper| {
            scope.spawn(move || {
                cpu::keep_off(busy);
                keeper.run(start_ns, are_done)
            })
        });
        progress.follow(&shown, (resolved.warmup_ns, resolved.load_ns()), running);
        let runs: Vec<ThreadMeasurement> =
            handles.into_iter().filter_map(|handle| handle.join().ok().flatten()).collect();
        are_done.store(true, Relaxed);
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

fn keeper_died() -> Fault {
    let what = "the thread that summarises the run has died";
    Fault::failed(what, "run", "a defect of this program: please report it")
}

/// When the measured part ended, ns after the start of the warm-up.
fn measured_to(runs: &[ThreadMeasurement], planned_ns: u64) -> u64 {
    runs.iter().filter_map(|run| run.stopped_ns).fold(planned_ns, u64::min)
}

/// Where all threads wait for the time at which the warm-up starts.
struct Together {
    barrier: Barrier,
    start_ns: std::sync::Mutex<Option<u64>>,
}

impl Together {
    fn new(threads: usize) -> Self {
        Self { barrier: Barrier::new(threads + 1), start_ns: std::sync::Mutex::new(None) }
    }

    fn start(&self, start_ns: Option<u64>) {
        *self.start_ns.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = start_ns;
        self.barrier.wait();
    }

    /// The start, or `None` if there will be no run.
    fn wait(&self) -> Option<u64> {
        self.barrier.wait();
        *self.start_ns.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What one thread is given.
struct Part {
    nth: usize,
    plan: Plan,
    ring: Option<(Geometry, Arc<Border>)>,
    probe: Option<Plan>,
    sockets: Vec<Socket>,
    protocol: Arc<dyn Protocol>,
    live: Arc<Live>,
}

fn run_thread(
    part: Part,
    resolved: &Resolved,
    together: &Together,
    drives: &mpsc::Sender<Result<(usize, Option<Lanes>), Fault>>,
) -> Option<ThreadMeasurement> {
    let (nth, ring) = (part.nth, part.ring.clone());
    let prepared = set_up(part, resolved).map(Drive::new);
    let ready = prepared.as_ref().map_err(Clone::clone).map(|drive| {
        let lanes = ring.map(|(ring, border)| {
            // SAFETY: `Ring` touches what the border gives to the keeper, and no more.
            let (plan, marks) = unsafe { drive.ring() };
            Lanes { ring, border, plan, marks }
        });
        (nth, lanes)
    });
    drives.send(ready).ok()?;
    let start_ns = together.wait()?;
    let drive = prepared.ok()?;
    if resolved.job.find_max {
        return Some(drive::run_closed(drive, start_ns));
    }
    Some(drive::run_open(drive, start_ns))
}

/// Where the first sockets lead, which is where a lost connection is opened again. The path of a unix
/// socket is the target's: the kernel only knows what the server has bound.
fn servers(resolved: &Resolved, first: &[Socket]) -> Result<Vec<Address>, Fault> {
    if resolved.target.is_unix() {
        return Ok(resolved.target.addresses()?.into_iter().flatten().collect());
    }
    let peer = |one: &Socket| one.peer_addr().ok()?.as_socket().map(Address::Ip);
    Ok(first.iter().filter_map(peer).collect())
}

fn set_up(part: Part, resolved: &Resolved) -> Result<Setup, Fault> {
    let Part { nth, plan, ring, probe, sockets, protocol, live } = part;
    if !resolved.cpus.is_empty() {
        cpu::pin(resolved.cpus[nth % resolved.cpus.len()])?;
    }
    if !resolved.wait.is_busy() {
        cpu::wake_exactly();
    }
    if resolved.wait != Wait::Spin {
        cpus::take_short_turns(0);
    }
    let turns = match resolved.job.turns.as_str() {
        "" => None,
        path => Some(Turns::open(Path::new(path), resolved.cpus[nth % resolved.cpus.len()])?),
    };
    let connections = resolved.connections_of(nth as u32);
    let datagrams = resolved.target.is_datagram();
    let shards = Shards::new(resolved.target.servers(), resolved.job.items);
    let addresses = servers(resolved, &sockets[..sockets.len().min(shards.count() as usize)])?;
    let is_known = addresses.len() == shards.count() as usize;
    let ends = Ends {
        addresses: if is_known { addresses } else { vec![Address::Ip(([127, 0, 0, 1], 0).into())] },
        sources: resolved.sources.clone(),
        sockets,
        connections: connections + u32::from(probe.is_some()),
        datagrams,
        request_bytes_max: protocol.request_bytes_max(),
        depth: resolved.job.depth,
        says_more: protocol.interleaves(),
        greeting: on_sockets(resolved, protocol.as_ref()),
    };
    let count = ends.connections;
    let mut transport = match &resolved.secure {
        Some(secure) => {
            let place = resolved.target.place();
            let secured = tls::open(resolved.transport, ends, secure, &place)?;
            greeted::open(secured, count, protocol.hello(), &place)?
        }
        None => (resolved.transport.open)(ends)?,
    };
    let mut decoders = Vec::new();
    if protocol.interleaves() {
        decoders = (0..count).map(|_| protocol.decoder()).collect();
        drive::streams::open(transport.as_mut(), &mut decoders, &resolved.target)?;
    }
    let plan = ring.as_ref().map_or(plan, |(ring, _)| marks::room_for_plan(ring.capacity));
    Ok(Setup {
        marks: Marks::for_requests(plan.intended_ns.len()),
        plan,
        ring,
        probe,
        transport,
        protocol,
        decoders,
        shards,
        connections,
        depth: resolved.job.depth,
        times: Times {
            start_ns: 0,
            measured_ns: resolved.warmup_ns,
            end_ns: resolved.load_ns(),
            drain_ns: resolved.drain_ns,
        },
        wait: resolved.wait,
        turns,
        doze_ns: resolved.doze_ns,
        timeout_ns: resolved.timeout_ns,
        datagrams,
        outage_over_ns: resolved.outage_over_ns,
        is_apart: resolved.is_apart(),
        live,
    })
}
