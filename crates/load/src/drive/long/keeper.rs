//! The thread beside a long run: it draws ahead, summarises behind, and writes each second.
//!
//! A request is summarised [`DELAY_NS`] after it was answered: by then outages that it was part of have
//! been reported. No request is summarised that is due after the last sign of any thread, so wherever the
//! run ends, what is summarised was due before.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use sojourn_base::Fault;
use sojourn_workload::schedule::Timetable;

use super::{Account, Findings, Ring, Seconds};
use crate::job::Job;
use crate::plan::marks::{Ending, ThreadMeasurement};
use crate::protocols::Outcome;
use crate::tally::request::Request;
use crate::watch::sentinel::SentinelLog;

/// Between the end of a request and its summary.
const DELAY_NS: u64 = 500_000_000;
/// Between two looks at all rings.
const NAP: Duration = Duration::from_millis(5);

/// One thread's ring and how far it has been read.
struct Seat {
    ring: Ring,
    /// Requests below are counted in the seconds, and in the account.
    summarised: usize,
    counted: usize,
    /// First request that was due after the last for which a connection became free.
    waiting_end: usize,
    /// How many requests were finished when, ns; ascending.
    finished: VecDeque<(usize, u64)>,
    /// Outages read from its log.
    outages: usize,
}

/// The thread beside the load that draws a long run ahead and summarises it behind.
pub struct Keeper {
    seats: Vec<Seat>,
    account: Account,
    seconds: Option<Seconds>,
    sentinels: Vec<SentinelLog>,
    start_ns: u64,
    warmup_ns: u64,
    fault: Option<Fault>,
}

impl Keeper {
    /// Over the rings of all threads, in order.
    pub fn new(
        job: &Job,
        timetable: &Timetable,
        rings: Vec<Ring>,
        sentinels: Vec<SentinelLog>,
    ) -> Result<Self, Fault> {
        let measured = (timetable.warmup_ns, timetable.end_ns());
        let seconds = (!job.seconds.is_empty())
            .then(|| Seconds::create(Path::new(&job.seconds), measured))
            .transpose()?;
        let watched = sentinels.iter().map(|logs| logs.threads.clone()).collect();
        let seat = |ring| Seat {
            ring,
            summarised: 0,
            counted: 0,
            waiting_end: 0,
            finished: VecDeque::new(),
            outages: 0,
        };
        Ok(Self {
            seats: rings.into_iter().map(seat).collect(),
            account: Account::new(job, timetable, watched)?,
            seconds,
            sentinels,
            start_ns: 0,
            warmup_ns: timetable.warmup_ns,
            fault: None,
        })
    }

    /// Keeps on until `is_over`; the warm-up starts at `start_ns` of the monotonic clock.
    #[must_use]
    pub fn run(mut self, start_ns: u64, is_over: &AtomicBool) -> Self {
        self.start_ns = start_ns;
        while !is_over.load(Relaxed) {
            self.step();
            std::thread::sleep(NAP);
        }
        self
    }

    /// Looks at every ring once: reports seconds, counts what is ripe, draws what fits.
    pub fn step(&mut self) {
        let looks: Vec<(usize, u64)> =
            self.seats.iter().map(|seat| seat.ring.border.finished()).collect();
        let now_ns = looks.iter().map(|look| look.1).min().unwrap_or(0);
        self.hear();
        for (seat, (finished, at_ns)) in self.seats.iter_mut().zip(looks) {
            if seat.finished.back().is_none_or(|last| last.0 < finished) {
                seat.finished.push_back((finished, at_ns));
            }
        }
        self.tell_seconds();
        for thread in 0..self.seats.len() {
            if let Err(fault) = self.count_ripe(thread, now_ns) {
                self.fault.get_or_insert(fault);
            }
        }
        let past_ns = self.seats.iter().map(|seat| seat.due_ns(seat.counted)).min();
        self.account.counted_before(past_ns.unwrap_or(0));
        if self.fault.is_some() || self.seats.iter().any(|seat| seat.ring.border.is_overrun()) {
            self.seats.iter().for_each(|seat| seat.ring.border.halt());
        }
    }

    /// Takes outages that have been reported since.
    fn hear(&mut self) {
        for seat in &mut self.seats {
            for outage in seat.ring.border.outages.since(seat.outages) {
                seat.outages += 1;
                self.account.held.note_own(outage);
            }
        }
        for (index, logs) in self.sentinels.iter_mut().enumerate() {
            for outage in logs.news(self.start_ns) {
                self.account.held.note_of_sentinel(index, outage);
            }
        }
    }

    /// Counts what is finished in its second, and writes seconds of which all is.
    fn tell_seconds(&mut self) {
        let Some(seconds) = &mut self.seconds else { return };
        for seat in &mut self.seats {
            let finished = seat.finished.back().map_or(0, |last| last.0);
            for index in seat.summarised..finished {
                seconds.add(&seat.ring.request(index));
            }
            seat.summarised = finished;
        }
        let past_ns = self.seats.iter().map(|seat| seat.due_ns(seat.summarised)).min();
        seconds.write_before(past_ns.unwrap_or(0));
    }

    /// Counts what was finished a while before `now_ns`, and draws into its places.
    fn count_ripe(&mut self, thread: usize, now_ns: u64) -> Result<(), Fault> {
        let seat = &mut self.seats[thread];
        while let Some(&(finished, at_ns)) = seat.finished.front()
            && at_ns + DELAY_NS <= now_ns
        {
            for index in seat.counted..finished {
                let request = seat.ring.request(index);
                let waiting = seat.waiting(&request);
                self.account.add(thread, &request, waiting);
            }
            seat.counted = finished;
            seat.ring.free(finished);
            while seat.ring.draw_segment()? {}
            if seat.finished.len() == 1 {
                break; // the last one says what the seconds have seen
            }
            seat.finished.pop_front();
        }
        Ok(())
    }

    /// Counts all that is left when the threads are gone; the measured part ended at `to_ns`.
    pub fn finish(mut self, runs: &[ThreadMeasurement], to_ns: u64) -> Result<Findings, Fault> {
        self.hear();
        self.account.cut(to_ns.max(self.warmup_ns));
        if let Some(seconds) = &mut self.seconds {
            seconds.cut(to_ns.max(self.warmup_ns));
        }
        for (thread, run) in runs.iter().enumerate() {
            self.count_rest(thread, run)?;
        }
        let seconds = self.seconds.map_or(Ok(()), |seconds| seconds.finish(to_ns));
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.account.finish(seconds)),
        }
    }

    /// Requests that were sent and not counted, and after these all that were due and never sent.
    fn count_rest(&mut self, thread: usize, run: &ThreadMeasurement) -> Result<(), Fault> {
        let Ending { taken, no_room_ns, .. } = run.ending.unwrap_or_default();
        let seat = &mut self.seats[thread];
        for index in seat.counted.. {
            seat.ring.free(index);
            if index == seat.ring.drawn() && !seat.ring.draw_segment()? {
                break;
            }
            if index == seat.ring.drawn() {
                break; // the last segment is empty
            }
            let mut request = seat.ring.request(index);
            if index >= taken {
                if run.stopped_ns.is_some_and(|ns| request.intended_ns > ns) {
                    break;
                }
                request = unsent(request, no_room_ns);
            }
            if index >= seat.summarised
                && let Some(seconds) = &mut self.seconds
            {
                seconds.add(&request);
            }
            let waiting = seat.waiting(&request);
            self.account.add(thread, &request, waiting);
        }
        Ok(())
    }
}

impl Seat {
    /// When request `index` is due; the end of time at the end of the plan.
    fn due_ns(&self, index: usize) -> u64 {
        match index {
            _ if index < self.ring.drawn() => self.ring.intended_ns(index),
            _ if self.ring.is_complete() => u64::MAX,
            _ if index == 0 => 0,
            _ => self.ring.intended_ns(index - 1),
        }
    }

    /// How many requests waited for a connection when `request`, the next in the plan, got one: it and
    /// all that were due by then. Requests get theirs in the order of the plan.
    fn waiting(&mut self, request: &Request) -> u64 {
        if request.sent_ns == 0 || !request.waited() {
            return 0;
        }
        self.waiting_end = self.waiting_end.max(request.index);
        while self.waiting_end < self.ring.drawn()
            && self.ring.intended_ns(self.waiting_end) <= request.free_ns
        {
            self.waiting_end += 1;
        }
        (self.waiting_end - request.index) as u64
    }
}

/// A request that was due and never sent.
fn unsent(request: Request, no_room_ns: u64) -> Request {
    let outcome = Outcome::Pending;
    Request {
        free_ns: no_room_ns,
        sent_ns: 0,
        first_byte_ns: 0,
        done_ns: 0,
        outcome,
        reply_bytes: 0,
        ..request
    }
}
