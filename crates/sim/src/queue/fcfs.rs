//! One queue, n servers, first come, first served.
//!
//! Kiefer and Wolfowitz: the next request starts at the later of its arrival and the earliest time
//! at which a server falls free. Those n times are the whole state.
//! Source: Kiefer and Wolfowitz, On the theory of queues with many servers, Trans. AMS 78, 1955.

use sojourn_base::kind::Kind;
use sojourn_base::rng::Rng;

use super::tally::Tally;
use super::{Discipline, Form, QueueKind, rebase};

#[derive(Debug)]
struct Fcfs {
    now: f64,
    /// When all servers will be free: the system is empty from then on.
    last: f64,
    /// When each server falls free; the earliest is the first.
    free: Vec<f64>,
}

impl Discipline for Fcfs {
    #[inline]
    fn arrive(&mut self, gap_ns: f64, service_ns: f64, _rng: &mut Rng, tally: &mut Tally) {
        self.now += gap_ns;
        let index = tally.arrive(self.last <= self.now);
        if self.free[0] <= self.now {
            tally.idle(0);
        }
        let done = self.free[0].max(self.now) + service_ns;
        replace_first(&mut self.free, done);
        self.last = self.last.max(done);
        tally.finish(index, 0, done - self.now);
        let before = self.now;
        rebase(&mut self.now, &mut self.free);
        self.last -= before - self.now;
    }
}

/// Up to so many times are held in order, because a pass without branches is faster than a heap: the
/// processor cannot foresee which of two times is earlier.
const IN_ORDER_MAX: usize = 16;

/// Puts `value` in the place of the least of `times`, which remain a heap. They begin in order.
#[inline]
pub fn replace_first(times: &mut [f64], value: f64) {
    if times.len() <= IN_ORDER_MAX { insert(times, value) } else { sink(times, value) }
}

/// The least goes, and `value` comes where it belongs.
#[inline]
fn insert(times: &mut [f64], mut value: f64) {
    for at in 1..times.len() {
        let next = times[at];
        let is_before = next < value;
        times[at - 1] = if is_before { next } else { value };
        value = if is_before { value } else { next };
    }
    if let Some(last) = times.last_mut() {
        *last = value;
    }
}

/// `value` sinks from the top of a heap.
fn sink(heap: &mut [f64], value: f64) {
    let mut at = 0;
    loop {
        let mut child = 2 * at + 1;
        if child >= heap.len() {
            break;
        }
        if child + 1 < heap.len() && heap[child + 1] < heap[child] {
            child += 1;
        }
        if heap[child] >= value {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

pub(super) const KIND: QueueKind = QueueKind {
    kind: Kind {
        name: "fcfs",
        about: "one queue before all servers, first come, first served",
        usage: "fcfs (fcfs)",
        params: &[],
        needs: &[],
        source: "Kiefer and Wolfowitz 1955",
    },
    build: |servers, _| {
        let free = vec![0.0; servers as usize];
        Ok((Box::new(Fcfs { now: 0.0, last: 0.0, free }), Form::SharedFcfs))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_gives_the_times_back_in_order() {
        let mut heap = vec![0.0; IN_ORDER_MAX + 7];
        let mut x = 1.0_f64;
        let mut last = 0.0;
        for _ in 0..1000 {
            assert!(heap[0] >= last && heap.iter().all(|t| *t >= heap[0]));
            last = heap[0];
            x = (x * 7919.0 + 13.0) % 101.0;
            replace_first(&mut heap, last + x);
        }
    }

    /// The times in a heap are those of a sorted list whose least was replaced.
    #[test]
    fn a_heap_holds_what_a_sorted_list_holds() {
        for servers in (1..=IN_ORDER_MAX + 9).chain([64, 100]) {
            let (mut heap, mut list) = (vec![0.0; servers], vec![0.0; servers]);
            let mut x = 1.0_f64;
            for _ in 0..300 {
                x = (x * 7919.0 + 13.0) % 101.0;
                replace_first(&mut heap, x);
                list[0] = x;
                list.sort_by(f64::total_cmp);
                assert_eq!(heap[0], list[0], "{servers}: the least");
                let mut sorted = heap.clone();
                sorted.sort_by(f64::total_cmp);
                assert_eq!(sorted, list, "{servers}");
            }
        }
    }

    /// Two servers, service 10: at 0, 1, 2 (waits 8), 30 (both idle), 40 (just free).
    #[test]
    fn the_first_server_that_falls_free_is_taken() {
        let (mut queue, _) = (KIND.build)(2, &[]).unwrap();
        let mut rng = sojourn_base::rng::stream(1, "none", 0);
        let mut tally = Tally::new(0, 5);
        for gap in [0.0, 1.0, 1.0, 28.0, 10.0] {
            queue.arrive(gap, 10.0, &mut rng, &mut tally);
        }
        let (summary, cycles, _) = tally.finish_run();
        assert_eq!((summary.span.p50, summary.span.max), (Some(10), Some(18)));
        assert_eq!((summary.span.mean, cycles.cycles), (Some(11.6), 2), "begun at 0, 30 and 40");
    }
}
