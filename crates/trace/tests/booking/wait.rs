//! What is booked of a request whose thread sleeps, to the microsecond: see `every.rs`.

use crate::world::{World, booked};

/// A request is read until 15, by a thread that was woken 2 too late.
const READ: &str = "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 12 in 1; 13 exit 1; \
    14 enter 1 read; 14 take 1 1 32; 15 exit 1;";
const SERVED: [(&str, u64); 4] = [("epoll_return", 1), ("dispatch", 1), ("read", 1), ("write", 1)];

fn assert(world: &World, stages: &[(&str, u64)]) {
    world.assert(0, &[stages, &SERVED].concat());
}

#[test]
fn what_a_thread_sleeps_on_between_read_and_write_is_waiting_for_that() {
    for (call, asleep, end, stage) in [
        ("20 enter 1 recv;", "asleep", "92 exit 1;", "wait_upstream"),
        ("20 enter 1 read;", "asleep", "92 exit 1;", "wait_upstream"),
        ("20 enter 1 ring;", "asleep", "92 exit 1;", "wait_upstream"),
        ("20 enter 1 wait;", "asleep", "92 exit 1;", "wait_upstream"),
        ("20 enter 1 wait;", "asleep", "92 timeout 1;", "wait_sleep"),
        ("20 enter 1 sleep;", "asleep", "92 exit 1;", "wait_sleep"),
        ("20 enter 1 read;", "blocked", "92 exit 1;", "wait_disk"),
        ("20 enter 1 write;", "blocked", "92 exit 1;", "wait_disk"),
        ("20 enter 1 futex;", "asleep", "92 exit 1;", "wait_lock"),
        ("20 enter 1 other;", "asleep", "92 exit 1;", "wait_other"),
        ("", "blocked", "", "wait_fault"),
    ] {
        let world = booked(&format!(
            "{READ} {call} 21 {asleep} 1; 81 waking 1; 91 in 1; {end} 95 enter 1 write; 96 send 1 1 100;"
        ));
        assert(&world, &[("runq_delay", 2 + 10), ("application", 10), (stage, 60)]);
    }
}

#[test]
fn a_file_that_is_opened_from_a_disk_is_waited_for() {
    let world = booked(&format!(
        "{READ} 20 enter 1 open; 21 blocked 1; 81 waking 1; 91 in 1; 92 exit 1; 95 enter 1 write; 96 send 1 1 100;"
    ));
    let stages = [("runq_delay", 2 + 10), ("application", 8), ("open", 2), ("wait_disk", 60)];
    assert(&world, &stages);
}

/// It asks other services one after the other, and waits for each in `poll`.
#[test]
fn a_thread_that_is_woken_twice_waits_for_a_cpu_twice() {
    let world = booked(&format!(
        "{READ} 20 enter 1 wait; 21 asleep 1; 31 waking 1; 36 in 1; 37 exit 1; \
         40 enter 1 wait; 41 asleep 1; 51 waking 1; 59 in 1; 60 exit 1; 70 enter 1 write; 71 send 1 1 100;"
    ));
    let stages = [("runq_delay", 2 + 5 + 8), ("application", 22), ("wait_upstream", 20)];
    assert(&world, &stages);
}

#[test]
fn several_waits_are_distinguished() {
    let world = booked(&format!(
        "{READ} 20 enter 1 futex; 21 asleep 1; 31 waking 1; 31 in 1; 32 exit 1; 40 enter 1 recv; 41 asleep 1; \
         81 waking 1; 81 in 1; 82 exit 1; 83 blocked 1; 90 waking 1; 90 in 1; 95 enter 1 write; 96 send 1 1 100;"
    ));
    let waits = [("wait_lock", 10), ("wait_upstream", 40), ("wait_fault", 7)];
    assert(&world, &[[("runq_delay", 2), ("application", 80 - 57)].as_slice(), &waits].concat());
}

#[test]
fn a_lock_before_the_read_is_waited_for_too() {
    let world = booked(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; 11 exit 1; 14 enter 1 futex; \
         15 asleep 1; 45 waking 1; 45 in 1; 46 exit 1; 47 enter 1 read; 47 take 1 1 32; 48 exit 1; \
         50 enter 1 write; 51 send 1 1 100;",
    );
    let served = [("epoll_return", 1), ("read", 1), ("application", 2), ("write", 1)];
    world.assert(0, &[served.as_slice(), &[("dispatch", 6), ("wait_lock", 30)]].concat());
}

/// Where nothing is asked of anybody but a thread sleeps for another request, its next one queues.
#[test]
fn a_request_behind_one_that_waits_is_queued() {
    let world = booked(&format!(
        "{READ} 20 enter 1 recv; 21 asleep 1; 30 ready 2 32; 81 waking 1; 81 in 1; 82 exit 1; 85 enter 1 write; \
         86 send 1 1 100; 87 exit 1; 88 enter 1 read; 88 take 1 2 32; 89 exit 1; 90 enter 1 write; 91 send 1 2 100;"
    ));
    let served = [("dispatch", 1), ("read", 1), ("application", 1), ("write", 1)];
    world.assert(1, &[served.as_slice(), &[("batch_wait", 57)]].concat());
}

/// A proxy: while one request waits for the other service, its thread serves another.
#[test]
fn a_loop_waits_for_others_while_it_sleeps_and_is_with_others_while_it_works() {
    let world = booked(&format!(
        "{READ} 16 enter 1 write; 17 exit 1; 18 enter 1 wait; 19 asleep 1; 29 ready 2 32; 29 waking 1; 29 in 1; \
         30 exit 1; 31 enter 1 read; 31 take 1 2 32; 32 exit 1; 40 enter 1 write; 41 exit 1; 42 enter 1 wait; \
         43 asleep 1; 83 waking 1; 85 in 1; 86 exit 1; 87 enter 1 recv; 88 exit 1; 90 enter 1 write; \
         91 send 1 1 100; 92 exit 1; 93 enter 1 wait; 94 asleep 1; 104 waking 1; 104 in 1; 105 exit 1; \
         106 enter 1 recv; 107 exit 1; 110 enter 1 write; 111 send 1 2 100;"
    ));
    let first = [("runq_delay", 2 + 2), ("application", 3 + 5), ("wait_upstream", 10 + 40)];
    assert(&world, &[first.as_slice(), &[("reply_wait", 1 + 14)]].concat());
    // From when it was read until the loop slept again, and from its answer on: 10 + 6.
    let second = [("application", 16), ("wait_upstream", 40 + 10), ("reply_wait", 12)];
    world.assert(1, &[second.as_slice(), &SERVED].concat());
}

/// A runtime with threads of its own: one reads and sleeps, the other one is woken by the answer.
#[test]
fn a_handover_to_the_thread_that_is_woken_by_the_answer_is_waiting() {
    let world = booked(
        "0 in 2; 1 enter 2 wait; 2 asleep 2; 3 in 1; 4 enter 1 wait; 5 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; \
         10 exit 1; 11 enter 1 read; 11 take 1 1 32; 12 exit 1; 15 enter 1 wait; 16 asleep 1; 70 waking 2; 72 in 2; \
         73 exit 2; 80 enter 2 write; 81 send 2 1 100;",
    );
    let served =
        [("dispatch", 1), ("read", 1), ("application", 7), ("write", 1), ("runq_delay", 2)];
    let between = [("handover", 5), ("wait_upstream", 54)];
    world.assert(0, &[served.as_slice(), &between].concat());
}

/// A pool: the reader hands over and goes on, the worker asks a database.
#[test]
fn a_worker_that_asks_a_database_waits_for_it_and_was_handed_the_request_before() {
    let world = booked(
        "0 in 2; 1 enter 2 futex; 2 asleep 2; 3 in 1; 4 enter 1 wait; 5 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; \
         10 exit 1; 11 enter 1 read; 11 take 1 1 32; 12 exit 1; 13 waking 2; 14 enter 1 wait; 15 asleep 1; 16 in 2; \
         17 exit 2; 20 enter 2 recv; 21 asleep 2; 81 waking 2; 83 in 2; 84 exit 2; 90 enter 2 write; 91 send 2 1 100;",
    );
    let served = [("dispatch", 1), ("read", 1), ("application", 11), ("write", 1)];
    let between = [("handover", 2), ("wait_upstream", 60), ("runq_delay", 3 + 2)];
    world.assert(0, &[served.as_slice(), &between].concat());
}

/// One read that waits until all of the request is there.
#[test]
fn the_rest_of_a_request_in_the_same_read_is_the_clients_time() {
    let world = booked(
        "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 20; 10 waking 1; 10 in 1; 10 exit 1; 11 enter 1 recv; \
         11 take 1 1 20; 12 asleep 1; 40 ready 1 12; 40 waking 1; 42 in 1; 43 take 1 1 12; 44 exit 1; \
         50 enter 1 write; 51 send 1 1 100;",
    );
    let served = [("dispatch", 1), ("read", 3), ("application", 6), ("write", 1)];
    world.assert(0, &[served.as_slice(), &[("client_wait", 28), ("runq_delay", 2)]].concat());
}

#[test]
fn a_reply_that_has_no_room_waits_for_the_client_and_a_file_for_the_disk() {
    for (asleep, stage) in [("asleep", "client_wait"), ("blocked", "wait_disk")] {
        let world = booked(&format!(
            "{READ} 16 enter 1 write; 17 send 1 1 50; 18 {asleep} 1; 28 waking 1; 29 in 1; 30 send 1 1 50; 31 exit 1;"
        ));
        let stages = [("runq_delay", 2 + 1), ("application", 1), ("drain", 2), (stage, 10)];
        assert(&world, &stages);
    }
}

/// A process of 32 bits: its write has the number of a read.
#[test]
fn calls_of_another_abi_are_known_by_their_own_numbers() {
    let world = booked(&format!("{READ} 16 enter 1 old; 17 send 1 1 100; 18 exit 1;"));
    assert(&world, &[("runq_delay", 2), ("application", 1)]);
    assert_eq!((world.reason("async_send"), world.reason("read_exit_lost")), (0, 0));
}

#[test]
fn a_ring_that_reads_or_answers_is_named() {
    for (read, write) in [("ring", "write"), ("read", "ring"), ("ring", "ring")] {
        let world = booked(&format!(
            "0 in 1; 1 enter 1 wait; 2 asleep 1; 10 ready 1 32; 10 waking 1; 12 in 1; 13 exit 1; \
             14 enter 1 {read}; 14 take 1 1 32; 15 exit 1; 16 enter 1 {write}; 17 send 1 1 100; 18 exit 1;"
        ));
        assert_eq!(world.reason("io_uring"), 1, "{read}, {write}");
        assert_eq!((world.reason("async_send"), world.reason("read_exit_lost")), (0, 0));
    }
}

/// The worker comes from another request and does not sleep before it takes this one.
#[test]
fn a_worker_that_is_awake_when_a_request_is_read_waits_for_nothing_but_what_it_asks() {
    let world = booked(
        "0 in 2; 1 enter 2 other; 2 exit 2; 3 in 1; 4 enter 1 wait; 5 asleep 1; 10 ready 1 32; 10 waking 1; 10 in 1; \
         10 exit 1; 11 enter 1 read; 11 take 1 1 32; 12 exit 1; 20 enter 2 recv; 21 asleep 2; 81 waking 2; 83 in 2; \
         84 exit 2; 90 enter 2 write; 91 send 2 1 100;",
    );
    let served = [("dispatch", 1), ("read", 1), ("application", 16), ("write", 1)];
    world.assert(0, &[served.as_slice(), &[("wait_upstream", 60), ("runq_delay", 2)]].concat());
}
