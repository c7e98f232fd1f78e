//! The plan and what became of it: the two sets of arrays between which the hot loop runs.
//!
//! [`Plan`] is drawn before the run and never changes. `Marks` is allocated and touched before the
//! run; the hot loop only stores times into it. Every statistic is computed from both afterwards,
//! so nothing that thinks runs beside the measurement, and outages can be excluded by the log.

use sojourn_workload::plan::{Op, Plan};

use crate::plan::pages::touched;
use crate::protocols::Outcome;
use crate::watch::outage::Outage;

/// What became of each request of a [`Plan`], index for index. Zero means "never".
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Since when a connection had been free when the request was sent, ns. `sent_ns` minus the later
    /// of this and the intended time is the instrument's own lag; the rest is waiting for a connection.
    pub free_ns: Vec<u64>,
    /// When its bytes were handed to the kernel, ns after the start of the warm-up.
    pub sent_ns: Vec<u64>,
    /// When the first byte of its reply was picked up, ns.
    pub first_byte_ns: Vec<u64>,
    /// When the last byte of its reply was picked up, ns.
    pub done_ns: Vec<u64>,
    /// How it ended.
    pub outcome: Vec<Outcome>,
    /// Which connection carried it.
    pub connection: Vec<u32>,
    /// Body bytes of the reply.
    pub reply_bytes: Vec<u32>,
}

impl Marks {
    /// Marks for `requests` requests, all pages touched: the loop that fills them never faults.
    pub fn for_requests(requests: usize) -> Self {
        Self {
            free_ns: touched(requests, 0),
            sent_ns: touched(requests, 0),
            first_byte_ns: touched(requests, 0),
            done_ns: touched(requests, 0),
            outcome: touched(requests, Outcome::Pending),
            connection: touched(requests, 0),
            reply_bytes: touched(requests, 0),
        }
    }

    /// Puts the marks of `more` behind these, in their order.
    pub fn extend(&mut self, more: Self) {
        self.free_ns.extend(more.free_ns);
        self.sent_ns.extend(more.sent_ns);
        self.first_byte_ns.extend(more.first_byte_ns);
        self.done_ns.extend(more.done_ns);
        self.outcome.extend(more.outcome);
        self.connection.extend(more.connection);
        self.reply_bytes.extend(more.reply_bytes);
    }

    /// Forgets all requests from index `requests` on.
    pub fn truncate(&mut self, requests: usize) {
        self.free_ns.truncate(requests);
        self.sent_ns.truncate(requests);
        self.first_byte_ns.truncate(requests);
        self.done_ns.truncate(requests);
        self.outcome.truncate(requests);
        self.connection.truncate(requests);
        self.reply_bytes.truncate(requests);
    }
}

/// A plan with room for `requests` requests that are drawn later, all pages touched.
pub fn room_for_plan(requests: usize) -> Plan {
    Plan {
        intended_ns: touched(requests, 0),
        item: touched(requests, 0),
        op: touched(requests, Op(0)),
        measured_from: 0,
    }
}

/// How a thread's part of a long run ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ending {
    /// Requests of the plan that were given to a connection.
    pub taken: usize,
    /// When it ended, ns, if there was no connection free then; 0: there was.
    pub no_room_ns: u64,
    /// Why it ended early.
    pub overrun: Option<Overrun>,
}

/// Why a run ended before its plan: nothing more was drawn when the next request was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// The oldest request without a reply is a whole ring behind.
    Server,
    /// The thread that draws and summarises did not keep up.
    Keeper,
}

/// Everything that one thread brings home.
#[derive(Clone, Debug, Default)]
pub struct ThreadMeasurement {
    /// What it was to do.
    pub plan: Plan,
    /// What became of it.
    pub marks: Marks,
    /// Its own outages, ascending.
    pub outages: Vec<Outage>,
    /// Longest gaps between two polls of the connections, ns, as a histogram.
    pub poll_gaps: sojourn_base::span::Times,
    /// CPU time it used from start to end of the measured part, ns.
    pub cpu_ns: u64,
    /// System calls it made, where the transport can count them.
    pub syscalls: u64,
    /// When a signal or the loss of every connection ended the run early, ns after the start of the
    /// warm-up. `plan` and `marks` are cut there: they hold what was due until then.
    pub stopped_ns: Option<u64>,
    /// Outages beyond what the preallocated log holds: counted, not listed.
    pub outages_unlisted: u64,
    /// Connections that were opened again during the run.
    pub reconnects: u64,
    /// Of these, how many because a request on the old one was not answered in time.
    pub replaced: u64,
    /// How often none could be opened for want of a local port.
    pub out_of_ports: u64,
    /// How often a request was sent again because the server went away before it had looked at it.
    pub sent_again: u64,
    /// Since when requests took the connection used last, because the server ends idle ones, ns after the
    /// start of the warm-up; `None`: each in turn.
    pub newest_first_ns: Option<u64>,
    /// How often a connection was replaced because more came than the reply has.
    pub overlong: u64,
    /// How often the server sent `GOAWAY` on a connection that has no spare, because too few files may be open.
    pub unrelieved: u64,
    /// Requests given up because no reply came within the job's `timeout`.
    pub timed_out: u64,
    /// When a closed loop had sent all of its plan before its time was over, ns.
    pub used_up_ns: Option<u64>,
    /// Connections that ended unannounced, or on what was not asked for.
    pub broke: u64,
    /// Connections that the server closed each time that they were opened, and that never answered a
    /// request as they should: without any reply, and with one.
    pub refused: (u64, u64),
    /// Connections on which nothing ever came, though a request was sent on them in the first half of the run.
    pub unserved: u64,
    /// What the server sent on one of them beside any request; empty: nothing.
    pub refusal: Vec<u8>,
    /// The first bytes that the server sent, a few dozen at most; empty if it sent none.
    pub heard: Vec<u8>,
    /// What its TLS handshakes came to; `None` without TLS.
    pub tls: Option<crate::transports::tls::Seen>,
    /// How a long run ended, of which `plan` and `marks` are empty; `None`: they are whole.
    pub ending: Option<Ending>,
    /// Sojourn times of the probe client beside the load, ns; empty without one.
    pub probe_sojourn_ns: sojourn_base::span::Times,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::lanes::MarksLanes;

    #[test]
    fn marks_of_two_threads_are_one_behind_the_other_and_cut_in_every_column() {
        let mut marks = Marks::for_requests(3);
        marks.done_ns[2] = 7;
        let mut more = Marks::for_requests(2);
        (more.done_ns[0], more.outcome[0], more.connection[0]) = (8, Outcome::Hit, 5);
        marks.extend(more);
        marks.truncate(4);
        let mut lanes = MarksLanes::from(marks);
        assert_eq!((lanes.done_ns[2], lanes.done_ns[3], lanes.connection[3]), (7, 8, 5));
        lanes.clear(2);
        let marks = lanes.into_marks();
        assert_eq!(marks.done_ns, [0, 0, 0, 8]);
        let columns = [&marks.free_ns, &marks.sent_ns, &marks.first_byte_ns].map(Vec::len);
        let narrow = [marks.connection.len(), marks.reply_bytes.len(), marks.outcome.len()];
        assert_eq!((columns, narrow), ([4; 3], [4; 3]));
    }
}
