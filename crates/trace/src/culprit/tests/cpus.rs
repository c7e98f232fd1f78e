//! A wait that begins behind one CPU and ends on another: who ran there before is not to blame.

use super::*;

/// What the parts of a request of 3.05 ms from 20 µs on are, if its thread was off its CPU like this; ns.
fn parts_of(off: Off, runs: Vec<Run>) -> impl Fn(&str) -> u64 {
    let seen = Seen { offs: vec![off], runs, ..Seen::default() };
    let record = request(20 * US, &[("application", 50 * US), ("runq_delay", 3 * MS)]);
    let parts = cut(&record, &Index::new(&seen, [SERVICE])).parts();
    assert_eq!(parts.iter().map(|(_, ns)| ns).sum::<u64>(), record.total_ns);
    move |name| parts.iter().find(|(it, _)| it.name() == name).map_or(0, |(_, ns)| *ns)
}

const UNSEEN: &str = "no task seen";

/// `rsync` had CPU 1 all the while, `xz` CPU 0.
fn neighbours() -> Vec<Run> {
    let on = |cpu, comm| Run { cpu, ..run(comm, "", 0, 4 * MS) };
    vec![on(0, "xz"), on(1, "rsync")]
}

#[test]
fn the_tasks_of_the_cpu_that_a_thread_was_pulled_to_did_not_keep_it_waiting() {
    let pulled = Off { cpu: 1, here_ns: 50 * US + 3 * MS, ..preempted(50 * US, 3 * MS) };
    let of = parts_of(pulled, neighbours());
    assert_eq!((of("rsync"), of("xz"), of(UNSEEN)), (0, 0, 3 * MS));
}

#[test]
fn from_when_on_it_waits_for_that_cpu_its_tasks_do() {
    let pulled = Off { cpu: 1, here_ns: 50 * US + MS, ..preempted(50 * US, 3 * MS) };
    let of = parts_of(pulled, neighbours());
    assert_eq!((of("rsync"), of("xz"), of(UNSEEN)), (2 * MS, 0, MS));
    let of = parts_of(preempted(50 * US, 3 * MS), neighbours());
    assert_eq!((of("rsync"), of("xz"), of(UNSEEN)), (0, 3 * MS, 0), "it stayed where it was");
}

/// Only what lies in the request counts, whenever it was pulled.
#[test]
fn a_thread_that_was_pulled_before_the_request_or_after_it_is_cut_off_there() {
    let early = Off { cpu: 1, here_ns: 10 * US, ..preempted(0, 2 * MS) };
    let of = parts_of(early, neighbours());
    assert_eq!((of("rsync"), of(UNSEEN)), (2 * MS - 20 * US, MS + 20 * US));
    let late = Off { cpu: 1, here_ns: 5 * MS, ..preempted(MS, 5 * MS) };
    let of = parts_of(late, neighbours());
    assert_eq!((of("rsync"), of(UNSEEN)), (0, 3 * MS));
}
