//! THE hot loop: take what is due, send, poll, mark.
//!
//! Between the first and the last request it touches only memory that was allocated and touched
//! before, takes no lock, writes no log, and makes no system call of its own (the transport's, and
//! two reads of the CPU clock at the edges of the measured part). What it finds goes into
//! [`Marks`]; what that means is worked out afterwards.

mod closed;
mod connections;
mod probe;
mod read;
mod reopen;
mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::clock::{Clock, Monotonic};

pub use closed::run as run_closed;
pub use connections::Connections;
use probe::Probe;
use read::{After, asked, lose, read};
use reopen::Reopener;
pub use watch::{Live, Watch};

use crate::marks::{Marks, Plan, ThreadRun};
use crate::protocols::Protocol;
use crate::resolve::Wait;
use crate::transports::{Event, Patience, Transport};

/// Requests sent before replies are looked for again.
const SEND_BATCH: usize = 16;
/// Longest sleep: a signal is noticed, and a closed connection tried again, at least this often.
const NAP_NS: u64 = 20_000_000;
/// Between two looks for datagrams that were lost.
const GIVE_UP_LOOK_NS: u64 = 1_000_000;

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
    /// The sockets.
    pub transport: Box<dyn Transport>,
    /// What is said on them.
    pub protocol: Arc<dyn Protocol>,
    /// What the probe client sends, on one connection more.
    pub probe: Option<Plan>,
    /// Number of connections, and most requests in flight on each.
    pub connections: u32,
    /// See `connections`.
    pub depth: u32,
    /// How time passes.
    pub times: Times,
    /// Spin or sleep.
    pub wait: Wait,
    /// When it sleeps: how long, ns, a wake-up may be put off so that it serves several events.
    pub doze_ns: u64,
    /// Over UDP a reply that has not come within this is given up, ns; 0: never.
    pub give_up_ns: u64,
    /// A gap between two polls longer than this is an outage, ns.
    pub outage_over_ns: u64,
    /// Counts that others may look at, and the request to stop.
    pub live: Arc<Live>,
}

/// One thread's run: its plan, its connections and what became of each request.
pub struct Drive {
    plan: Plan,
    marks: Marks,
    transport: Box<dyn Transport>,
    protocol: Arc<dyn Protocol>,
    connections: Connections,
    reopener: Reopener,
    watch: Watch,
    clock: Monotonic,
    times: Times,
    wait: Wait,
    doze_ns: u64,
    give_up_ns: u64,
    give_up_next_ns: u64,
    live: Arc<Live>,
    /// The next request of the load, and the number of them; after these come the probe's.
    next: usize,
    load_len: usize,
    probe: Option<Probe>,
    /// Bytes of the request being sent.
    bytes: Vec<u8>,
    stopped_ns: Option<u64>,
}

/// Runs the plan to its end, or until it is stopped.
pub fn run(setup: Setup) -> ThreadRun {
    let mut drive = Drive::new(setup);
    loop {
        let now_ns = drive.now();
        if drive.is_over(now_ns) {
            return drive.finish();
        }
        let mut batch = 0;
        while batch < SEND_BATCH
            && let Some((request, connection)) = drive.take_due(now_ns)
        {
            drive.send(request, connection);
            batch += 1;
        }
        drive.probe(now_ns);
        let patience = drive.patience(now_ns);
        drive.poll_and_mark(now_ns, patience);
    }
}

impl Drive {
    fn new(mut setup: Setup) -> Self {
        let load_len = setup.plan.intended_ns.len();
        let probe = setup.probe.take().map(|plan| Probe::join(plan, &mut setup));
        let Setup { protocol, connections, depth, .. } = setup;
        let bytes = Vec::with_capacity(protocol.request_bytes_max() + 16);
        let sockets = connections + u32::from(probe.is_some());
        let mut lists =
            Connections::new(sockets, depth, setup.give_up_ns > 0, || protocol.decoder());
        if let Some(probe) = &probe {
            lists.set_aside(probe.connection);
        }
        Self {
            connections: lists,
            reopener: Reopener::new(sockets),
            watch: Watch::new(setup.times, setup.wait, setup.outage_over_ns),
            clock: Monotonic,
            plan: setup.plan,
            marks: setup.marks,
            transport: setup.transport,
            protocol,
            times: setup.times,
            wait: setup.wait,
            doze_ns: setup.doze_ns,
            give_up_ns: setup.give_up_ns,
            give_up_next_ns: 0,
            live: setup.live,
            next: 0,
            load_len,
            probe,
            bytes,
            stopped_ns: None,
        }
    }

    /// Now, ns after the start of the warm-up; 0 before it.
    #[inline]
    fn now(&self) -> u64 {
        self.clock.now_ns().saturating_sub(self.times.start_ns)
    }

    /// The next request and the connection it takes, if it is due and there is room for it.
    #[inline]
    fn take_due(&mut self, now_ns: u64) -> Option<(usize, u32)> {
        if self.next == self.load_len || self.plan.intended_ns[self.next] > now_ns {
            return None;
        }
        let connection = self.connections.pick()?;
        self.next += 1;
        Some((self.next - 1, connection))
    }

    #[inline]
    fn send(&mut self, request: usize, connection: u32) {
        self.bytes.clear();
        self.protocol.encode(asked(&self.plan, request), &mut self.bytes);
        self.marks.connection[request] = connection;
        self.marks.free_ns[request] = self.connections.room_since_ns();
        self.connections.push(connection, request as u32);
        self.marks.sent_ns[request] = self.clock.now_ns().saturating_sub(self.times.start_ns);
        self.transport.send(connection, &self.bytes);
    }

    /// Picks up what has come and marks what it completes.
    #[inline]
    fn poll_and_mark(&mut self, now_ns: u64, patience: Patience) {
        let Self { transport, connections, marks, plan, clock, times, reopener, live, .. } = self;
        transport.poll(patience, &mut |event| {
            let now_ns = clock.now_ns().saturating_sub(times.start_ns);
            match event {
                Event::Bytes(connection, bytes) => {
                    let after = read(connections, connection, bytes, now_ns, plan, marks, live);
                    if after == After::GoOn {
                        reopener.served(connection, bytes);
                    } else {
                        lose(connections, connection, now_ns, marks, live);
                        let agreed = after == After::Agreed;
                        reopener.drop_after_poll(connection, bytes, now_ns, agreed);
                    }
                }
                Event::Closed(connection) => {
                    lose(connections, connection, now_ns, marks, live);
                    reopener.closed(connection, now_ns, false);
                }
            }
        });
        if self.reopener.has_work() {
            self.reopener.tend(self.transport.as_mut(), &mut self.connections, now_ns);
        }
    }

    /// How long the next poll may wait: 0 when spinning, else until the next request is due.
    #[inline]
    fn patience(&mut self, now_ns: u64) -> Patience {
        if self.wait == Wait::Spin {
            return Patience::NONE;
        }
        let wait_ns = self.wait_ns(now_ns);
        if wait_ns == 0 {
            return Patience::NONE; // more is due than one batch
        }
        let doze_ns = self.doze_ns;
        if doze_ns == 0 || self.connections.in_flight() == 0 {
            return Patience::for_first(wait_ns + doze_ns);
        }
        Patience { wait_ns: wait_ns + doze_ns, together_ns: doze_ns, arrivals: Patience::ALL }
    }

    /// How long nothing will be due.
    fn wait_ns(&mut self, now_ns: u64) -> u64 {
        let nap_ns = self.nap_ns(now_ns);
        if self.connections.pick().is_none() {
            return nap_ns; // only a reply, or the deadline, can change anything for the load
        }
        match self.plan.intended_ns[..self.load_len].get(self.next) {
            Some(due_ns) => due_ns.saturating_sub(now_ns).min(nap_ns),
            None => nap_ns,
        }
    }

    /// Longest wait while the load has nothing due.
    #[inline]
    fn nap_ns(&self, now_ns: u64) -> u64 {
        let nap_ns = if self.reopener.has_work() { 1_000_000 } else { NAP_NS };
        nap_ns.min(self.probe_due_ns(now_ns))
    }

    /// Whether the run has ended: all is answered, the deadline has passed, or nobody answers.
    #[inline]
    fn is_over(&mut self, now_ns: u64) -> bool {
        self.watch.polled(now_ns, self.transport.as_ref());
        self.live.publish(self.next, now_ns);
        if self.live.stop.load(Relaxed) && self.stopped_ns.is_none() {
            self.stop(now_ns);
        }
        if self.give_up_ns > 0 && now_ns >= self.give_up_next_ns {
            self.give_up(now_ns);
        }
        if self.reopener.is_hopeless(now_ns) {
            self.stop(now_ns);
            return true;
        }
        let all_sent = self.next == self.load_len;
        (all_sent && self.connections.in_flight() == 0 && now_ns >= self.times.end_ns)
            || now_ns >= self.times.end_ns + self.times.drain_ns
    }

    /// Nothing that is due later than `now_ns` will be sent.
    #[cold]
    fn stop(&mut self, now_ns: u64) {
        let load = &self.plan.intended_ns[..self.load_len];
        self.load_len = load.partition_point(|&ns| ns <= now_ns).max(self.next);
        self.stopped_ns = Some(now_ns);
        self.times.end_ns = now_ns.min(self.times.end_ns);
        self.watch.ends_at(now_ns);
    }

    /// A datagram may be lost: its connection is free again after a while.
    #[cold]
    fn give_up(&mut self, now_ns: u64) {
        self.give_up_next_ns = now_ns + GIVE_UP_LOOK_NS;
        let late_ns = now_ns.saturating_sub(self.give_up_ns);
        for connection in 0..self.reopener.connections() {
            if let Some(request) = self.connections.oldest(connection)
                && self.marks.sent_ns[request as usize] < late_ns
            {
                self.connections.pop(connection, now_ns);
                let (decoder, first_byte_ns) = self.connections.reading(connection);
                decoder.reset();
                *first_byte_ns = 0;
            }
        }
    }

    fn finish(mut self) -> ThreadRun {
        let probe_sojourn_ns = self.probe_times();
        if self.connections.pick().is_none() {
            let now_ns = self.now();
            self.marks.free_ns[self.next..self.load_len].fill(now_ns);
        }
        let Self { mut plan, mut marks, watch, transport, stopped_ns, reopener, .. } = self;
        plan.truncate(self.load_len);
        marks.truncate(self.load_len);
        let run = ThreadRun {
            probe_sojourn_ns,
            plan,
            marks,
            stopped_ns,
            reconnects: reopener.reconnects(),
            broke: reopener.broke(),
            heard: reopener.into_heard(),
            ..ThreadRun::default()
        };
        watch.finish(run, transport.as_ref())
    }
}
