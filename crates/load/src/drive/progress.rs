//! What is seen while a run goes on: one line a second, or as often as asked, for people or as JSON,
//! on stderr; and one when the load has ended.
//!
//! Read from counts that the threads publish; they never wait for whoever looks. Who shows the lines
//! sleeps until the next is due or the last thread has ended: it may share a CPU with one of them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use serde::Serialize;
use sojourn_base::units::{show_count, show_ns};

use crate::drive::Live;
use crate::drive::watch::RECENT;

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line that is written over.
    Text,
    /// One JSON object a line.
    Json,
    /// Nothing.
    Off,
}

/// Of the normal distribution: 95 % lie within so many standard deviations.
const Z95: f64 = 1.959_963_985;

/// Between two lines, unless the job says otherwise.
pub const EVERY: Duration = Duration::from_secs(1);

/// One second, seen from outside.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Second {
    /// Time since the start of the warm-up, s; the measured part starts at `warmup_s`.
    pub t_s: f64,
    /// Length of the warm-up, s.
    pub warmup_s: f64,
    /// Length of warm-up and measured part, s.
    pub length_s: f64,
    /// Requests sent per second since the last line.
    pub sent_rps: f64,
    /// Requests answered per second since the last line.
    pub done_rps: f64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Requests that did not end as a hit, from the start.
    pub errors: u64,
    /// Median of the last sojourn times, ns; 0: none yet.
    pub p50_ns: u64,
    /// Their 99th percentile, ns.
    pub p99_ns: u64,
    /// The load has ended: this line is the last.
    pub ended: bool,
    /// The requests that were answered since the last line, for `sojourn manage`.
    pub window: Window,
}

/// Requests that were answered in the last stretch of time: how many, and their p99.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Window {
    /// Length of the stretch: since the last line, or less where more came than are remembered.
    pub length_ms: u64,
    /// Requests in it.
    pub n: u64,
    /// Their 99th percentile, ns; none without requests.
    pub p99_ns: Option<u64>,
    /// Lower end of its 95 % interval, ns; none: too few requests.
    pub lo_ns: Option<u64>,
    /// Upper end, ns; none: too few requests.
    pub hi_ns: Option<u64>,
    /// Requests above the `QoS` bound; none: the job has no bound.
    pub above: Option<u64>,
}

/// Shows lines of progress while a run goes on.
pub struct Progress {
    form: Form,
    every: Duration,
    before: Totals,
    answered: Vec<u64>,
    bound_ns: Option<u64>,
    at: Instant,
}

/// How many threads of a run have yet to end, and who waits for that.
#[derive(Debug)]
pub struct Running {
    left: AtomicUsize,
    waits: Thread,
}

/// One of them; dropped, it has ended.
#[derive(Debug)]
pub struct Ends<'a>(&'a Running);

impl Running {
    /// So many threads, for which the calling one waits.
    pub fn new(threads: usize) -> Self {
        Self { left: AtomicUsize::new(threads), waits: thread::current() }
    }

    /// What one of them holds while it runs.
    pub fn one(&self) -> Ends<'_> {
        Ends(self)
    }

    /// Sleeps until all have ended or `due` has come; true: they have ended.
    fn await_end(&self, due: Instant) -> bool {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if self.left.load(Acquire) == 0 || left.is_zero() {
                return self.left.load(Acquire) == 0;
            }
            thread::park_timeout(left); // it may wake for no reason
        }
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if self.0.left.fetch_sub(1, Release) == 1 {
            self.0.waits.unpark();
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Totals {
    sent: u64,
    done: u64,
    gone: u64,
    errors: u64,
}

impl Progress {
    /// A count that starts at zero, shown in `form`, a line each second.
    pub fn new(form: Form) -> Self {
        Self {
            form,
            every: EVERY,
            before: Totals::default(),
            answered: Vec::new(),
            bound_ns: None,
            at: Instant::now(),
        }
    }

    /// The same with a line each `every`.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// The same, and each window says how many requests took longer than `bound_ns`.
    #[must_use]
    pub fn bound(self, bound_ns: Option<u64>) -> Self {
        Self { bound_ns, ..self }
    }

    /// Shows lines until all of `running` have ended, and one more then; on the calling thread.
    pub fn follow(
        &mut self,
        live: &[Arc<Live>],
        (warmup_ns, length_ns): (u64, u64),
        running: &Running,
    ) {
        if self.form == Form::Off {
            return;
        }
        self.at = Instant::now();
        let mut is_over = false;
        while !is_over {
            let due = self.at + self.every;
            is_over = running.await_end(due);
            let mut second = self.second(live);
            second.warmup_s = warmup_ns as f64 / 1e9;
            second.length_s = length_ns as f64 / 1e9;
            second.ended = is_over;
            self.show(&second);
        }
        if self.form == Form::Text {
            write("\r\x1b[K");
        }
    }

    fn second(&mut self, live: &[Arc<Live>]) -> Second {
        let sum = |count: fn(&Live) -> u64| live.iter().map(|live| count(live)).sum::<u64>();
        let now = Totals {
            sent: sum(|live| live.sent.load(Relaxed)),
            done: sum(|live| live.done.load(Relaxed)),
            gone: sum(|live| live.gone.load(Relaxed)),
            errors: sum(|live| live.errors.load(Relaxed)),
        };
        let past_s = self.at.elapsed().as_secs_f64();
        let before = std::mem::replace(&mut self.before, now);
        self.at = Instant::now();
        let recent = recent_ns(live);
        let window = self.window(live, past_s);
        let t_ns = live.iter().map(|live| live.now_ns.load(Relaxed)).max().unwrap_or(0);
        Second {
            t_s: t_ns as f64 / 1e9,
            sent_rps: (now.sent - before.sent) as f64 / past_s,
            done_rps: (now.done - before.done) as f64 / past_s,
            in_flight: now.sent.saturating_sub(now.done + now.gone),
            errors: now.errors,
            p50_ns: at_quantile(&recent, 0.5),
            p99_ns: at_quantile(&recent, 0.99),
            window,
            ..Second::default()
        }
    }

    /// What was answered since the last line; a thread remembers its newest [`RECENT`] only.
    fn window(&mut self, live: &[Arc<Live>], past_s: f64) -> Window {
        self.answered.resize(live.len(), 0);
        let (mut times_ns, mut all) = (Vec::new(), 0);
        for (live, before) in live.iter().zip(&mut self.answered) {
            let done = live.done.load(Relaxed);
            let fresh = done.saturating_sub(std::mem::replace(before, done));
            all += fresh;
            let slots = (done - fresh.min(RECENT as u64)..done).map(|one| one as usize % RECENT);
            times_ns.extend(slots.map(|slot| live.recent_ns[slot].load(Relaxed)));
        }
        times_ns.sort_unstable();
        let share = if all > 0 { times_ns.len() as f64 / all as f64 } else { 1.0 };
        let (lo, hi) = interval(times_ns.len(), 0.99);
        let at = |rank: Option<usize>| rank.map(|rank| times_ns[rank - 1]);
        Window {
            length_ms: ((past_s * 1e3 * share).round() as u64).max(1),
            n: times_ns.len() as u64,
            p99_ns: (!times_ns.is_empty()).then(|| at_quantile(&times_ns, 0.99)),
            lo_ns: at(lo),
            hi_ns: at(hi),
            above: self.bound_ns.map(|bound_ns| {
                (times_ns.len() - times_ns.partition_point(|&ns| ns <= bound_ns)) as u64
            }),
        }
    }

    fn show(&self, second: &Second) {
        match self.form {
            Form::Text => write(&format!("\r\x1b[K{}", line(second))),
            Form::Json => {
                let text = serde_json::to_string(second).expect("plain data");
                write(&format!("{text}\n"));
            }
            Form::Off => {}
        }
    }
}

/// To stderr; if it is closed the line is lost.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

fn line(second: &Second) -> String {
    let part = if second.t_s < second.warmup_s { "warm-up" } else { "measured" };
    format!(
        "{:5.1} s of {:.0} s  {part}  sent {}/s  done {}/s  p50 {}  p99 {}  errors {}",
        second.t_s,
        second.length_s,
        show_count(second.sent_rps),
        show_count(second.done_rps),
        show_ns(second.p50_ns as f64),
        show_ns(second.p99_ns as f64),
        second.errors
    )
}

/// The last sojourn times of all threads, ascending.
fn recent_ns(live: &[Arc<Live>]) -> Vec<u64> {
    let mut all: Vec<u64> = live
        .iter()
        .flat_map(|live| live.recent_ns.iter().map(|ns| ns.load(Relaxed)))
        .filter(|&ns| ns > 0)
        .collect();
    all.sort_unstable();
    all
}

/// Ranks (from 1) of the two order statistics that cover a quantile of `n` independent times in
/// 95 of 100 cases (M10); none where there is no such one.
fn interval(n: usize, q: f64) -> (Option<usize>, Option<usize>) {
    let (mean, spread) = (n as f64 * q, Z95 * (n as f64 * q * (1.0 - q)).sqrt());
    let (lo, hi) = ((mean - spread + 1e-9).floor(), (mean + spread - 1e-9).ceil() + 1.0);
    let within = |rank: f64| (rank >= 1.0 && rank <= n as f64).then_some(rank as usize);
    (within(lo), within(hi))
}

fn at_quantile(ascending: &[u64], q: f64) -> u64 {
    let rank = (q * ascending.len() as f64).ceil() as usize;
    ascending.get(rank.max(1) - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::protocols::Outcome;

    #[test]
    fn a_second_counts_what_the_threads_published() {
        let live = Arc::new(Live::new(Arc::new(AtomicBool::new(false))));
        (1..=100).for_each(|us| live.done(us * 1000, Outcome::Hit));
        live.done(5_000_000, Outcome::Miss);
        live.publish(110, 3_000_000_000);
        let second = Progress::new(Form::Off).second(&[live]);
        assert_eq!((second.t_s, second.in_flight, second.errors), (3.0, 9, 1));
        assert_eq!((second.p50_ns, second.p99_ns), (51_000, 100_000));
    }

    #[test]
    fn a_window_has_what_was_answered_since_the_last_line_and_no_more() {
        let live = [Arc::new(Live::new(Arc::default())), Arc::new(Live::new(Arc::default()))];
        let mut progress = Progress::new(Form::Off).bound(Some(900_000));
        (1..=500).for_each(|us| live[0].done(us * 1000, Outcome::Hit));
        (501..=1000).for_each(|us| live[1].done(us * 1000, Outcome::Hit));
        let first = progress.window(&live, 0.1);
        assert_eq!((first.length_ms, first.n, first.p99_ns), (100, 1000, Some(990_000)));
        // Ranks of n = 1000, q = 0.99: 990 - 1.96 * 3.146 and 990 + 1.96 * 3.146 + 1.
        assert_eq!((first.lo_ns, first.hi_ns), (Some(983_000), Some(998_000)));
        assert_eq!(first.above, Some(100));
        (0..100).for_each(|_| live[1].done(7000, Outcome::Hit));
        let second = progress.window(&live, 0.1);
        assert_eq!((second.n, second.p99_ns, second.hi_ns), (100, Some(7000), None));
        let third = progress.window(&live, 0.1);
        assert_eq!((third.n, third.p99_ns, third.lo_ns), (0, None, None));
        (0..2 * RECENT).for_each(|_| live[0].done(9000, Outcome::Hit));
        let last = progress.window(&live, 0.1);
        assert_eq!((last.n, last.length_ms), (RECENT as u64, 50), "of the newest half");
    }

    #[test]
    fn the_interval_needs_563_requests_for_its_upper_end() {
        assert_eq!(interval(562, 0.99).1, None);
        assert_eq!(interval(563, 0.99).1, Some(563));
        assert_eq!(interval(1000, 0.5), (Some(469), Some(532)));
    }

    #[test]
    fn who_waits_sleeps_until_the_last_thread_has_ended_or_a_line_is_due() {
        let running = Running::new(2);
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(!running.await_end(soon) && Instant::now() >= soon, "a line is due");
        thread::scope(|scope| {
            let (first, last) = (running.one(), running.one());
            drop(first);
            assert!(!running.await_end(Instant::now()), "one still runs");
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(5));
                drop(last);
            });
            assert!(running.await_end(Instant::now() + Duration::from_secs(3600)));
        });
        assert!(running.await_end(Instant::now()));
    }

    #[test]
    fn what_was_given_up_is_no_reply() {
        let live = Arc::new(Live::new(Arc::new(AtomicBool::new(false))));
        (0..7).for_each(|_| live.gone());
        live.publish(10, 3_000_000_000);
        let second = Progress::new(Form::Off).second(&[live]);
        assert_eq!((second.in_flight, second.errors, second.p99_ns), (3, 7, 0));
        assert!(second.done_rps == 0.0, "{second:?}");
    }

    #[test]
    fn a_line_fits_eighty_columns_of_usual_numbers() {
        let second = Second {
            t_s: 12.0,
            length_s: 30.0,
            sent_rps: 5e4,
            done_rps: 5e4,
            p50_ns: 31_200,
            p99_ns: 1_310_000,
            ..Second::default()
        };
        assert!(line(&second).chars().count() <= 100, "{}", line(&second));
    }
}
