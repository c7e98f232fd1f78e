//! A run that is over, played again in segments, and one in which much happens.

use std::sync::Arc;

use sojourn_workload::plan::Plan;

use crate::drive::long::*;
use crate::drive::measurement::{Measurement, fake};
use crate::plan::lanes::{MarksLanes, PlanLanes};
use crate::plan::marks::{Ending, Marks, ThreadMeasurement};
use crate::protocols::Outcome;
use crate::watch::outage::Outage;
use crate::watch::sentinel::SentinelLog;

pub(super) const MS: u64 = 1_000_000;
pub(super) const RING: Geometry = Geometry { capacity: 16_384, segment: 64 };

/// One thread of a run that is over, played again in a ring.
struct Played<'a> {
    from: &'a ThreadMeasurement,
    plan: PlanLanes,
    marks: MarksLanes,
    border: Arc<Border>,
    taken: usize,
    is_ended: Vec<bool>,
    ended: usize,
    outages: usize,
}

impl<'a> Played<'a> {
    fn new(from: &'a ThreadMeasurement) -> Self {
        Self {
            from,
            plan: crate::plan::marks::room_for_plan(RING.capacity).into(),
            marks: Marks::for_requests(RING.capacity).into(),
            border: Arc::default(),
            taken: 0,
            is_ended: vec![false; from.marks.sent_ns.len()],
            ended: 0,
            outages: 0,
        }
    }

    /// What the loop does until `now_ns`: sends, picks up, says what is finished.
    fn play(&mut self, now_ns: u64) {
        let marks = &self.from.marks;
        let drawn = self.border.drawn().0.min(marks.sent_ns.len());
        while self.taken < drawn && (1..=now_ns).contains(&marks.sent_ns[self.taken]) {
            let place = self.taken % RING.capacity;
            let due_ns = self.from.plan.intended_ns[self.taken];
            assert_eq!(self.plan.intended_ns[place], due_ns, "drawn as in one piece");
            assert_eq!(self.plan.item[place], self.from.plan.item[self.taken]);
            self.marks.sent_ns[place] = marks.sent_ns[self.taken];
            self.marks.free_ns[place] = marks.free_ns[self.taken];
            self.taken += 1;
        }
        for i in self.ended..self.taken {
            let (outcome, place) = (marks.outcome[i], i % RING.capacity);
            let has_ended = outcome != Outcome::Pending && marks.done_ns[i] <= now_ns;
            if has_ended && !self.is_ended[i] {
                self.is_ended[i] = true;
                self.marks.first_byte_ns[place] = marks.first_byte_ns[i];
                self.marks.done_ns[place] = marks.done_ns[i];
                self.marks.outcome[place] = outcome;
                self.marks.reply_bytes[place] = marks.reply_bytes[i];
            }
        }
        while self.ended < self.taken && self.is_ended[self.ended] {
            self.ended += 1;
        }
        for outage in &self.from.outages[self.outages..] {
            if outage.end_ns() <= now_ns {
                self.border.outages.push(*outage);
                self.outages += 1;
            }
        }
        self.border.tell_finished(self.ended / RING.segment * RING.segment, now_ns);
    }
}

/// The run `whole` as its keeper would have found it.
pub(super) fn in_segments(whole: &Measurement) -> Measurement {
    let timetable = schedule::timetable(&whole.job).unwrap();
    let mut threads: Vec<Played> = whole.threads.iter().map(Played::new).collect();
    let rings = (0..).zip(&threads).map(|(nth, thread)| {
        // SAFETY: both sides of the border are played in turn by this thread.
        let lanes = unsafe { (thread.plan.second(), thread.marks.second()) };
        let drawing = schedule::drawing(&whole.job, nth).unwrap();
        Ring::new(lanes, drawing, RING, Arc::clone(&thread.border)).unwrap()
    });
    let rings = rings.collect();
    let mut logs: Vec<SentinelLog> =
        whole.sentinels.iter().map(|it| SentinelLog::fake(&it.threads)).collect();
    let mut keeper = Keeper::new(&whole.job, &timetable, rings, logs.clone()).unwrap();
    let (_, to_ns) = whole.measured(&timetable);
    for now_ns in (0..to_ns + 2000 * MS).step_by(5 * MS as usize) {
        for (logs, watch) in logs.iter_mut().zip(&whole.sentinels) {
            logs.tell(watch.outages.iter().filter(|outage| outage.end_ns() <= now_ns));
        }
        for thread in &mut threads {
            thread.play(now_ns);
        }
        keeper.step();
    }
    let runs: Vec<ThreadMeasurement> = threads
        .iter()
        .map(|thread| ThreadMeasurement {
            plan: Plan::default(),
            marks: Marks::default(),
            ending: Some(Ending { taken: thread.taken, ..Ending::default() }),
            ..thread.from.clone()
        })
        .collect();
    let findings = keeper.finish(&runs, to_ns).unwrap();
    assert!(findings.seconds.is_ok());
    Measurement {
        job: whole.job.clone(),
        looked: None,
        notices: None,
        statuses: std::collections::BTreeMap::new(),
        addresses: vec![],
        threads: runs,
        sentinels: whole.sentinels.clone(),
        server_seen: whole.server_seen.clone(),
        long: Some(findings),
        ..*whole
    }
}

pub(super) fn job() -> Job {
    Job {
        threads: 2,
        rate: "20k".into(),
        duration: "3500ms".into(),
        qos_quantile: 0.99,
        qos_bound: "1ms".into(),
        set_share: 0.1,
        hlog: "x".into(),
        ..fake::job()
    }
}

/// A run with queues, late replies, failures and, if asked for, outages.
pub(super) fn eventful(job: Job, outages: &[(u64, u64)]) -> Measurement {
    let mut run = fake::run(job, 1_000, 60_000);
    for (k, thread) in run.threads.iter_mut().enumerate() {
        let marks = &mut thread.marks;
        for i in 0..marks.sent_ns.len() {
            let due_ns = thread.plan.intended_ns[i];
            marks.sent_ns[i] += (i as u64 * 7919) % 900; // a lag that varies by less than 1 µs
            match i % 5003 {
                17 => marks.done_ns[i] += 300 * MS, // the segment waits for this one
                40..43 => marks.outcome[i] = Outcome::Closed,
                77 => marks.outcome[i] = Outcome::Status,
                200..210 => marks.free_ns[i] = due_ns + 500,
                _ => {}
            }
            for &(start_ms, length_ms) in outages {
                let outage = Outage { start_ns: start_ms * MS, length_ns: length_ms * MS };
                if (outage.start_ns..outage.end_ns()).contains(&due_ns) {
                    marks.sent_ns[i] = outage.end_ns() + 1_000 + k as u64;
                    marks.done_ns[i] = marks.done_ns[i].max(outage.end_ns() + 100_000);
                }
            }
        }
        // A request is sent after those before it, and answered after it was sent.
        for i in 1..marks.sent_ns.len() {
            marks.sent_ns[i] = marks.sent_ns[i].max(marks.sent_ns[i - 1]);
            marks.done_ns[i] = marks.done_ns[i].max(marks.sent_ns[i] + 1_000);
            marks.first_byte_ns[i] = marks.done_ns[i];
        }
        let listed = outages
            .iter()
            .map(|&(start, length)| Outage { start_ns: start * MS, length_ns: length * MS });
        thread.outages = listed.collect();
    }
    run
}
