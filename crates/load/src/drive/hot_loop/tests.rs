mod leaving;
mod torn;

use std::cell::Cell;
use std::rc::Rc;

use sojourn_base::clock::{Clock, Monotonic};

use super::*;
use crate::drive::*;
use crate::job::Job;
use crate::plan::marks::Overrun;
use crate::protocols;
use crate::transports::Reopen;

/// Answers at once with one zero byte, or never.
struct Server {
    answers: bool,
    asked: Vec<u32>,
}

impl Transport for Server {
    fn send(&mut self, connection: u32, _: &[u8]) {
        self.asked.push(connection);
    }

    fn poll(&mut self, _: Patience, on: &mut dyn FnMut(Event<'_>)) {
        for connection in self.asked.drain(..) {
            if self.answers {
                on(Event::Bytes(connection, &[0]));
            }
        }
    }

    fn close(&mut self, _: u32) {}

    fn reopen(&mut self, _: u32) -> Reopen {
        Reopen::Open
    }

    fn syscalls(&self) -> u64 {
        0
    }
}

/// Answers at once, and closes the connection behind each reply.
struct Closing {
    asked: Vec<u32>,
    reopened: Rc<Cell<u32>>,
}

impl Transport for Closing {
    fn send(&mut self, connection: u32, _: &[u8]) {
        self.asked.push(connection);
    }

    fn poll(&mut self, _: Patience, on: &mut dyn FnMut(Event<'_>)) {
        for connection in self.asked.drain(..) {
            on(Event::Bytes(connection, &[0]));
            on(Event::Ended(connection));
            on(Event::Closed(connection));
        }
    }

    fn close(&mut self, _: u32) {}

    fn reopen(&mut self, _: u32) -> Reopen {
        self.reopened.set(self.reopened.get() + 1);
        Reopen::Open
    }

    fn syscalls(&self) -> u64 {
        0
    }
}

const RING: Geometry = Geometry { capacity: 64, segment: 16 };

/// A drive over a ring of which `drawn` requests are drawn and due at once, in a run of an hour.
fn drive(answers: bool, drawn: usize, is_complete: bool) -> (Drive, Arc<Border>) {
    over(Box::new(Server { answers, asked: Vec::new() }), drawn, is_complete)
}

fn over(transport: Box<dyn Transport>, drawn: usize, is_complete: bool) -> (Drive, Arc<Border>) {
    let border = Arc::new(Border::default());
    border.tell_drawn(drawn, is_complete);
    let job = Job { target: "null:".into(), ..Job::default() };
    let ring = Some((RING, Arc::clone(&border)));
    (Drive::new(Setup { ring, ..setup(&job, transport, RING.capacity) }), border)
}

/// Room for so many requests, in a run of an hour.
fn setup(job: &Job, transport: Box<dyn Transport>, requests: usize) -> Setup {
    let hour_ns = 3_600_000_000_000;
    Setup {
        plan: crate::plan::marks::room_for_plan(requests),
        marks: Marks::for_requests(requests),
        ring: None,
        transport,
        protocol: protocols::build(job, &protocols::target(&job.target).unwrap()).unwrap(),
        decoders: Vec::new(),
        probe: None,
        shards: Shards::new(1, job.items),
        connections: 4,
        depth: 100,
        has_spares: false,
        round_trips_ns: Vec::new(),
        times: Times { start_ns: 0, measured_ns: 0, end_ns: hour_ns, drain_ns: 0 },
        wait: Wait::Spin,
        turns: None,
        doze_ns: 0,
        timeout_ns: u64::MAX,
        datagrams: false,
        outage_over_ns: hour_ns,
        is_apart: false,
        live: Arc::new(Live::new(Arc::default())),
    }
}

fn ended(answers: bool, drawn: usize) -> (Ending, usize) {
    let (drive, border) = drive(answers, drawn, false);
    let run = run(drive, Monotonic.now_ns());
    assert!(run.stopped_ns.is_some() && run.plan.intended_ns.is_empty());
    assert!(border.is_overrun());
    (run.ending.unwrap(), border.finished().0)
}

#[test]
fn a_ring_that_is_full_ends_the_run_and_says_whose_doing_that_is() {
    let (ending, finished) = ended(true, 64);
    assert_eq!((ending.taken, finished), (64, 64), "all is answered, and no more drawn");
    assert_eq!(ending.overrun, Some(Overrun::Keeper));
    let (ending, finished) = ended(false, 64);
    assert_eq!((ending.taken, finished), (64, 0), "nothing is answered");
    assert_eq!(ending.overrun, Some(Overrun::Server));
}

#[test]
fn a_ring_that_is_drawn_on_goes_round_to_the_end_of_the_plan() {
    let (mut drive, border) = drive(true, 64, false);
    let mut drawn = 64;
    for now_ns in 1..1000 {
        assert!(!drive.is_over(now_ns));
        for _ in 0..SEND_BATCH {
            let Some((place, connection)) = drive.take_due(now_ns) else { break };
            drive.send(place, connection);
        }
        drive.poll_and_mark(now_ns, Patience::NONE);
        while drawn < 1000 && border.finished().0 + RING.capacity >= drawn + RING.segment {
            drawn = (drawn + RING.segment).min(1000);
            border.tell_drawn(drawn, drawn == 1000);
        }
    }
    assert_eq!((drive.next, border.finished().0, border.is_overrun()), (1000, 1000, false));
    drive.times.end_ns = 1;
    assert!(drive.is_over(1000));
}

#[test]
fn a_connection_that_ends_in_a_poll_is_opened_again_behind_it_and_not_behind_the_next_one() {
    let reopened = Rc::new(Cell::new(0));
    let transport = Closing { asked: Vec::new(), reopened: Rc::clone(&reopened) };
    let (mut drive, _border) = over(Box::new(transport), 64, false);
    for nth in 1..=3 {
        let now_ns = drive.now();
        let (place, connection) = drive.take_due(now_ns).unwrap();
        drive.send(place, connection);
        drive.poll_and_mark(now_ns, Patience::NONE);
        assert_eq!((reopened.get(), drive.reopener.has_work()), (nth, false));
    }
}

#[test]
fn a_nap_ends_when_a_connection_is_to_be_tried_again() {
    const MS: u64 = 1_000_000;
    let (mut drive, _border) = drive(true, 64, false);
    assert_eq!(drive.nap_ns(5 * MS), NAP_NS);
    drive.reopener.closed(0, 5 * MS, true);
    assert_eq!(drive.nap_ns(5 * MS - 300), 300);
    assert_eq!(drive.nap_ns(6 * MS), 0);
}

/// What the probe's client got in a run that ends at once and in which everything is due at once.
fn probed(probe: usize, stops: bool) -> sojourn_base::span::Times {
    let job = Job { target: "null:".into(), ..Job::default() };
    let transport = Box::new(Server { answers: true, asked: Vec::new() });
    let plan = Some(crate::plan::marks::room_for_plan(probe));
    let mut drive = Drive::new(Setup { probe: plan, ..setup(&job, transport, 16) });
    drive.times.drain_ns = 1_000_000_000;
    if stops {
        drive.stop(1);
    }
    drive.times.end_ns = 1;
    run(drive, Monotonic.now_ns()).probe_sojourn_ns
}

/// On a machine that stood still, the load's last reply and several requests of the probe come due together.
#[test]
fn a_run_does_not_end_before_the_probe_has_sent_what_is_due() {
    for stops in [false, true] {
        let times = probed(5, stops);
        assert_eq!((times.count(), times.lost()), (5, 0), "stopped: {stops}");
    }
    assert_eq!(probed(0, false).count(), 0);
}
