//! THE hot loop: take what is due, send, poll, mark.
//!
//! Between the first and the last request it touches only memory that was allocated and touched
//! before, takes no lock, writes no log, and makes no system call of its own (the transport's, and
//! two reads of the CPU clock at the edges of the measured part). What it finds goes into
//! [`Marks`]; what that means is worked out afterwards.

mod again;
mod closed;
mod connections;
mod datagrams;
pub mod long;
pub mod measurement;
mod overdue;
mod patience;
pub mod preload;
mod probe;
pub mod progress;
mod queued;
mod read;
mod reopen;
pub mod run;
mod segments;
pub mod streams;
pub mod turns;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::clock::{Clock, Monotonic};
use sojourn_workload::plan::Plan;

use again::Again;
pub use closed::run as run_closed;
pub use connections::Connections;
use overdue::Overdue;
use probe::Probe;
use read::{After, ended, lose, read};
use reopen::Reopener;
use segments::Segments;
use streams::Owing;
pub use watch::{Live, Watch};

use crate::drive::long::{Border, Geometry};
use crate::drive::turns::Turns;
use crate::job::shards::Shards;
use crate::plan::lanes::{MarksLanes, PlanLanes};
use crate::plan::marks::{Ending, Marks, ThreadMeasurement};
use crate::plan::resolve::Wait;
use crate::protocols::{Decoder, Protocol};
use crate::transports::{Event, Patience, Transport};
use crate::watch::cpu;

/// Requests sent before replies are looked for again.
const SEND_BATCH: usize = 16;
/// The same of a thread that gives way after each look, of which each keeps others waiting for some 10 µs.
const SEND_BATCH_BESIDE: usize = 8;
/// The same of a thread that takes turns with others, so that it sees early when its turn is over.
const SENDS_IN_TURN: usize = 4;
/// Connections whose replies it then picks up in one look.
const LOOKS_IN_TURN: usize = 8;
/// How long replies are still waited for after a signal.
const DRAIN_STOPPED_NS: u64 = 1_000_000_000;
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
    /// What is said on them.
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
    was_told_to_stop: bool,
}

/// Runs the plan to its end, or until it is stopped; the warm-up starts at `start_ns` of the
/// monotonic clock.
pub fn run(mut drive: Drive, start_ns: u64) -> ThreadMeasurement {
    drive.times.start_ns = start_ns;
    drive.enter();
    let most = match (&drive.turns, drive.wait) {
        (Some(_), _) => SENDS_IN_TURN,
        (None, Wait::Yield) => SEND_BATCH_BESIDE,
        (None, Wait::Spin | Wait::Sleep) => SEND_BATCH,
    };
    loop {
        let now_ns = drive.now();
        if drive.is_over(now_ns) {
            drive.leave();
            return drive.finish();
        }
        let mut batch = 0;
        while batch < most && drive.send_again() {
            batch += 1;
        }
        while batch < most
            && let Some((place, connection)) = drive.take_due(now_ns)
        {
            drive.send(place, connection);
            batch += 1;
        }
        drive.probe(now_ns);
        let patience = drive.patience(now_ns);
        let found = drive.poll_and_mark(now_ns, patience);
        drive.give_way(batch > 0 || found > 0);
    }
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
            again: Again::default(),
            returns_rest: protocol.leaves_alone_what_follows_the_last(),
            repeats: protocol.may_repeat(),
            reopener: Reopener::new(sockets),
            watch,
            clock: Monotonic,
            mask: if segments.is_some() { load_len - 1 } else { usize::MAX },
            measured_from: setup.plan.measured_from,
            plan: setup.plan.into(),
            marks: setup.marks.into(),
            transport: setup.transport,
            interleaves: protocol.interleaves(),
            owing: Owing::new(sockets),
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
            was_told_to_stop: false,
        }
    }

    /// Now, ns after the start of the warm-up; 0 before it.
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now_ns().saturating_sub(self.times.start_ns)
    }

    /// The place of the next request and the connection it takes, if it is due and there is room for
    /// it.
    #[inline]
    fn take_due(&mut self, now_ns: u64) -> Option<(usize, u32)> {
        if self.next == self.load_len && !self.draw_on(now_ns) {
            return None;
        }
        let place = self.next & self.mask;
        if self.plan.intended_ns[place] > now_ns {
            return None;
        }
        let connection = self.pick()?;
        self.next += 1;
        Some((place, connection))
    }

    /// The connection that the next request of the load takes; `None`: its server's have no room.
    #[inline]
    fn pick(&mut self) -> Option<u32> {
        if self.shards.count() == 1 || self.next == self.load_len {
            return self.connections.pick(0);
        }
        self.connections.pick(self.shards.of(self.plan.item[self.next & self.mask]))
    }

    #[inline]
    fn send(&mut self, request: usize, connection: u32) {
        self.encode(request, connection);
        self.free_ns = self.free_ns.max(self.connections.room_since_ns(connection));
        self.marks.free_ns[request] = self.free_ns;
        self.connections.push(connection, request as u32);
        self.marks.sent_ns[request] = self.clock.now_ns().saturating_sub(self.times.start_ns);
        self.transport.send(connection, &self.bytes);
    }

    /// Makes the bytes of a request that goes over `connection`.
    #[inline]
    fn encode(&mut self, request: usize, connection: u32) {
        self.bytes.clear();
        let asked = self.plan.asked(request);
        self.protocol.encode(asked, &mut self.bytes);
        if self.interleaves
            && let Some(it) = self.connections.interleaved(connection)
        {
            it.begin(asked, &mut self.bytes);
        }
        self.marks.connection[request] = connection;
    }

    #[inline]
    fn give_way(&mut self, is_busy: bool) {
        match &mut self.turns {
            Some(turns) => turns.pass(is_busy),
            None if self.wait == Wait::Yield => cpu::give_way(),
            None => {}
        }
    }

    /// Takes its seat among the clients of its CPU, if it shares one.
    fn enter(&mut self) {
        if let Some(turns) = &mut self.turns {
            turns.enter();
        }
    }

    fn leave(&mut self) {
        if let Some(turns) = &mut self.turns {
            turns.leave();
        }
    }

    /// Picks up what has come and marks what it completes; how much has come.
    #[inline]
    fn poll_and_mark(&mut self, now_ns: u64, patience: Patience) -> u32 {
        self.overdue.round(now_ns, patience.wait_ns);
        let mut found = 0;
        let Self { transport, connections, marks, plan, clock, times, reopener, live, .. } = self;
        let (interleaves, owing, again) = (self.interleaves, &mut self.owing, &mut self.again);
        let (returns_rest, repeats) = (self.returns_rest, self.repeats);
        transport.poll(patience, &mut |event| {
            found += 1;
            let now_ns = clock.now_ns().saturating_sub(times.start_ns);
            match event {
                Event::Bytes(connection, bytes) => {
                    let was_idle = connections.oldest(connection).is_none();
                    let after = if interleaves {
                        owing.add(connection);
                        let seen = (bytes, now_ns);
                        streams::read(connections, connection, seen, plan, marks, live, again)
                    } else {
                        read(connections, connection, bytes, now_ns, plan, marks, live)
                    };
                    if after == After::GoOn {
                        reopener.served(connection, bytes);
                    } else {
                        if after == After::Broken && was_idle {
                            reopener.judge(connections, connection, bytes, now_ns);
                        }
                        if after == After::Agreed && returns_rest {
                            again.give_back_all(connections, connection, now_ns, marks);
                        }
                        lose(connections, connection, now_ns, marks, live);
                        reopener.drop_after_poll(connection, bytes, now_ns, after);
                    }
                }
                Event::Ended(connection) => {
                    if ended(connections, connection, now_ns, plan, marks, live) {
                        if returns_rest {
                            again.give_back_all(connections, connection, now_ns, marks);
                        }
                        reopener.closed(connection, now_ns, true);
                    }
                }
                Event::Closed(connection) => {
                    reopener.judge(connections, connection, &[], now_ns);
                    if repeats && reopener.has_served(connection) {
                        again.give_back_unbegun(connections, connection, now_ns, marks);
                    }
                    lose(connections, connection, now_ns, marks, live);
                    reopener.closed(connection, now_ns, false);
                }
            }
        });
        self.give_up_overdue(now_ns, found);
        if self.reopener.has_work() {
            self.reopener.tend(self.transport.as_mut(), &mut self.connections, now_ns);
        }
        if self.interleaves {
            let Self { owing, connections, transport, bytes, .. } = self;
            owing.settle(connections, transport.as_mut(), bytes);
        }
        found
    }

    /// Whether the run has ended: all is answered, the deadline has passed, or nobody answers.
    #[inline]
    fn is_over(&mut self, now_ns: u64) -> bool {
        self.watch.polled(now_ns, self.transport.as_ref());
        self.live.publish(self.next, now_ns);
        let goes_on = match &mut self.segments {
            Some(segments) => segments.tell(self.connections.open(), self.load_len, now_ns),
            None => true,
        };
        let is_told = self.live.stop.load(Relaxed);
        if (is_told || !goes_on) && self.stopped_ns.is_none() {
            self.stop(now_ns);
        }
        if is_told && !self.was_told_to_stop {
            self.was_told_to_stop = true;
            let over_ns = now_ns.saturating_sub(self.times.end_ns) + DRAIN_STOPPED_NS;
            self.times.drain_ns = self.times.drain_ns.min(over_ns);
        }
        if self.reopener.is_hopeless(now_ns) {
            self.stop(now_ns);
            return true;
        }
        let all_sent = self.next == self.load_len && self.is_all_drawn();
        (all_sent && self.is_idle() && now_ns >= self.times.end_ns)
            || now_ns >= self.times.end_ns + self.times.drain_ns
    }

    /// Whether no reply is waited for any more.
    #[inline]
    fn is_idle(&self) -> bool {
        self.connections.is_idle() && self.again.is_empty()
    }

    /// Nothing that is due later than `now_ns` will be sent.
    #[cold]
    fn stop(&mut self, now_ns: u64) {
        let is_due = |request: &usize| self.plan.intended_ns[request & self.mask] <= now_ns;
        self.load_len = (self.next..self.load_len).find(|i| !is_due(i)).unwrap_or(self.load_len);
        self.stopped_ns = Some(now_ns);
        self.times.end_ns = now_ns.min(self.times.end_ns);
        self.watch.ends_at(now_ns);
    }

    fn finish(mut self) -> ThreadMeasurement {
        let probe_sojourn_ns = self.probe_times();
        let no_room_ns = if self.pick().is_none() { self.now() } else { 0 };
        let refused = self.reopener.refused(&self.connections);
        let Self { watch, transport, stopped_ns, used_up_ns, overdue, again, .. } = self;
        let mut reopener = self.reopener;
        let mut run = ThreadMeasurement {
            refused,
            refusal: reopener.take_refusal(),
            probe_sojourn_ns,
            stopped_ns,
            reconnects: reopener.reconnects(),
            replaced: reopener.replaced(),
            out_of_ports: reopener.out_of_ports(),
            sent_again: again.sent,
            overlong: reopener.overlong(),
            timed_out: overdue.timed_out,
            used_up_ns,
            broke: reopener.broke(),
            heard: reopener.into_heard(),
            tls: transport.tls(),
            ..ThreadMeasurement::default()
        };
        if let Some(segments) = self.segments {
            let overrun = segments.overrun();
            run.ending = Some(Ending { taken: self.next, no_room_ns, overrun });
        } else {
            run.plan = self.plan.into_plan(self.measured_from);
            run.marks = self.marks.into_marks();
            if no_room_ns > 0 {
                run.marks.free_ns[self.next..self.load_len].fill(no_room_ns);
            }
            run.plan.truncate(self.load_len);
            run.marks.truncate(self.load_len);
        }
        watch.finish(run, transport.as_ref())
    }
}

#[cfg(test)]
mod tests;
