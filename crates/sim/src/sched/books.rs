//! What is written down of each service's requests while the machine runs.

use super::machine::{Facts, Watch};
use super::policy::TaskId;
use super::result::ServiceResult;
use super::task::Request;
use crate::result::is_cut;
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
        if summary.span.max.is_some_and(is_cut) {
            reasons
                .push(format!("{name}: sojourn times above 1 h were cut there; use shorter ones"));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured from 1,000 to 4,200: sections of 100.
    fn books() -> Books {
        let (measured_from, measured_to) = (1000, 4200);
        let (switch_ns, smt_slowdown, in_flight_max) = (0.0, 1.0, 9);
        let facts = Facts { switch_ns, smt_slowdown, in_flight_max, measured_from, measured_to };
        Books::new(1, 2, &facts)
    }

    fn request(arrived_ns: u64, is_measured: bool) -> Request {
        let [ready_ns, taken_ns] = [2, 7].map(|ns| arrived_ns + ns);
        let (service_ns, softirq_ns, worker) = (1.0, 0.0, 1);
        Request { arrived_ns, ready_ns, taken_ns, service_ns, softirq_ns, worker, is_measured }
    }

    fn result(books: Books) -> (ServiceResult, Vec<String>) {
        let mut reasons = Vec::new();
        let book = books.services.into_iter().next().unwrap();
        (book.result("s".into(), 2.0, 0.5, &mut reasons), reasons)
    }

    #[test]
    fn stages_add_up_and_only_what_counts_is_in_them() {
        let mut books = books();
        for (arrived, done, is_measured) in
            [(900, 1000, false), (1100, 1120, true), (4100, 4199, true), (4190, 4200, true)]
        {
            if is_measured {
                books.arrived(0, 1);
            }
            assert_eq!(books.is_waiting(), is_measured);
            books.done(0, &request(arrived, is_measured), done);
            assert!(!books.is_waiting() && books.services[0].in_flight == [0, 0]);
        }
        let (outcome, reasons) = result(books);
        assert!(!reasons.iter().any(|why| why.contains("infinite")), "{reasons:?}");
        assert_eq!(
            (outcome.offered_rps, outcome.achieved_rps),
            (1.5, 1.5),
            "4,200 is beyond the end"
        );
        assert_eq!((outcome.softirq_ns_mean, outcome.epoll_ns_mean), (2.0, 5.0));
        assert!((outcome.after_ns_mean - (13.0 + 92.0 + 3.0) / 3.0).abs() < 1e-12);
        assert_eq!((outcome.sojourn_ns.count, outcome.sojourn_ns.max), (3, Some(99)));
    }

    #[test]
    fn what_is_lost_or_missing_is_infinite_and_nothing_is_waited_for_twice() {
        let mut books = books();
        (0..5).for_each(|_| books.arrived(0, 1));
        books.lost(0, &request(1000, true));
        books.lost(0, &request(900, false));
        books.done(0, &request(1000, true), 1010);
        assert!(books.is_waiting() && books.services[0].in_flight == [0, 3]);
        for _ in 0..2 {
            books.lost(0, &request(1000, true));
        }
        assert!(books.is_waiting());
        let (outcome, reasons) = result(books);
        assert_eq!((outcome.sojourn_ns.count, outcome.sojourn_ns.lost), (5, 4));
        assert!(reasons[0].starts_with("s: 4 of 5 requests were not finished"), "{reasons:?}");
        let none = result(self::books()).0;
        assert_eq!((none.softirq_ns_mean, none.offered_rps, none.sojourn_ns.count), (0.0, 0.0, 0));
    }

    #[test]
    fn the_last_one_lost_ends_the_wait() {
        let mut books = books();
        books.arrived(0, 1);
        books.arrived(0, 0);
        books.lost(0, &request(1000, true));
        assert!(books.is_waiting());
        books.done(0, &Request { worker: 0, ..request(1000, true) }, 1010);
        assert!(!books.is_waiting());
    }
}
