//! What the service says of itself, so that the truth can be judged too.

use serde::Serialize;
use sojourn_base::clock::process_cpu_ns;
use sojourn_base::span::{Span, Times};

use crate::args::Settings;
use crate::calls::Counts;
use crate::protocols::Work;
use crate::queue::Served;

/// Version of the report's form.
pub const SCHEMA: &str = "sojourn.serve.report/1";
/// A gap between two looks longer than this is an outage of the service, ns.
const OUTAGE_OVER_NS: u64 = 1_000_000;

/// The report, as it is written.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this form.
    pub schema: &'static str,
    /// Program and version.
    pub program: String,
    /// As it was started.
    pub settings: Settings,
    /// Requests served with a service time.
    pub requests: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Of these, writes.
    pub writes: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Times at which a connection could not be accepted, or not be connected to the service that it calls.
    pub unaccepted: u64,
    /// Connections closed because they could not be understood or took no replies.
    pub broken: u64,
    /// Mean of the service times asked for, ns.
    pub service_ns_asked: f64,
    /// Mean of the service times drawn, ns.
    pub service_ns_drawn: f64,
    /// Service time drawn over the time of all servers from the first arrival to the last finish.
    pub busy_ratio: f64,
    /// finish − arrival by the virtual clock: what an ideal client must see, plus the wire.
    pub virtual_sojourn_ns: Span,
    /// How late each reply left after its virtual finish.
    pub lateness_ns: Span,
    /// Between two looks at the connections (spin only): the error of the arrival times.
    pub poll_gap_ns: Option<Span>,
    /// Times during which the service did not run although it wanted to.
    pub outages: Outages,
    /// What became of calls to another service; left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Counts>,
    /// CPU time of the service, ns.
    pub cpu_ns: u64,
}

/// Outages of the service itself: they are in the clients' numbers and in no theory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outages {
    /// How many.
    pub count: u64,
    /// Together, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
}

/// The report in the making. Noting never allocates.
#[derive(Debug)]
pub struct Notes {
    requests: u64,
    reads: u64,
    writes: u64,
    connections: u64,
    unaccepted: u64,
    broken: u64,
    service_ns: u128,
    first_ns: Option<u64>,
    last_finish_ns: u64,
    virtual_sojourn: Times,
    lateness: Times,
    poll_gap: Option<Times>,
    outages: Outages,
    calls: Option<Counts>,
}

impl Notes {
    /// Nothing noted; gaps between looks are kept only if the service spins.
    pub fn new(spins: bool) -> Self {
        Self {
            requests: 0,
            reads: 0,
            writes: 0,
            connections: 0,
            unaccepted: 0,
            broken: 0,
            service_ns: 0,
            first_ns: None,
            last_finish_ns: 0,
            virtual_sojourn: Times::new(),
            lateness: Times::new(),
            poll_gap: spins.then(Times::new),
            outages: Outages::default(),
            calls: None,
        }
    }

    /// Takes what became of calls into the report.
    pub fn called(&mut self, calls: Option<Counts>) {
        self.calls = calls;
    }

    /// Counts a connection that was accepted.
    pub fn accepted(&mut self) {
        self.connections += 1;
    }

    /// A connection could not be accepted.
    pub fn unaccepted(&mut self) {
        self.unaccepted += 1;
    }

    /// A connection was closed by the service.
    pub fn broke(&mut self) {
        self.broken += 1;
    }

    /// A request arrived at `ready_ns` and got its service time.
    pub fn admitted(&mut self, work: Work, ready_ns: u64, served: Served) {
        self.requests += 1;
        self.reads += u64::from(work == Work::Read);
        self.writes += u64::from(work == Work::Write);
        self.service_ns += u128::from(served.service_ns);
        self.first_ns.get_or_insert(ready_ns);
        self.last_finish_ns = self.last_finish_ns.max(served.finish_ns);
        self.virtual_sojourn.add(served.finish_ns - ready_ns);
    }

    /// Counts a reply that left `late_ns` after it was due.
    pub fn left(&mut self, late_ns: u64) {
        self.lateness.add(late_ns);
    }

    /// Two looks were `gap_ns` apart, and the second was wanted `late_ns` earlier.
    pub fn looked(&mut self, gap_ns: u64, late_ns: u64) {
        if let Some(gaps) = &mut self.poll_gap {
            gaps.add(gap_ns);
        }
        if late_ns > OUTAGE_OVER_NS {
            self.outages.count += 1;
            self.outages.total_ns += late_ns;
            self.outages.longest_ns = self.outages.longest_ns.max(late_ns);
        }
    }

    /// The report of all that was counted, beside what was asked for.
    pub fn report(&self, settings: &Settings, service_ns_asked: f64) -> Report {
        let drawn = self.service_ns as f64;
        let span_ns = self.last_finish_ns.saturating_sub(self.first_ns.unwrap_or(0)) as f64;
        let servers = f64::from(settings.servers);
        let over = |whole: f64| if whole > 0.0 { drawn / whole } else { 0.0 };
        Report {
            schema: SCHEMA,
            program: format!("sojourn-serve {}", env!("CARGO_PKG_VERSION")),
            settings: settings.clone(),
            requests: self.requests,
            reads: self.reads,
            writes: self.writes,
            connections: self.connections,
            unaccepted: self.unaccepted,
            broken: self.broken,
            service_ns_asked,
            service_ns_drawn: over(self.requests as f64),
            busy_ratio: over(span_ns * servers),
            virtual_sojourn_ns: self.virtual_sojourn.span(),
            lateness_ns: self.lateness.span(),
            poll_gap_ns: self.poll_gap.as_ref().map(Times::span),
            outages: self.outages,
            calls: self.calls,
            cpu_ns: process_cpu_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busy_ratio_is_service_over_time_of_all_servers() {
        let mut notes = Notes::new(false);
        for i in 0..10 {
            let served = Served { service_ns: 50, finish_ns: i * 100 + 50 };
            notes.admitted(Work::Read, i * 100, served);
        }
        let settings = Settings { servers: 2, ..Settings::default() };
        let report = notes.report(&settings, 50.0);
        assert!((report.busy_ratio - 500.0 / (950.0 * 2.0)).abs() < 1e-12);
        assert_eq!((report.requests, report.service_ns_drawn), (10, 50.0));
        assert!(report.poll_gap_ns.is_none());
    }

    #[test]
    fn a_service_that_served_nothing_has_zeros_not_nans() {
        let report = Notes::new(true).report(&Settings::default(), 1.0);
        assert_eq!((report.busy_ratio, report.service_ns_drawn), (0.0, 0.0));
    }
}
