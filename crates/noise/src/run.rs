//! From a job to its last line: made, calibrated, let loose, watched, judged.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use sojourn_base::clock::{Clock, Monotonic, process_cpu_ns, sleep_until};
use sojourn_base::schedstat::Schedstat;
use sojourn_base::units::{NS_PER_S, parse_bytes, parse_count, parse_ns};
use sojourn_base::{Exit, Fault, files};

use crate::antagonist::{Antagonist, Entry, Made, Most, Pace, Shared, Wave, sharpen_timers};
use crate::antagonists;
use crate::calibrate::{self, Calibration};
use crate::intensity::Intensity;
use crate::job::Job;
use crate::line::{First, Last, SCHEMA, Second, judge};
use crate::words::Words;

const GRAIN_NS_MAX: u64 = NS_PER_S / 10;
const CALIBRATE_NS_MAX: u64 = 60 * NS_PER_S;

/// A job whose words were understood; nothing is made yet.
pub struct Ready {
    job: Job,
    entry: &'static Entry,
    words: Words,
    intensity: Intensity,
    duration_ns: Option<u64>,
    most_per_s: Option<f64>,
    calibrate_ns: u64,
    grain_ns: u64,
    tolerance: f64,
}

/// Reads the words of a job.
pub fn ready(job: Job) -> Result<Ready, Fault> {
    let entry = antagonists::find(&job.kind)?;
    let is_bytes = entry.unit == "bytes";
    let words = Words::new(&entry.kind, &job.params)?;
    let intensity = Intensity::parse(&job.intensity, is_bytes)?;
    let time = |text: &str, at: &str| parse_ns(text).map_err(|fault| fault.within(at));
    let most_per_s = match job.most.trim_end_matches("/s") {
        "" => None,
        text => {
            let read =
                if is_bytes { parse_bytes(text).map(|n| n as f64) } else { parse_count(text) };
            let most = read.map_err(|fault| fault.within("most"))?;
            if most <= 0.0 {
                let fix = "give units per second above 0, or leave it out: it is measured";
                return Err(Fault::usage(format!("the most is {most}"), "most", fix));
            }
            Some(most)
        }
    };
    let duration_ns = match job.duration.as_str() {
        "" => None,
        text => Some(time(text, "duration")?),
    };
    let calibrate_ns = time(&job.calibrate, "calibrate")?;
    if !(1_000_000..=CALIBRATE_NS_MAX).contains(&calibrate_ns) {
        let what = format!("{} is not a time to measure in", job.calibrate);
        return Err(Fault::usage(what, "calibrate", "give 1ms to 60s; or give --most"));
    }
    let grain_ns = time(&job.grain, "grain")?;
    if !(1000..=GRAIN_NS_MAX).contains(&grain_ns) {
        return Err(Fault::usage(
            format!("a burst of {}", job.grain),
            "grain",
            "give 1us to 100ms",
        ));
    }
    let Ok(Intensity::Share(tolerance)) = Intensity::parse(&job.tolerance, false) else {
        let what = format!("'{}' is not a tolerance", job.tolerance);
        return Err(Fault::usage(what, "tolerance", "write 0% to 100%"));
    };
    Ok(Ready {
        job,
        entry,
        words,
        intensity,
        duration_ns,
        most_per_s,
        calibrate_ns,
        grain_ns,
        tolerance,
    })
}

impl Ready {
    /// Makes the antagonist and throws it away: whether the machine has what it wants.
    pub fn check(&self) -> Result<(), Fault> {
        (self.entry.build)(&self.words, self.intensity).map(drop)
    }

    /// Runs it until its time is over, `stop` is set, or its parent is gone; answers the exit code.
    pub fn run(self, stop: &Arc<AtomicBool>, out: &mut dyn Write) -> Result<Exit, Fault> {
        sharpen_timers();
        let parent = rustix::process::getppid();
        let mut made = (self.entry.build)(&self.words, self.intensity)?;
        let result = self.most(&mut made, stop)?;
        let rate = self.rate(&made, result.most_per_s);
        let is_flat_out = made.wave.is_none() && rate.is_none();
        let start_ns = Monotonic.now_ns() + 1_000_000;
        let asked_per_s = made.wave.map_or(rate.unwrap_or(result.most_per_s), |w| w.duty() * 1e9);
        let due = Due { asked_per_s, wave: made.wave };
        let per_wait_s = if made.wave.is_some() { 1e9 } else { result.most_per_s };
        let pace = Pace {
            start_ns,
            rate_per_s: rate,
            most_per_s: result.most_per_s,
            grain_s: self.grain_ns as f64 / 1e9,
        };
        let first = First {
            schema: SCHEMA,
            kind: self.entry.kind.name,
            unit: self.entry.unit,
            asked_per_s,
            alone_per_s: result.most_per_s,
            per_wait_s,
            is_flat_out,
            calibration: result,
            told: made.told,
            job: self.job,
            pid: std::process::id(),
            at_ns: start_ns,
        };
        say(out, &first)?;
        let shared = Arc::new(Shared::default());
        let end_ns = self.duration_ns.map_or(u64::MAX, |ns| start_ns.saturating_add(ns));
        let is_orphan = || rustix::process::getppid() != parent;
        let watch = Watch { unit: self.entry.unit, due, start_ns, end_ns, shared: &shared };
        // Before the worker starts: what it does until this thread has its turn counts too.
        let begin = Moment { at_ns: start_ns, ..watch.now() };
        let worker = start(made.worker, pace, &shared, stop)?;
        let seen = watch.seconds(begin, stop, &is_orphan, out);
        stop.store(true, Ordering::Relaxed);
        let ended = worker.join().map_err(|_| {
            Fault::failed("the antagonist failed", self.entry.kind.name, "report it with the job")
        })?;
        let whole = seen?;
        ended?;
        let (is_held, why) = judge(&whole, per_wait_s, self.tolerance, is_flat_out);
        let forgone = shared.forgone.load(Ordering::Relaxed);
        let tolerance = self.tolerance;
        say(out, &Last { is_summary: true, whole, forgone, is_held, tolerance, why })?;
        Ok(if is_held == Some(false) { Exit::Unknown } else { Exit::Ok })
    }

    /// Units per second that are held; None: as many as go, or as the time table has it. A most that follows
    /// from parameters is a rate like another: to touch each page once a second takes no whole CPU.
    fn rate(&self, made: &Made, most_per_s: f64) -> Option<f64> {
        let all = made.most_per_s.map(|_| most_per_s);
        self.intensity.rate(most_per_s).or(all).filter(|_| made.wave.is_none())
    }

    fn most(&self, made: &mut Made, stop: &AtomicBool) -> Result<Calibration, Fault> {
        if let Some(most) = self.most_per_s {
            return Ok(Calibration::told("given", most));
        }
        if let (Most::Told, Some(most)) = (self.entry.most, made.most_per_s) {
            return Ok(Calibration::told("parameters", most));
        }
        calibrate::measure(made.worker.as_mut(), self.entry.most, self.calibrate_ns, stop)
    }
}

type Worker = std::thread::JoinHandle<Result<(), Fault>>;

fn start(
    mut worker: Box<dyn Antagonist>,
    pace: Pace,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
) -> Result<Worker, Fault> {
    let (shared, stop) = (Arc::clone(shared), Arc::clone(stop));
    let begin = move || {
        sharpen_timers();
        let ended = worker.run(pace, &shared, &stop);
        shared.is_over.store(true, Ordering::Relaxed);
        ended
    };
    std::thread::Builder::new().name("noise".into()).spawn(begin).map_err(|error| {
        let what = format!("no thread can be started: {error}");
        Fault::failed(what, "noise", "end something, or raise ulimit -u")
    })
}

/// What is due by some time after the start.
#[derive(Clone, Copy, Debug)]
struct Due {
    asked_per_s: f64,
    wave: Option<Wave>,
}

impl Due {
    fn units(self, elapsed_ns: u64) -> f64 {
        let by_rate = self.asked_per_s * elapsed_ns as f64 / 1e9;
        self.wave.map_or(by_rate, |wave| wave.due_ns(elapsed_ns) as f64)
    }
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at_ns: u64,
    units: u64,
    cpu_ns: u64,
    wait_ns: Option<u64>,
}

/// Watches the worker, and prints a line every second.
struct Watch<'a> {
    unit: &'static str,
    due: Due,
    start_ns: u64,
    end_ns: u64,
    shared: &'a Shared,
}

impl Watch<'_> {
    fn seconds(
        &self,
        begin: Moment,
        stop: &AtomicBool,
        is_orphan: &dyn Fn() -> bool,
        out: &mut dyn Write,
    ) -> Result<Second, Fault> {
        let mut before = begin;
        let is_ended =
            || stop.load(Ordering::Relaxed) || self.shared.is_over.load(Ordering::Relaxed);
        for nth in 1.. {
            let until_ns = (self.start_ns + nth * NS_PER_S).min(self.end_ns);
            while Monotonic.now_ns() < until_ns && !is_ended() {
                sleep_until(until_ns);
            }
            let now = self.now();
            let is_last = is_ended() || now.at_ns >= self.end_ns || is_orphan();
            if now.at_ns > before.at_ns {
                say(out, &self.between(before, now))?;
            }
            before = now;
            if is_last {
                break;
            }
        }
        Ok(self.between(begin, before))
    }

    fn now(&self) -> Moment {
        Moment {
            at_ns: Monotonic.now_ns(),
            units: self.shared.units.load(Ordering::Relaxed),
            cpu_ns: process_cpu_ns(),
            wait_ns: Schedstat::of_process("self").map(|threads| threads.waited_ns),
        }
    }

    fn between(&self, from: Moment, to: Moment) -> Second {
        let since = |ns: u64| ns.saturating_sub(self.start_ns);
        let length_s = (to.at_ns.saturating_sub(from.at_ns)) as f64 / 1e9;
        let per_s = |units: f64| if length_s > 0.0 { units / length_s } else { 0.0 };
        let due = self.due.units(since(to.at_ns)) - self.due.units(since(from.at_ns));
        let wait_ns = to.wait_ns.zip(from.wait_ns).map(|(to, from)| to.saturating_sub(from));
        Second {
            t_s: since(to.at_ns) as f64 / 1e9,
            at_ns: to.at_ns,
            length_s,
            unit: self.unit,
            asked_per_s: per_s(due),
            achieved_per_s: per_s((to.units - from.units) as f64),
            units: to.units,
            cpu_s: (to.cpu_ns - from.cpu_ns) as f64 / 1e9,
            runq_wait_s: wait_ns.map(|ns| ns as f64 / 1e9),
        }
    }
}

fn say(out: &mut dyn Write, line: &impl Serialize) -> Result<(), Fault> {
    let text = serde_json::to_string(line).unwrap_or_default(); // plain data: it cannot fail
    files::say(out, &format!("{text}\n"))
}
