//! What is written down of each service's requests while the machine runs.

use super::machine::{Facts, Watch};
use super::policy::TaskId;
use super::result::ServiceResult;
use super::task::Request;
use crate::stats::{SECTIONS, Sections};

/// What is written down of each service's requests.
pub(super) struct Books {
    pub(super) services: Vec<Book>,
    end_ns: u64,
}

/// Of one service.
pub(super) struct Book {
    sections: Sections,
    section_ns: u64,
    section_ends: u64,
    arrived: u64,
    finished: u64,
    in_window: u64,
    lost: u64,
    stages: [f64; 3],
    /// By task: its requests in flight, of those that count.
    in_flight: Vec<u64>,
}

impl Books {
    pub(super) fn new(services: usize, tasks: usize, facts: &Facts) -> Self {
        let section_ns = (facts.measured_to - facts.measured_from).div_ceil(SECTIONS as u64);
        let book = || Book {
            sections: Sections::timed(),
            section_ns,
            section_ends: facts.measured_from + section_ns,
            arrived: 0,
            finished: 0,
            in_window: 0,
            lost: 0,
            stages: [0.0; 3],
            in_flight: vec![0; tasks],
        };
        Self { services: (0..services).map(|_| book()).collect(), end_ns: facts.measured_to }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.services.iter().any(|book| book.finished + book.lost < book.arrived)
    }
}

impl Watch for Books {
    /// A worker without requests is idle: its next busy cycle begins.
    fn arrived(&mut self, service: usize, worker: TaskId) {
        let book = &mut self.services[service];
        book.arrived += 1;
        if book.in_flight[worker] == 0 {
            book.sections.begin_cycle(worker);
        }
        book.in_flight[worker] += 1;
    }

    fn done(&mut self, service: usize, request: &Request, now: u64) {
        let book = &mut self.services[service];
        if now < self.end_ns && now >= book.section_ends - book.section_ns {
            book.in_window += 1;
        }
        if !request.is_measured {
            return;
        }
        while now >= book.section_ends && book.section_ends < self.end_ns {
            book.sections.end_section();
            book.section_ends += book.section_ns;
        }
        book.finished += 1;
        book.in_flight[request.worker] -= 1;
        book.sections.add(request.worker, now - request.arrived_ns);
        let [softirq, epoll, after] = &mut book.stages;
        *softirq += (request.ready_ns - request.arrived_ns) as f64;
        *epoll += (request.taken_ns - request.ready_ns) as f64;
        *after += (now - request.taken_ns) as f64;
    }

    fn lost(&mut self, service: usize, request: &Request) {
        if request.is_measured {
            let book = &mut self.services[service];
            book.lost += 1;
            book.in_flight[request.worker] -= 1;
            book.sections.add_lost();
        }
    }
}

impl Book {
    pub(super) fn result(
        mut self,
        name: String,
        seconds: f64,
        cpu_share: f64,
        reasons: &mut Vec<String>,
    ) -> ServiceResult {
        let missing = self.arrived - self.finished - self.lost;
        (0..missing).for_each(|_| self.sections.add_lost());
        self.sections.end_section();
        let summary = self.sections.finish();
        if missing + self.lost > 0 {
            let all = self.arrived;
            reasons.push(format!(
                "{name}: {} of {all} requests were not finished; they count as infinite",
                missing + self.lost
            ));
        }
        reasons.extend(summary.doubts.into_iter().map(|doubt| format!("{name}: {doubt}")));
        let mean = |sum: f64| if self.finished > 0 { sum / self.finished as f64 } else { 0.0 };
        let [softirq_ns_mean, epoll_ns_mean, after_ns_mean] = self.stages.map(mean);
        ServiceResult {
            name,
            offered_rps: self.arrived as f64 / seconds,
            achieved_rps: self.in_window as f64 / seconds,
            cpu_share,
            sojourn_ns: summary.span,
            intervals: summary.intervals,
            softirq_ns_mean,
            epoll_ns_mean,
            after_ns_mean,
        }
    }
}
