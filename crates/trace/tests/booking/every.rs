//! What is booked where, to the microsecond: the hooks as a plain program, at the times of a script.
//!
//! `world.c` includes `src/bpf/breakdown.bpf.c` itself and plays the kernel; it needs a C
//! compiler and no rights. That the kernel calls the hooks as it does here is what `tests/live/truth.rs` proves.

use std::fmt::Write as _;

use crate::world::{World, booked};

/// Thread 1 becomes known, serves a first request of connection 1, and is done at 18.
const FIRST: &str = "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 12 in 1; 13 exit 1; \
    14 enter 1 read; 14 take 1 1 32; 15 exit 1; 16 enter 1 write; 17 send 1 1 100; 18 exit 1;";
/// From a ready connection 1 to its reply, and nothing else in between: from 200 on.
const SECOND: &str = "200 enter 1 wait; 201 exit 1; 202 enter 1 read; 202 take 1 1 32; 203 exit 1; \
    204 enter 1 write; 205 send 1 1 100; 206 exit 1;";
/// What the stages of `SECOND` are beside its wait for the thread.
const SERVED: [(&str, u64); 5] =
    [("epoll_return", 1), ("dispatch", 1), ("read", 1), ("application", 1), ("write", 1)];

/// The request after the first one, which waits for its thread as `wait` has it.
fn second(wait: &str) -> World {
    booked(&format!("{FIRST} {wait} {SECOND}"))
}

fn with<'a>(stages: &[(&'a str, u64)]) -> Vec<(&'a str, u64)> {
    stages.iter().chain(&SERVED).copied().collect()
}

#[test]
fn a_request_that_finds_its_thread_asleep_goes_through_every_stage_of_the_loop() {
    let world = booked(FIRST);
    world.assert(
        0,
        &[
            ("runq_delay", 2),
            ("epoll_return", 1),
            ("dispatch", 1),
            ("read", 1),
            ("application", 1),
            ("write", 1),
        ],
    );
    assert_eq!((world.requests[0].bytes_in, world.requests[0].bytes_out), (32, 100));
}

/// After its reply the thread is busy, and not on its CPU all the time.
#[test]
fn a_thread_that_is_kept_off_its_cpu_before_it_waits_again_is_not_busy_meanwhile() {
    for (wait, busy, runq, stopped) in [
        ("100 ready 1 32;", 100, 0, 0),
        ("100 ready 1 32; 120 preempted 1; 180 in 1;", 40, 60, 0),
        // Before it came, or as it came: only the rest counts.
        ("50 preempted 1; 90 in 1; 100 ready 1 32;", 100, 0, 0),
        ("120 preempted 1; 150 ready 1 32; 180 in 1;", 20, 30, 0),
        ("120 preempted 1; 150 ready 1 32; 180 in 1; 185 preempted 1; 195 in 1;", 10, 40, 0),
        // Blocked, on a lock or a disk, is busy; woken and not yet running is not.
        ("100 ready 1 32; 110 asleep 1; 130 waking 1; 170 in 1;", 60, 40, 0),
        ("110 asleep 1; 120 ready 1 32; 130 waking 1; 170 in 1;", 40, 40, 0),
        ("110 asleep 1; 130 waking 1; 150 ready 1 32; 170 in 1;", 30, 20, 0),
        ("100 ready 1 32; 110 stopped 1; 140 waking 1; 150 in 1;", 60, 10, 30),
        ("110 stopped 1; 120 ready 1 32; 140 waking 1; 150 in 1;", 50, 10, 20),
        ("110 stopped 1; 140 waking 1; 145 ready 1 32; 150 in 1;", 50, 5, 0),
    ] {
        let stages = with(&[("thread_busy", busy), ("runq_delay", runq), ("stopped", stopped)]);
        second(wait).assert(1, &stages);
    }
}

/// Of the thread that serves a connection the sums are remembered; of another one, intervals.
#[test]
fn the_first_request_of_a_connection_finds_the_same_split_in_its_threads_history() {
    let new = SECOND.replace("take 1 1 32", "take 1 2 32").replace("send 1 1 100", "send 1 2 100");
    let world = booked(&format!("{FIRST} 120 preempted 1; 150 ready 2 32; 180 in 1; {new}"));
    world.assert(1, &with(&[("thread_busy", 20), ("runq_delay", 30)]));
    assert_eq!(world.reason("preempt_history"), 0);
}

#[test]
fn any_number_of_preemptions_keeps_its_split_and_what_is_not_remembered_is_counted() {
    let mut wait = String::from("20 ready C 32; ");
    (0..50)
        .for_each(|n| write!(wait, "{} preempted 1; {} in 1; ", 30 + 3 * n, 31 + 3 * n).unwrap());
    let world = second(&wait.replace('C', "1"));
    world.assert(1, &with(&[("thread_busy", 130), ("runq_delay", 50)]));
    assert_eq!(world.reason("preempt_history"), 0);
    let new = SECOND.replace("take 1 1 32", "take 1 2 32").replace("send 1 1 100", "send 1 2 100");
    let world = booked(&format!("{FIRST} {} {new}", wait.replace('C', "2")));
    assert_eq!(world.reason("preempt_history"), 1);
    assert_eq!(world.requests[1].stage("thread_busy") + world.requests[1].stage("runq_delay"), 180);
}

/// One thread per connection, which sleeps in `read`.
#[test]
fn blocking_reads_tell_the_run_queue_from_the_thread_too() {
    let first = "0 in 1; 1 enter 1 read; 2 asleep 1; 10 ready 1 32; 10 waking 1; 12 in 1; 13 take 1 1 32; \
        14 exit 1; 16 enter 1 write; 17 send 1 1 100; 18 exit 1;";
    let next =
        "200 enter 1 read; 200 take 1 1 32; 201 exit 1; 202 enter 1 write; 203 send 1 1 100;";
    let world = booked(first);
    world.assert(0, &[("runq_delay", 2), ("read", 2), ("application", 2), ("write", 1)]);
    for (wait, busy, runq) in [
        ("100 ready 1 32; 120 preempted 1; 180 in 1;", 40, 60),
        ("120 preempted 1; 150 ready 1 32; 180 in 1;", 20, 30),
        ("110 asleep 1; 130 waking 1; 150 ready 1 32; 170 in 1;", 30, 20),
    ] {
        let served = [("read", 1), ("application", 1), ("write", 1)];
        let stages = [[("thread_busy", busy), ("runq_delay", runq)].as_slice(), &served].concat();
        booked(&format!("{first} {wait} {next}")).assert(1, &stages);
    }
}

/// It waits for another service, say; the loop is woken late for what it waited for.
#[test]
fn a_sleep_between_read_and_write_is_waiting_and_its_wake_up_is_run_queue_delay() {
    let world = booked(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 12 in 1; 13 exit 1; \
         14 enter 1 read; 14 take 1 1 32; 15 exit 1; 20 enter 1 wait; 25 preempted 1; 30 in 1; 31 asleep 1; \
         90 waking 1; 150 in 1; 151 exit 1; 160 enter 1 write; 161 send 1 1 100;",
    );
    world.assert(
        0,
        &[
            ("runq_delay", 2 + 5 + 60),
            ("epoll_return", 1),
            ("dispatch", 1),
            ("read", 1),
            ("application", 21),
            ("wait_upstream", 59),
            ("write", 1),
        ],
    );
}

/// A reply that does not fit the socket's buffer is written in several goes.
#[test]
fn a_wake_up_between_parts_of_a_reply_is_run_queue_delay() {
    let tail = "19 enter 1 wait; 20 asleep 1; 40 send 0 1 50; 60 waking 1; 90 in 1; 91 exit 1; \
        92 enter 1 write; 93 send 1 1 50; 94 exit 1;";
    let world = booked(&format!("{FIRST} {tail}"));
    assert_eq!(world.requests[0].bytes_out, 200);
    assert_eq!(world.requests[0].stage("drain"), (40 - 17) + 3);
    assert_eq!(world.requests[0].stage("client_wait"), 60 - 40);
    assert_eq!(world.requests[0].stage("runq_delay"), 2 + 30);
}

/// Only the sums until then count: what the thread was kept from before was not the reply's time.
#[test]
fn a_part_that_leaves_by_itself_takes_the_sums_with_it() {
    let tail =
        "20 preempted 1; 50 send 0 1 50; 60 in 1; 61 enter 1 write; 63 send 1 1 50; 64 exit 1;";
    let world = booked(&format!("{FIRST} {tail}"));
    assert_eq!(world.requests[0].stage("drain"), (50 - 17) + 3);
    assert_eq!(world.requests[0].stage("runq_delay"), 2 + 10);
}

#[test]
fn what_a_thread_does_before_it_reads_is_its_own_and_others_wait_for_it() {
    // Both are ready when the loop wakes; it pauses before the first read, in a call or without one.
    for pause in ["14 enter 1 other; 30 exit 1;", ""] {
        let world = booked(&format!(
            "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 ready 2 32; 10 waking 1; 12 in 1; 13 exit 1; {pause} \
             33 enter 1 read; 33 take 1 1 32; 34 exit 1; 35 enter 1 write; 36 send 1 1 100; 37 exit 1; \
             39 enter 1 read; 39 take 1 2 32; 40 exit 1; 41 enter 1 write; 42 send 1 2 100; 43 exit 1;"
        ));
        let served =
            [("runq_delay", 2), ("epoll_return", 1), ("read", 1), ("application", 1), ("write", 1)];
        world.assert(0, &[served.as_slice(), &[("dispatch", 20)]].concat());
        world.assert(1, &[served.as_slice(), &[("batch_wait", 24), ("dispatch", 2)]].concat());
    }
}

/// Redis: reads all that are ready, then answers them.
#[test]
fn a_reply_waits_for_those_read_after_it_and_those_written_before_it() {
    let world = booked(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 ready 2 32; 10 waking 1; 10 in 1; 10 exit 1; \
         11 enter 1 read; 11 take 1 1 32; 12 exit 1; 20 enter 1 read; 20 take 1 2 32; 21 exit 1; \
         50 enter 1 other; 55 exit 1; 60 enter 1 write; 62 send 1 1 100; 63 exit 1; \
         64 enter 1 write; 66 send 1 2 100; 67 exit 1;",
    );
    // The command of the first: 12 to 20, of the second: 21 to 50. Then both replies are under way.
    world.assert(
        0,
        &[("dispatch", 1), ("read", 1), ("application", 8 + 10), ("reply_wait", 30), ("write", 2)],
    );
    world.assert(
        1,
        &[
            ("batch_wait", 10),
            ("read", 1),
            ("application", 29 + 1),
            ("reply_wait", 13),
            ("write", 2),
        ],
    );
}

/// A line for a log is no reply to somebody else.
#[test]
fn a_write_that_is_no_reply_leaves_the_service_its_work() {
    let world = booked(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; 10 exit 1; \
         11 enter 1 read; 11 take 1 1 32; 12 exit 1; 20 enter 1 write; 30 exit 1; 31 enter 1 write; 32 send 1 1 100;",
    );
    world.assert(0, &[("dispatch", 1), ("read", 1), ("application", 19), ("write", 1)]);
}

/// Each of `n` connections is read in turn, `parts` times, before the first reply is written.
fn reads_then_writes(n: u32, parts: u32) -> World {
    let mut script =
        String::from("0 in 1; 1 enter 1 wait; 2 asleep 1; 9 waking 1; 9 in 1; 9 exit 1;");
    let mut now = 10;
    let mut add = |words: &str| {
        write!(script, "{}", words.replace("NOW", &now.to_string())).unwrap();
        now += 1;
    };
    for _ in 0..parts {
        for c in 1..=n {
            add(&format!("NOW ready {c} 8; NOW enter 1 read; NOW take 1 {c} 8;"));
            add("NOW exit 1;");
        }
    }
    for c in 1..=n {
        add(&format!("NOW enter 1 write; NOW send 1 {c} 100;"));
        add("NOW exit 1;");
    }
    booked(&script)
}

#[test]
fn the_end_of_a_read_is_remembered_over_many_connections_and_many_parts() {
    for (connections, parts) in [(300, 1), (4, 40), (30, 20)] {
        let world = reads_then_writes(connections, parts);
        assert_eq!(world.requests.len() as u32, connections);
        assert_eq!(world.reason("read_exit_lost"), 0, "{connections} connections, {parts} parts");
        assert!(world.requests.iter().all(|one| one.bytes_in == 8 * parts && one.bytes_out == 100));
        for one in &world.requests {
            assert_eq!(one.stage("residual"), 0, "{connections} connections, {parts} parts");
            assert_eq!((one.stage("read"), one.stage("body")), (1, u64::from(parts) - 1));
        }
    }
}

/// The client is slow, and when the rest has come the thread is with somebody else.
#[test]
fn the_rest_of_a_request_waits_for_the_thread_as_its_beginning_does() {
    let world = booked(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 20; 10 waking 1; 10 in 1; 10 exit 1; \
         11 enter 1 read; 11 take 1 1 20; 12 exit 1; 13 enter 1 wait; 14 asleep 1; 20 waking 1; 20 in 1; 20 exit 1; \
         40 ready 1 12; 50 preempted 1; 70 in 1; 80 enter 1 wait; 82 exit 1; \
         85 enter 1 read; 85 take 1 1 12; 86 exit 1; 90 enter 1 write; 91 send 1 1 100;",
    );
    let body = [("client_wait", 28), ("thread_busy", 20), ("runq_delay", 20), ("epoll_return", 2)];
    let served = [("dispatch", 1 + 3), ("read", 1), ("body", 1), ("application", 4), ("write", 1)];
    world.assert(0, &[body.as_slice(), &served].concat());
}

/// What a segment lacks counts only if it is a request's first one: of the others nothing is booked.
#[test]
fn a_later_segment_out_of_the_backlog_lacks_nothing() {
    let world = |first: &str, rest: &str| {
        booked(&format!(
            "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 {first} 1 20; 10 waking 1; 10 in 1; 10 exit 1; 11 enter 1 read; \
             11 take 1 1 20; 12 exit 1; 12 {rest} 1 12; 13 enter 1 read; 13 take 1 1 12; 14 exit 1; \
             15 enter 1 write; 16 send 1 1 100;"
        ))
    };
    for (first, rest, lost) in [("ready", "ready", 0), ("ready", "late", 0), ("late", "ready", 1)] {
        assert_eq!(world(first, rest).reason("rx_split_lost"), lost, "{first}, then {rest}");
    }
}

#[test]
fn another_thread_that_answers_is_waited_for_and_then_for_a_cpu() {
    let world = booked(
        "0 in 2; 1 enter 2 wait; 2 asleep 2; 3 in 1; 4 enter 1 wait; 5 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; \
         10 exit 1; 11 enter 1 read; 11 take 1 1 32; 12 exit 1; 20 waking 2; 50 in 2; 51 exit 2; \
         60 enter 2 write; 61 send 2 1 100;",
    );
    world.assert(
        0,
        &[
            ("dispatch", 1),
            ("read", 1),
            ("handover", 9),
            ("runq_delay", 30),
            ("application", 9),
            ("write", 1),
        ],
    );
    assert_ne!(world.requests[0].thread, world.requests[0].writer);
}
