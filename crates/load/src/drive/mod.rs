//! A run from its first request to its last: what a thread needs ([`Setup`]), and the loop that sends and
//! picks up (`hot_loop`); in a closed loop `closed`. One file for each thing that the loop does beside.

mod again;
mod closed;
mod connections;
mod datagrams;
#[cfg(test)]
mod deaf;
mod hot_loop;
pub mod long;
pub mod measurement;
mod overdue;
mod owing;
mod part;
mod patience;
pub mod preload;
mod probe;
pub mod progress;
mod queued;
mod read;
pub mod ready;
mod reopen;
pub mod run;
mod running;
mod segments;
pub mod streams;
pub mod turns;
mod watch;
pub mod window;

use std::sync::Arc;

use sojourn_base::clock::Monotonic;
use sojourn_workload::plan::Plan;

use again::Again;
pub use closed::run as run_closed;
pub use connections::Connections;
pub use hot_loop::run as run_open;
use overdue::Overdue;
use owing::Owing;
use probe::Probe;
use read::lose;
use reopen::Reopener;
use segments::Segments;
pub use watch::{Live, Watch};

use crate::drive::long::{Border, Geometry};
use crate::drive::turns::Turns;
use crate::job::shards::Shards;
use crate::plan::lanes::{MarksLanes, PlanLanes};
use crate::plan::marks::Marks;
use crate::plan::resolve::Wait;
use crate::protocols::{Decoder, Protocol};
use crate::transports::Transport;

/// Connections whose replies a thread that takes turns picks up in one look.
const LOOKS_IN_TURN: usize = 8;
/// Longest sleep: a signal is noticed, and a closed connection tried again, at least this often.
const NAP_NS: u64 = 20_000_000;

/// When things happen, ns after the start of the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Start of the warm-up, ns of the monotonic clock: all other times count from here.
    pub start_ns: u64,
    /// Start of the measured part.
    pub measured_ns: u64,
    /// End of the load.
    pub end_ns: u64,
    /// How long replies are waited for after it.
    pub drain_ns: u64,
}

/// What one thread needs to run.
pub struct Setup {
    /// What is sent when.
    pub plan: Plan,
    /// Room for what becomes of it.
    pub marks: Marks,
    /// In a long run `plan` and `marks` are a ring; its size, and what is shared with the keeper.
    pub ring: Option<(Geometry, Arc<Border>)>,
    /// The sockets.
    pub transport: Box<dyn Transport>,
    /// What is sent on them.
    pub protocol: Arc<dyn Protocol>,
    /// Who reads on each of them, where it has read already; none: who begins.
    pub decoders: Vec<Box<dyn Decoder>>,
    /// Which connections lead to the server of an item.
    pub shards: Shards,
    /// What the probe client sends, on one connection more.
    pub probe: Option<Plan>,
    /// Number of connections, and most requests in flight on each.
    pub connections: u32,
    /// See `connections`.
    pub depth: u32,
    /// Whether `transport` has a spare for each connection, the probe's included.
    pub has_spares: bool,
    /// How long a round trip to the server takes, ns, by connection; empty: no time.
    pub round_trips_ns: Vec<u64>,
    /// How time passes.
    pub times: Times,
    /// What the thread does while nothing is due.
    pub wait: Wait,
    /// When it sleeps: how long, ns, a wake-up may be put off so that it serves several events.
    pub doze_ns: u64,
    /// A reply that has not come this long after its request was sent is given up, ns.
    pub timeout_ns: u64,
    /// Whether requests and replies are datagrams.
    pub datagrams: bool,
    /// Its place among the clients of its CPU; `None`: it takes no turns.
    pub turns: Option<Turns>,
    /// A gap between two polls longer than this is an outage, ns.
    pub outage_over_ns: u64,
    /// It spins on a CPU on which the server does not run.
    pub is_apart: bool,
    /// Counts that others may look at, and the request to stop.
    pub live: Arc<Live>,
}

/// One thread's run: its plan, its connections and what became of each request.
#[expect(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Drive {
    plan: PlanLanes,
    marks: MarksLanes,
    /// Request i is in place `i & mask` of both.
    mask: usize,
    segments: Option<Segments>,
    measured_from: usize,
    transport: Box<dyn Transport>,
    protocol: Arc<dyn Protocol>,
    /// Replies on one connection interleave, and these owe the server something.
    interleaves: bool,
    owing: Owing,
    connections: Connections,
    shards: Shards,
    /// When there was room for the request sent last, ns: none is free before the one ahead of it.
    free_ns: u64,
    /// Requests that a server has not looked at, and whether those behind a reply that closes are some.
    again: Again,
    returns_rest: bool,
    /// Whether those that a server's end of an idle connection has met may be sent again.
    repeats: bool,
    reopener: Reopener,
    watch: Watch,
    clock: Monotonic,
    times: Times,
    wait: Wait,
    turns: Option<Turns>,
    doze_ns: u64,
    overdue: Overdue,
    datagrams: bool,
    live: Arc<Live>,
    /// The next request of the load, and the number of those drawn; after their places come the
    /// probe's.
    next: usize,
    load_len: usize,
    probe: Option<Probe>,
    /// Bytes of the request being sent.
    bytes: Vec<u8>,
    stopped_ns: Option<u64>,
    used_up_ns: Option<u64>,
    /// A signal asked it to end.
    was_asked_to_stop: bool,
}

impl Drive {
    /// Takes all memory that the run needs.
    pub fn new(mut setup: Setup) -> Self {
        let load_len = setup.plan.intended_ns.len();
        let probe = setup.probe.take().map(|plan| Probe::join(plan, &mut setup));
        let beside = setup.plan.intended_ns.len() - load_len;
        let Setup { protocol, connections, depth, .. } = setup;
        let bytes = Vec::with_capacity(protocol.request_bytes_max() + 16);
        let sockets = connections + u32::from(probe.is_some());
        let shards = setup.shards;
        let mut decoders = setup.decoders.into_iter();
        let mut lists = Connections::new(sockets, depth, setup.datagrams, shards, || {
            decoders.next().unwrap_or_else(|| protocol.decoder())
        });
        if let Some(probe) = &probe {
            lists.set_aside(probe.connection);
        }
        if !protocol.may_repeat() && !setup.datagrams {
            lists.heed_idle_ends();
        }
        let mut reopener = Reopener::new(sockets, setup.timeout_ns);
        if setup.has_spares {
            lists.add_spares(|| protocol.decoder());
            reopener.add_spares();
        }
        let mut watch = Watch::new(setup.times, setup.wait, setup.outage_over_ns, setup.is_apart);
        let segments = setup.ring.map(|(ring, border)| Segments::new(ring, border));
        if let Some(segments) = &segments {
            lists.count_open(segments.open(beside));
            watch.tell(segments.border());
        }
        Self {
            connections: lists,
            shards,
            free_ns: 0,
            again: Again::new(setup.round_trips_ns, setup.doze_ns),
            returns_rest: protocol.leaves_alone_what_follows_the_last(),
            repeats: protocol.may_repeat(),
            owing: Owing::new(reopener.connections()),
            reopener,
            watch,
            clock: Monotonic,
            mask: if segments.is_some() { load_len - 1 } else { usize::MAX },
            measured_from: setup.plan.measured_from,
            plan: setup.plan.into(),
            marks: setup.marks.into(),
            transport: setup.transport,
            interleaves: protocol.interleaves(),
            protocol,
            times: setup.times,
            wait: setup.wait,
            turns: setup.turns,
            doze_ns: setup.doze_ns,
            overdue: Overdue::new(setup.timeout_ns),
            datagrams: setup.datagrams,
            live: setup.live,
            next: 0,
            load_len: if segments.is_some() { 0 } else { load_len },
            segments,
            probe,
            bytes,
            stopped_ns: None,
            used_up_ns: None,
            was_asked_to_stop: false,
        }
    }
}
