//! What is seen while a run goes on: one line a second, or as often as asked, for people or as JSON,
//! on stderr; and one when the load has ended.
//!
//! Read from counts that the threads publish; they never wait for whoever looks. Who shows the lines
//! sleeps until the next is due or the last thread has ended: it may share a CPU with one of them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde::Serialize;
use sojourn_base::scrape::Listener;
use sojourn_base::units::{show_count, show_ns};

use crate::drive::Live;
use crate::drive::running::Running;
use crate::drive::window::{Answered, Window, at_quantile};
use crate::metrics::Seen;

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

/// Shows lines of progress while a run goes on.
pub struct Progress {
    form: Form,
    every: Duration,
    before: Totals,
    answered: Answered,
    at: Instant,
    listener: Option<Listener>,
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
            answered: Answered::default(),
            at: Instant::now(),
            listener: None,
        }
    }

    /// The same with a line each `every`.
    #[must_use]
    pub fn every(self, every: Duration) -> Self {
        Self { every, ..self }
    }

    /// The same, and each window says how many requests took longer than `bound_ns`.
    #[must_use]
    pub fn bound(mut self, bound_ns: Option<u64>) -> Self {
        self.answered.bound_ns = bound_ns;
        self
    }

    /// The same, and Prometheus is answered meanwhile.
    #[must_use]
    pub fn listen(self, listener: Option<Listener>) -> Self {
        Self { listener, ..self }
    }

    /// What answers Prometheus; the threads have to count for it.
    pub(super) fn listener(&mut self) -> Option<Listener> {
        self.listener.take()
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
        self.status("working out the result");
    }

    /// On a terminal: what is done before or after the load. An empty `text` clears the line.
    pub fn status(&self, text: &str) {
        if self.form == Form::Text {
            let indent = if text.is_empty() { "" } else { "  " };
            write(&format!("\r\x1b[K{indent}{text}"));
        }
    }

    fn second(&mut self, live: &[Arc<Live>]) -> Second {
        let now = Totals::of(live);
        let past_s = self.at.elapsed().as_secs_f64();
        let before = std::mem::replace(&mut self.before, now);
        self.at = Instant::now();
        let recent = recent_ns(live);
        let window = self.answered.window(live, past_s);
        let t_ns = live.iter().map(|live| live.now_ns.load(Relaxed)).max().unwrap_or(0);
        Second {
            t_s: t_ns as f64 / 1e9,
            sent_rps: (now.sent - before.sent) as f64 / past_s,
            done_rps: (now.done - before.done) as f64 / past_s,
            in_flight: now.in_flight(),
            errors: now.errors,
            p50_ns: at_quantile(&recent, 0.5),
            p99_ns: at_quantile(&recent, 0.99),
            window,
            ..Second::default()
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

impl Totals {
    fn of(live: &[Arc<Live>]) -> Self {
        let sum = |count: fn(&Live) -> u64| live.iter().map(|live| count(live)).sum::<u64>();
        Self {
            sent: sum(|live| live.sent.load(Relaxed)),
            done: sum(|live| live.done.load(Relaxed)),
            gone: sum(|live| live.gone.load(Relaxed)),
            errors: sum(|live| live.errors.load(Relaxed)),
        }
    }

    fn in_flight(&self) -> u64 {
        self.sent.saturating_sub(self.done + self.gone)
    }
}

/// What Prometheus gets of a run that goes on.
pub(super) fn seen(live: &[Arc<Live>]) -> Seen {
    let now = Totals::of(live);
    let mut seen = Seen {
        sent: now.sent,
        answered: now.done,
        failed: now.errors,
        in_flight: now.in_flight(),
        ..Seen::default()
    };
    for times in live.iter().filter_map(|live| live.times.get()) {
        times.add_to(&mut seen.times, &mut seen.sum_ns);
    }
    seen
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
