//! What the few hooks of a sample book where, to the microsecond: `every.rs` without system calls.
//!
//! In these scripts `enter` is only what the thread's registers say, and `exit` of a write is the hook at its
//! end. A reply is given to TCP as its first segment leaves.

use crate::world::booked_by_few;

/// Thread 1 becomes known, serves a first request of connection 1, and is done at 18.
const FIRST: &str = "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 11 waking 1; 13 in 1; 14 exit 1; \
    15 enter 1 read; 16 take 1 1 32; 17 exit 1; 17 enter 1 write; 20 send 1 1 100; 22 exit 1;";

#[test]
fn a_request_that_finds_its_thread_asleep_waits_for_it_to_be_woken_and_to_run() {
    let world = booked_by_few(FIRST);
    let stages = [("wakeup", 1), ("runq_delay", 2), ("read", 3), ("application", 4)];
    world.assert(0, &stages);
    assert_eq!((world.requests[0].bytes_in, world.requests[0].bytes_out), (32, 100));
}

#[test]
fn a_request_behind_another_waits_until_that_has_been_sent() {
    // Both are ready when the loop wakes; the second one's thread is with the first until 22.
    let both = FIRST.replace("10 ready 1 32;", "10 ready 1 32; 10 ready 2 32;");
    let second = "24 enter 1 read; 25 take 1 2 32; 26 exit 1; 27 enter 1 write; 30 send 1 2 100;";
    let world = booked_by_few(&format!("{both} {second}"));
    let waits = [("wakeup", 1), ("runq_delay", 2), ("batch_wait", 9)];
    world.assert(1, &[waits.as_slice(), &[("read", 3), ("application", 5)]].concat());
    // It came while the thread was with the first one, which did not sleep in between.
    let second = format!("19 ready 2 32; 23 enter 1 wait; 23 exit 1; {second}");
    let world = booked_by_few(&format!("{} {second}", FIRST.replace("20 send", "18 send")));
    world.assert(1, &[("batch_wait", 3), ("read", 3), ("application", 5)]);
}

#[test]
fn a_thread_that_is_kept_off_its_cpu_is_not_busy_meanwhile() {
    let second =
        "200 enter 1 read; 201 take 1 1 32; 202 exit 1; 203 enter 1 write; 206 send 1 1 100;";
    for (wait, runq, stopped, lock) in [
        ("100 ready 1 32; 120 preempted 1; 180 in 1;", 60, 0, 0),
        ("110 enter 1 futex; 110 asleep 1; 120 ready 1 32; 130 waking 1; 170 in 1;", 40, 0, 10),
        ("100 ready 1 32; 110 stopped 1; 140 waking 1; 150 in 1;", 10, 30, 0),
    ] {
        let world = booked_by_few(&format!("{FIRST} {wait} {second}"));
        let ready = wait.split(' ').nth(if wait.starts_with("110") { 7 } else { 0 }).unwrap();
        let read = 201 - ready.parse::<u64>().unwrap() - runq - stopped - lock;
        let off = [("runq_delay", runq), ("stopped", stopped), ("wait_lock", lock)];
        world.assert(1, &[off.as_slice(), &[("read", read), ("application", 5)]].concat());
    }
}

/// Redis: reads all that are ready, then answers them.
#[test]
fn a_reply_waits_for_requests_read_after_it_and_answered_before_it() {
    let world = booked_by_few(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 ready 2 32; 10 waking 1; 10 in 1; 10 exit 1; \
         11 enter 1 read; 12 take 1 1 32; 12 exit 1; 20 enter 1 read; 21 take 1 2 32; 21 exit 1; \
         60 enter 1 write; 62 send 1 1 100; 63 exit 1; 64 enter 1 write; 66 send 1 2 100; 67 exit 1;",
    );
    world.assert(0, &[("read", 2), ("reply_wait", 50)]);
    world.assert(1, &[("read", 11), ("reply_wait", 45)]);
}

#[test]
fn the_rest_of_a_request_is_waited_for_and_then_waits_itself() {
    let world = booked_by_few(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 20; 10 waking 1; 10 in 1; 10 exit 1; \
         11 enter 1 read; 12 take 1 1 20; 12 exit 1; 13 enter 1 wait; 14 asleep 1; 20 waking 1; 20 in 1; 20 exit 1; \
         40 ready 1 12; 50 preempted 1; 70 in 1; 85 enter 1 read; 86 take 1 1 12; 86 exit 1; \
         90 enter 1 write; 91 send 1 1 100;",
    );
    let stages = [("client_wait", 28), ("runq_delay", 20), ("read", 2 + 26), ("application", 5)];
    world.assert(0, &stages);
}

#[test]
fn a_reply_that_no_thread_of_the_service_sends_is_residual() {
    let world = booked_by_few(&FIRST.replace("20 send 1 1 100", "20 send 0 1 100"));
    assert_eq!(world.requests[0].stage("residual"), 4);
    assert_eq!(world.reason("async_send"), 1);
}

/// It asks another service between its read and its reply.
#[test]
fn what_a_thread_sleeps_on_before_it_replies_is_waiting() {
    for (call, asleep, stage) in [
        ("recv", "asleep", "wait_upstream"),
        ("wait", "asleep", "wait_upstream"),
        ("read", "blocked", "wait_disk"),
        ("futex", "asleep", "wait_lock"),
        ("sleep", "asleep", "wait_sleep"),
    ] {
        let world = booked_by_few(&format!(
            "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 11 waking 1; 13 in 1; 14 exit 1; \
             15 enter 1 read; 16 take 1 1 32; 17 exit 1; 20 enter 1 {call}; 21 {asleep} 1; 81 waking 1; 91 in 1; \
             92 exit 1; 95 enter 1 write; 96 send 1 1 100; 97 exit 1;"
        ));
        let waits = [("wakeup", 1), ("runq_delay", 2 + 10), ("read", 3)];
        world.assert(0, &[waits.as_slice(), &[("application", 10), (stage, 60)]].concat());
    }
}

/// Its loop sleeps, and reads and answers another request meanwhile.
#[test]
fn a_loop_that_sleeps_between_read_and_reply_waits_for_another_service() {
    let world = booked_by_few(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; 10 exit 1; \
         11 enter 1 read; 12 take 1 1 32; 12 exit 1; 13 enter 1 wait; 14 asleep 1; 24 ready 2 32; 24 waking 1; 24 in 1; \
         25 take 1 2 32; 26 enter 1 write; 27 send 1 2 100; 28 exit 1; 29 enter 1 wait; 30 asleep 1; 70 waking 1; \
         75 in 1; 80 enter 1 write; 81 send 1 1 100; 82 exit 1;",
    );
    // Awake for the other one from 24 to 30, and from 12 to 14 and 75 to 81 for itself: not told apart.
    let stages = [("read", 2), ("reply_wait", 2 + 6 + 6), ("wait_upstream", 10 + 40)];
    world.assert(0, &[stages.as_slice(), &[("runq_delay", 5)]].concat());
}
