//! Threads whose ids agree in the low 16 bits, which say where a thread's slot is looked for: see `every.rs`.

use std::fmt::Write as _;

use crate::world::booked;

/// Thread `t` reads a request of connection `c` at `at`; it comes off its CPU meanwhile, and `other` comes to its own.
fn served(at: u32, t: u32, c: u32, other: u32) -> String {
    let mut script = String::new();
    for (after, event) in [
        (0, format!("ready {c} 32")),
        (0, format!("waking {t}")),
        (2, format!("in {t}")),
        (3, format!("exit {t}")),
        (4, format!("enter {t} read")),
        (4, format!("take {t} {c} 32")),
        (5, format!("exit {t}")),
        (6, format!("preempted {t}")),
        (7, format!("waking {other}")),
        (7, format!("in {other}")),
        (8, format!("exit {other}")),
        (9, format!("enter {other} wait")),
        (10, format!("asleep {other}")),
        (12, format!("in {t}")),
        (14, format!("enter {t} write")),
        (15, format!("send {t} {c} 100")),
        (16, format!("exit {t}")),
        (17, format!("enter {t} wait")),
        (18, format!("asleep {t}")),
    ] {
        write!(script, "{} {event}; ", at + after).unwrap();
    }
    script
}

#[test]
fn two_threads_that_alternate_have_a_slot_each_and_hand_nothing_over() {
    let mut script =
        String::from("0 in 8; 1 enter 8 wait; 2 asleep 8; 3 in 9; 4 enter 9 wait; 5 asleep 9; ");
    for round in 0..100 {
        let (one, other) = if round % 2 == 0 { (8, 9) } else { (9, 8) };
        script += &served(100 + 50 * round, one, one - 7, other);
    }
    let world = booked(&script);
    assert_eq!((world.slots, world.requests.len()), (2, 100));
    assert_eq!(world.requests[0].stage("runq_delay"), 2 + 6);
    for one in &world.requests {
        assert_eq!((one.stage("handover"), one.thread), (0, one.writer), "{one:?}");
    }
    for reason in ["wake_unseen", "table_full", "thread_unknown", "read_exit_lost", "async_send"] {
        assert_eq!(world.reason(reason), 0, "{reason}");
    }
}

/// Each comes to its CPU ten times.
#[test]
fn a_thread_without_a_slot_is_counted_once_and_takes_none_from_others() {
    let mut script = String::new();
    for turn in 0..50 {
        let thread = 8 + turn % 5;
        write!(script, "{} in {thread}; {} preempted {thread}; ", 2 * turn, 2 * turn + 1).unwrap();
    }
    let world = booked(&script);
    assert_eq!((world.slots, world.reason("table_full")), (4, 1));
}

#[test]
fn a_thread_stays_known_when_the_one_that_had_its_first_place_ends() {
    let world = booked(
        "0 in 8; 1 preempted 8; 2 in 9; 3 enter 9 wait; 4 asleep 9; 5 in 8; 6 ends 8; 7 asleep 8; \
         10 ready 1 32; 10 waking 9; 12 in 9; 13 exit 9; 14 enter 9 read; 14 take 9 1 32; 15 exit 9; \
         16 enter 9 write; 17 send 9 1 100; 18 exit 9; 19 in 10; 20 preempted 10; 21 preempted 9; 22 in 9;",
    );
    assert_eq!((world.slots, world.reason("wake_unseen")), (3, 0));
    assert_eq!(world.requests[0].stage("runq_delay"), 2);
    assert_eq!(world.requests[0].thread, world.requests[0].writer);
}
