//! THE hot loop: take what is due, send, poll, mark.
//!
//! Between the first and the last request it touches only memory that was allocated and touched
//! before, takes no lock, writes no log, and makes no system call of its own (the transport's, and
//! two reads of the CPU clock at the edges of the measured part). What it finds goes into
//! [`Marks`]; what that means is worked out afterwards.

use std::sync::atomic::Ordering::Relaxed;

use sojourn_base::clock::Clock;

use super::read::{After, ended, read};
use super::{Drive, lose, streams};
use crate::plan::marks::{Ending, ThreadMeasurement};
use crate::plan::resolve::Wait;
use crate::transports::{Event, Patience};
use crate::watch::cpu;

/// Requests sent before replies are looked for again.
const SEND_BATCH: usize = 16;
/// The same of a thread that gives way after each look, of which each keeps others waiting for some 10 µs.
const SEND_BATCH_BESIDE: usize = 8;
/// The same of a thread that takes turns with others, so that it sees early when its turn is over.
const SENDS_IN_TURN: usize = 4;
/// How long replies are still waited for after a signal.
const DRAIN_STOPPED_NS: u64 = 1_000_000_000;
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
        let result = drive.poll_and_mark(now_ns, patience);
        drive.give_way(batch > 0 || result > 0);
    }
}

impl Drive {
    /// Now, ns after the start of the warm-up; 0 before it.
    #[inline]
    pub(super) fn now(&self) -> u64 {
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
    pub(super) fn pick(&mut self) -> Option<u32> {
        if self.shards.count() == 1 || self.next == self.load_len {
            return self.connections.pick(0);
        }
        self.connections.pick(self.shards.of(self.plan.item[self.next & self.mask]))
    }

    #[inline]
    pub(super) fn send(&mut self, request: usize, connection: u32) {
        self.encode(request, connection);
        self.free_ns = self.free_ns.max(self.connections.room_since_ns(connection));
        self.marks.free_ns[request] = self.free_ns;
        self.connections.push(connection, request as u32);
        self.marks.sent_ns[request] = self.clock.now_ns().saturating_sub(self.times.start_ns);
        self.transport.send(connection, &self.bytes);
    }

    /// Makes the bytes of a request that goes over `connection`.
    #[inline]
    pub(super) fn encode(&mut self, request: usize, connection: u32) {
        self.bytes.clear();
        let asked = self.plan.asked(request);
        self.protocol.encode(asked, &mut self.bytes);
        if self.interleaves
            && let Some(it) = self.connections.interleaved(connection)
        {
            it.begin(asked, &mut self.bytes);
        }
        self.marks.connection[request] = self.connections.number(connection);
    }

    #[inline]
    pub(super) fn give_way(&mut self, is_busy: bool) {
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
    pub(super) fn poll_and_mark(&mut self, now_ns: u64, patience: Patience) -> u32 {
        if let Some(gap_ns) = self.overdue.round(now_ns, patience.wait_ns) {
            self.again.note_gap(now_ns, gap_ns);
        }
        let mut result = 0;
        let Self { transport, connections, marks, plan, clock, times, reopener, live, .. } = self;
        let (interleaves, owing, again) = (self.interleaves, &mut self.owing, &mut self.again);
        let (returns_rest, repeats) = (self.returns_rest, self.repeats);
        transport.poll(patience, &mut |event| {
            result += 1;
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
                    if !reopener.goes_on(connection, bytes, now_ns, after) {
                        if after == After::Broken && was_idle {
                            reopener.judge(connections, connection, bytes, now_ns);
                        }
                        if after == After::Farewell {
                            let of = (&*reopener, &*plan, &mut *marks);
                            again.heed_farewell(connections, connection, now_ns, of, repeats, live);
                        }
                        if matches!(after, After::Agreed | After::Farewell) && returns_rest {
                            again.give_back_all(connections, connection, now_ns, marks);
                        }
                        lose(connections, connection, now_ns, marks, live);
                        reopener.drop_after_poll(connection, bytes, now_ns, after);
                    }
                }
                Event::Ended(connection) => {
                    let after = ended(connections, connection, now_ns, plan, marks, live);
                    if after == Some(After::Farewell) {
                        let of = (&*reopener, &*plan, &mut *marks);
                        again.heed_farewell(connections, connection, now_ns, of, repeats, live);
                    }
                    if after.is_some() {
                        if returns_rest {
                            again.give_back_all(connections, connection, now_ns, marks);
                        }
                        reopener.closed(connection, now_ns, true);
                    }
                }
                Event::Torn(connection) => reopener.torn(connections, connection),
                Event::Closed(connection) => {
                    reopener.judge(connections, connection, &[], now_ns);
                    if repeats {
                        let of = (&*reopener, &*plan, &mut *marks);
                        again.give_back_unbegun(connections, connection, now_ns, of);
                    }
                    lose(connections, connection, now_ns, marks, live);
                    reopener.closed(connection, now_ns, false);
                }
            }
        });
        self.give_up_overdue(now_ns, result);
        self.reopen_due(result == 0, now_ns + patience.wait_ns);
        if self.interleaves {
            let Self { owing, connections, transport, bytes, .. } = self;
            owing.settle(connections, transport.as_mut(), bytes);
        }
        result
    }

    /// Whether the run has ended: all is answered, the deadline has passed, or no answer comes any more.
    #[inline]
    pub(super) fn is_over(&mut self, now_ns: u64) -> bool {
        self.watch.polled(now_ns, self.transport.as_ref());
        self.live.publish(self.next, now_ns);
        let goes_on = match &mut self.segments {
            Some(segments) => segments.tell(self.connections.open(), self.load_len, now_ns),
            None => true,
        };
        let is_reported = self.live.stop.load(Relaxed);
        if (is_reported || !goes_on) && self.stopped_ns.is_none() {
            self.stop(now_ns);
        }
        if is_reported && !self.was_asked_to_stop {
            self.was_asked_to_stop = true;
            let over_ns = now_ns.saturating_sub(self.times.end_ns) + DRAIN_STOPPED_NS;
            self.times.drain_ns = self.times.drain_ns.min(over_ns);
        }
        if self.reopener.is_hopeless(now_ns) {
            self.stop(now_ns);
            return true;
        }
        let all_sent = self.next == self.load_len && self.is_all_drawn();
        (all_sent && self.is_idle() && !self.probe_is_owed() && now_ns >= self.times.end_ns)
            || now_ns >= self.times.end_ns + self.times.drain_ns
    }

    /// Whether no reply is waited for any more.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.connections.is_idle() && self.again.is_empty()
    }

    /// Nothing that is due later than `now_ns` will be sent.
    #[cold]
    pub(super) fn stop(&mut self, now_ns: u64) {
        let is_due = |request: &usize| self.plan.intended_ns[request & self.mask] <= now_ns;
        self.load_len = (self.next..self.load_len).find(|i| !is_due(i)).unwrap_or(self.load_len);
        self.stopped_ns = Some(now_ns);
        self.times.end_ns = now_ns.min(self.times.end_ns);
        self.watch.ends_at(now_ns);
    }

    pub(super) fn finish(mut self) -> ThreadMeasurement {
        let probe_sojourn_ns = self.probe_times();
        let no_room_ns = if self.pick().is_none() { self.now() } else { 0 };
        let refused = self.reopener.refused(&self.connections);
        let by_ns = if self.datagrams { 0 } else { self.times.end_ns / 2 };
        let sent_ns = |request: u32| self.marks.sent_ns[request as usize];
        let unserved = self.reopener.unserved(&self.connections, by_ns, sent_ns);
        let Self { watch, transport, stopped_ns, used_up_ns, overdue, again, .. } = self;
        let mut reopener = self.reopener;
        let mut run = ThreadMeasurement {
            refused,
            unserved,
            refusal: reopener.take_refusal(),
            probe_sojourn_ns,
            stopped_ns,
            newest_first_ns: self.connections.newest_first_ns(),
            reconnects: reopener.reconnects(),
            replaced: reopener.replaced(),
            out_of_ports: reopener.out_of_ports(),
            sent_again: again.sent,
            overlong: reopener.overlong(),
            unrelieved: reopener.unrelieved(),
            timed_out: overdue.timed_out,
            used_up_ns,
            broke: reopener.broke(),
            tls: transport.tls().map(|seen| seen.explain(reopener.has_torn())),
            heard: reopener.into_heard(),
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
