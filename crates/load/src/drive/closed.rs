//! The closed loop of `find_max`: every connection keeps `depth` requests in flight.
//!
//! The plan gives items and operations (of several servers, the next item that the connection's own
//! holds); a request is intended when there is room for it, which is
//! when it is sent. So its sojourn time is the time on the wire, and says nothing about a load
//! that does not wait for replies. Its use is the peak rate.

use super::Drive;
use crate::plan::marks::ThreadMeasurement;
use crate::transports::Patience;

/// Replies are picked up together for so long.
const TOGETHER_NS: u64 = 50_000;

/// Runs from `start_ns` on until the end of the load, or until the plan is used up.
pub fn run(mut drive: Drive, start_ns: u64) -> ThreadMeasurement {
    drive.times.start_ns = start_ns;
    loop {
        let now_ns = drive.now();
        if drive.is_closed_over(now_ns) {
            return drive.finish_closed();
        }
        drive.fill(now_ns);
        drive.probe(now_ns);
        let patience = drive.closed_patience();
        let result = drive.poll_and_mark(now_ns, patience);
        drive.give_way(result > 0);
    }
}

impl Drive {
    /// Sends as long as there is room and time. Before the start it is 0 ns: what is sent then has no
    /// time of its own.
    #[inline]
    fn fill(&mut self, now_ns: u64) {
        while now_ns > 0 && self.send_again() {}
        while (1..self.times.end_ns).contains(&now_ns)
            && self.next < self.load_len
            && let Some(connection) = self.connections.pick_any()
        {
            let shard = self.shards.of_connection(connection);
            self.plan.item[self.next] = self.shards.item_of(shard, self.plan.item[self.next]);
            self.send(self.next, connection);
            self.plan.intended_ns[self.next] = self.marks.sent_ns[self.next];
            self.next += 1;
        }
    }

    /// There is nothing to do before replies come, and no hurry for the first: a quarter of what is in
    /// flight keeps the server busy while the rest is picked up together.
    #[inline]
    fn closed_patience(&mut self) -> Patience {
        if self.wait.is_busy() {
            return Patience::NONE;
        }
        let now_ns = self.now();
        Patience {
            wait_ns: if now_ns == 0 { TOGETHER_NS } else { self.nap_ns(now_ns) },
            together_ns: TOGETHER_NS,
            arrivals: (self.connections.in_flight() as u32 / 4).max(1),
            ..Patience::NONE
        }
    }

    /// The load is over when its time is, or its plan, and all is answered.
    #[inline]
    fn is_closed_over(&mut self, now_ns: u64) -> bool {
        if self.next == self.load_len && now_ns < self.times.end_ns {
            self.used_up_ns = self.used_up_ns.or(Some(now_ns));
            self.stop(now_ns); // what was measured until now counts
        }
        self.is_over(now_ns) || (now_ns >= self.times.end_ns && self.is_idle())
    }

    /// Cuts the plan to what was sent.
    fn finish_closed(mut self) -> ThreadMeasurement {
        self.load_len = self.next;
        let measured_ns = self.times.measured_ns;
        let mut run = self.finish();
        run.plan.measured_from = run.plan.intended_ns.partition_point(|&ns| ns < measured_ns);
        run
    }
}
