//! One thread of a run: set up before the start, for which all wait together, then run to the end.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};

use socket2::Socket;
use sojourn_base::{Fault, cpus};
use sojourn_workload::plan::Plan;

use crate::drive::long::{Border, Geometry, Lanes};
use crate::drive::ready::{files_needed, on_sockets};
use crate::drive::turns::Turns;
use crate::drive::{self, Drive, Live, Setup, Times};
use crate::job::address::Address;
use crate::job::shards::Shards;
use crate::plan::marks::{self, Marks, ThreadMeasurement};
use crate::plan::resolve::{Resolved, Wait};
use crate::protocols::Protocol;
use crate::transports::sockets::files;
use crate::transports::{Ends, Transport, greeted, sockets, tls};
use crate::watch::cpu;

/// What is known of the start.
#[derive(Clone, Copy, Default)]
enum Decision {
    #[default]
    Open,
    At(u64),
    NoRun,
}

/// Where all threads wait for the time at which the warm-up starts. That they are all there is known otherwise: it
/// lets those go that have begun to wait where others could not be started.
#[derive(Default)]
pub(super) struct Together {
    decided: Mutex<Decision>,
    changed: Condvar,
}

impl Together {
    pub(super) fn start(&self, start_ns: Option<u64>) {
        *self.decided.lock().unwrap_or_else(PoisonError::into_inner) =
            start_ns.map_or(Decision::NoRun, Decision::At);
        self.changed.notify_all();
    }

    /// The start, or `None` if there will be no run.
    fn wait(&self) -> Option<u64> {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *decided {
                Decision::At(start_ns) => return Some(start_ns),
                Decision::NoRun => return None,
                Decision::Open => {
                    decided = self.changed.wait(decided).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// What one thread is given.
pub(super) struct Part {
    nth: usize,
    plan: Plan,
    ring: Option<(Geometry, Arc<Border>)>,
    probe: Option<Plan>,
    sockets: Vec<Socket>,
    protocol: Arc<dyn Protocol>,
    live: Arc<Live>,
}

impl Part {
    /// What each thread is given: the probe goes to the first.
    pub(super) fn each(
        threads: Vec<(Plan, Vec<Socket>)>,
        live: Vec<Arc<Live>>,
        ring: Option<Geometry>,
        mut probe: Option<Plan>,
        protocol: &Arc<dyn Protocol>,
    ) -> Vec<Self> {
        let threads = threads.into_iter().zip(live).enumerate();
        threads
            .map(|(nth, ((plan, sockets), live))| {
                let ring = ring.map(|ring| (ring, Arc::new(Border::default())));
                let (protocol, probe) = (Arc::clone(protocol), probe.take());
                Self { nth, plan, ring, probe, sockets, protocol, live }
            })
            .collect()
    }
}

/// Sets a thread up, says so, waits for the start and runs to the end; `None`: there is no run.
pub(super) fn run_thread(
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

/// Takes the thread's place on its CPU; its place among the clients of that CPU, if it takes turns.
fn take_place(nth: usize, resolved: &Resolved) -> Result<Option<Turns>, Fault> {
    if !resolved.cpus.is_empty() {
        cpu::pin(resolved.cpus[nth % resolved.cpus.len()])?;
    }
    if !resolved.wait.is_busy() {
        cpu::wake_exactly();
    }
    if resolved.wait != Wait::Spin {
        cpus::take_short_turns(0);
    }
    match resolved.job.turns.as_str() {
        "" => Ok(None),
        path => Turns::open(Path::new(path), resolved.cpus[nth % resolved.cpus.len()]).map(Some),
    }
}

/// Whether each connection has a spare: replies interleave, and as many files may be open.
fn has_spares(resolved: &Resolved, protocol: &dyn Protocol) -> bool {
    protocol.interleaves() && files::allowed() >= files_needed(resolved, protocol)
}

/// The transport over `ends`, behind all handshakes and greetings.
fn open(
    ends: Ends,
    resolved: &Resolved,
    protocol: &dyn Protocol,
) -> Result<Box<dyn Transport>, Fault> {
    let Some(secure) = &resolved.secure else { return (resolved.transport.open)(ends) };
    let (count, place) = (ends.connections, resolved.target.place());
    let secured = tls::open(resolved.transport, ends, secure, &place)?;
    greeted::open(secured, count, protocol.hello(), &place)
}

fn set_up(part: Part, resolved: &Resolved) -> Result<Setup, Fault> {
    let Part { nth, plan, ring, probe, sockets, protocol, live } = part;
    let turns = take_place(nth, resolved)?;
    let connections = resolved.connections_of(nth as u32);
    let datagrams = resolved.target.is_datagram();
    let shards = Shards::new(resolved.target.servers(), resolved.job.items);
    let addresses = servers(resolved, &sockets[..sockets.len().min(shards.count() as usize)])?;
    let is_known = addresses.len() == shards.count() as usize;
    let round_trips_ns = sockets.iter().map(sockets::round_trip_ns).collect();
    let count = connections + u32::from(probe.is_some());
    let has_spares = has_spares(resolved, protocol.as_ref());
    let ends = Ends {
        addresses: if is_known { addresses } else { vec![Address::Ip(([127, 0, 0, 1], 0).into())] },
        sources: resolved.sources.clone(),
        sockets,
        connections: count,
        spares: if has_spares { count } else { 0 },
        datagrams,
        request_bytes_max: protocol.request_bytes_max(),
        depth: resolved.job.depth,
        says_more: protocol.interleaves(),
        greeting: on_sockets(resolved, protocol.as_ref()),
    };
    let mut transport = open(ends, resolved, protocol.as_ref())
        .map_err(|fault| files::numbered(fault, files_needed(resolved, protocol.as_ref())))?;
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
        has_spares,
        depth: resolved.job.depth,
        round_trips_ns,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_the_start_waits_for_no_thread_that_never_came() {
        for start_ns in [None, Some(7)] {
            let together = Together::default();
            std::thread::scope(|scope| {
                let early = scope.spawn(|| together.wait());
                together.start(start_ns);
                assert_eq!((early.join().unwrap(), together.wait()), (start_ns, start_ns));
            });
        }
    }
}
