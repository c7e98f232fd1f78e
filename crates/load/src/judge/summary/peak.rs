//! How fast a closed loop was, over the time in which the client kept the server supplied.
//!
//! A client that stands still sends nothing, but the server goes on with what is in flight: C requests
//! last it for C/X at a rate X. So a stop of length L takes max(0, L − C/X) from the server's time, and
//! X = hits/(T − Σ max(0, L − C/X)). For the n stops that are longer than C/X this is linear in X:
//! X = (hits − n C)/(T − Σ L), so there is one solution; it is found by halving an interval.

use sojourn_base::Fault;
use sojourn_base::units::show_count;

use crate::drive::measurement::Measurement;
use crate::judge::excluded;

/// Less than this share of the time is not worth a word.
const LITTLE: f64 = 0.01;
/// Halvings of the interval in which the rate lies.
const STEPS: u32 = 60;

/// A rate, and what it was before the client's stops were left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peak {
    /// Hits over the time in which the server was supplied, requests/s.
    pub rps: f64,
    /// Hits over all of the time, requests/s.
    plain_rps: f64,
}

impl Peak {
    /// Of `hits` completed in [from, to).
    pub(super) fn of(
        run: &Measurement,
        hits: u64,
        (from_ns, to_ns): (u64, u64),
    ) -> Result<Self, Fault> {
        let length_s = (to_ns - from_ns) as f64 / 1e9;
        let plain_rps = if length_s > 0.0 { hits as f64 / length_s } else { 0.0 };
        if !run.job.find_max || plain_rps <= 0.0 {
            return Ok(Self { rps: plain_rps, plain_rps });
        }
        let mut stops_s = Vec::new();
        for thread in 0..run.threads.len() {
            let log = excluded::log_of(run, Some(thread))?;
            let inside = log.iter().map(|o| (o.start_ns.max(from_ns), o.end_ns().min(to_ns)));
            stops_s.extend(
                inside.filter(|(start, end)| start < end).map(|(a, b)| (b - a) as f64 / 1e9),
            );
        }
        let in_flight = f64::from(run.job.connections) * f64::from(run.job.depth.max(1));
        let clients = run.threads.len() as f64;
        let rps = supplied(hits as f64, length_s, &stops_s, in_flight, clients);
        Ok(Self { rps, plain_rps })
    }

    /// What was left out, if it is worth a word. Without any hit there is no rate to speak of.
    pub(super) fn note(&self) -> Option<String> {
        let share = 1.0 - self.plain_rps / self.rps.max(f64::MIN_POSITIVE);
        (self.rps > 0.0 && share > LITTLE).then(|| {
            format!(
                "the client left the server without requests for {:.1} % of the time: {}/s over the \
                 rest, {}/s over all of it",
                share * 100.0,
                show_count(self.rps),
                show_count(self.plain_rps)
            )
        })
    }
}

/// The rate at which `hits` were completed in `length_s`, less what `stops_s` of one of `clients`
/// threads each took from the server, which has `in_flight` requests of all.
fn supplied(hits: f64, length_s: f64, stops_s: &[f64], in_flight: f64, clients: f64) -> f64 {
    let rate = |rps: f64| {
        let idle_s: f64 = stops_s.iter().map(|stop| (stop - in_flight / rps).max(0.0)).sum();
        hits / (length_s - idle_s / clients).max(length_s / 100.0)
    };
    let (mut low, mut high) = (hits / length_s, 100.0 * hits / length_s);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if rate(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::summary::summarise;
    use crate::protocols::Outcome;
    use crate::watch::outage::Outage;

    #[test]
    fn a_stop_costs_what_is_longer_than_the_work_in_flight() {
        // 1000/s for 9.9 s of 10: 100 in flight last 100 ms of each of two stops of 150 ms.
        let result = supplied(9900.0, 10.0, &[0.15, 0.15], 100.0, 1.0);
        assert!((result - 1000.0).abs() < 1e-6, "{result}");
        let short = supplied(10_000.0, 10.0, &[0.05; 20], 100.0, 1.0);
        assert!((short - 1000.0).abs() < 1e-6, "all of them within the work in flight: {short}");
        let one_of_two = supplied(9950.0, 10.0, &[0.15, 0.15], 100.0, 2.0);
        assert!((one_of_two - 1000.0).abs() < 1e-6, "the other thread went on: {one_of_two}");
    }

    /// One server of 100 µs and 16 connections; the client stands still for 20 ms ten times a second.
    #[test]
    fn a_simulated_closed_loop_finds_the_rate_of_a_client_that_never_stopped() {
        const SERVICE_NS: u64 = 100_000;
        let stop_at = |ns: u64| (ns % 100_000_000 < 20_000_000).then_some(ns / 100_000_000);
        let awake = |ns: u64| stop_at(ns).map_or(ns, |nth| nth * 100_000_000 + 20_000_000);
        let job = Job { find_max: true, connections: 16, requests_max: 100_000, ..fake::job() };
        let mut run = fake::run(job, 0, 0);
        let thread = &mut run.threads[0];
        let mut replies = std::collections::BinaryHeap::new();
        let (mut idle_ns, count) = (0, thread.marks.sent_ns.len());
        for i in 0..count {
            let sent_ns = if i < 16 {
                1
            } else {
                awake(replies.pop().map_or(0, |r: std::cmp::Reverse<u64>| r.0))
            };
            idle_ns = idle_ns.max(sent_ns) + SERVICE_NS;
            replies.push(std::cmp::Reverse(idle_ns));
            thread.marks.sent_ns[i] = sent_ns;
            thread.marks.done_ns[i] = awake(idle_ns);
            thread.marks.outcome[i] = Outcome::Hit;
        }
        thread.outages = (0..21)
            .map(|nth| Outage { start_ns: nth * 100_000_000, length_ns: 20_000_000 })
            .collect();
        let result = summarise(&run).unwrap();
        assert!((result.achieved_rps / 10_000.0 - 1.0).abs() < 0.01, "{}", result.achieved_rps);
        let note = result.notes.iter().find(|note| note.contains("without requests"));
        assert!(note.unwrap().contains("for 18."), "20 ms less 16 × 100 µs, of 100: {note:?}");
    }

    #[test]
    fn a_run_without_a_hit_says_nothing_of_the_client() {
        for find_max in [false, true] {
            let mut run = fake::run(Job { find_max, ..fake::job() }, 0, 1_000);
            run.threads[0].marks.outcome.fill(Outcome::Status);
            let notes = summarise(&run).unwrap().notes;
            assert!(!notes.iter().any(|note| note.contains("without requests")), "{notes:?}");
        }
    }

    #[test]
    fn an_open_loop_is_left_as_it_is() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        let before = summarise(&run).unwrap().achieved_rps;
        run.threads[0].outages.push(Outage { start_ns: 500_000_000, length_ns: 300_000_000 });
        assert!((summarise(&run).unwrap().achieved_rps - before).abs() < 1e-9);
    }
}
