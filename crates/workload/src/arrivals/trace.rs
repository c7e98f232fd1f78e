//! Replay of recorded arrivals.
//!
//! The file is text: a first line that says what the numbers are, then one number a line.
//!
//! ```text
//! timestamp_s          or:  gap_ns
//! 12.000000                 18000
//! 12.000018                 500
//! ```
//!
//! Without a first line that says it, numbers since 1970 (in s, ms, µs or ns by their size) and dates are
//! times too, and so are those of a log of requests (see [`crate::replay`], also for times of whole
//! seconds); `trace:FILE,method=GET` has those of one method alone.
//!
//! What follows a number on its line, such as a path, is not read here. Timestamps ascend; only their
//! differences count. Empty lines and lines that begin with `#` are skipped. The trace brings its own
//! rate, which replaces the job's; `trace:FILE,speed=2` goes twice as fast, and `trace:FILE,scaled`
//! keeps the shape and takes the job's rate. A run longer than the trace repeats it from the start;
//! before the first arrival of timestamps is the mean gap, since the file does not say what came before.

use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::Rng;

use super::{ArrivalKind, ArrivalProcess, Process};
use crate::once::ReadOnce;
use crate::replay;

/// 317 years: times of a log are never further apart, and a sum without an end would leave no gap above 0.
const LENGTH_NS_MAX: f64 = 1e19;
const USAGE: &str = "trace:FILE[,scaled|,speed=N][,method=NAME]";
const METHOD: &str = ",method=";
const SPEED: &str = ",speed=";
const SCALED: &str = ",scaled";

/// Traces of this process, by file.
static TRACES: ReadOnce<Recorded> = ReadOnce::new();

/// A file's arrivals.
#[derive(Debug)]
struct Recorded {
    /// In mean gaps; never empty.
    gaps: Vec<f64>,
    mean_ns: f64,
    note: Option<String>,
}

#[derive(Debug)]
struct Trace {
    of: Arc<Recorded>,
    next: usize,
    own_rate_rps: Option<f64>,
}

impl ArrivalProcess for Trace {
    fn next_gap(&mut self, _rng: &mut Rng) -> f64 {
        let gap = self.of.gaps[self.next];
        self.next = (self.next + 1) % self.of.gaps.len();
        gap
    }
    /// Unknown: a part of a trace may hold any number of arrivals.
    fn dispersion(&self) -> f64 {
        f64::INFINITY
    }
    fn own_rate_rps(&self) -> Option<f64> {
        self.own_rate_rps
    }
    fn note(&self) -> Option<String> {
        self.of.note.clone()
    }
}

/// What a file says of arrivals.
#[derive(Debug, Default, PartialEq)]
struct Read {
    /// ns: at least one, and not all 0.
    gaps_ns: Vec<f64>,
    note: Option<String>,
}

pub(super) const KIND: ArrivalKind = ArrivalKind {
    kind: Kind {
        name: "trace",
        about: "recorded arrivals, at their own rate or scaled to the job's; repeated to the end",
        usage: USAGE,
        params: &[
            Param {
                name: "file",
                unit: "",
                about: "first line timestamp_s or gap_ns, then one number a line; or times since 1970, dates, or a log of requests",
                default: "",
                range: "",
            },
            Param {
                name: "scaled",
                unit: "",
                about: "take the job's rate, keep the shape",
                default: "own rate",
                range: "",
            },
            Param {
                name: "speed",
                unit: "",
                about: "go so many times as fast as recorded",
                default: "1",
                range: "> 0",
            },
            Param {
                name: "method",
                unit: "",
                about: "take only the requests of this method from a log",
                default: "all",
                range: "",
            },
        ],
        needs: &[],
        source: "METHOD M1",
    },
    build,
};

/// What stands behind `trace:`. It is read from its end, because the name of a file may hold commas.
struct Asked<'a> {
    file: &'a str,
    is_scaled: bool,
    /// As it is written.
    speed: Option<&'a str>,
    method: Option<&'a str>,
}

impl<'a> Asked<'a> {
    fn of(text: &'a str) -> Self {
        let part = |text: &'a str, at: &str| match text.rsplit_once(at) {
            Some((file, value)) => (file, Some(value)),
            None => (text, None),
        };
        let (text, method) = part(text, METHOD);
        let (text, is_scaled) =
            text.strip_suffix(SCALED).map_or((text, false), |file| (file, true));
        let (file, speed) = part(text, SPEED);
        Self { file, is_scaled, speed, method }
    }
}

/// The file that arrivals such as `trace:FILE,speed=2` are read from; `None`: they are no trace.
pub fn trace_file(arrivals: &str) -> Option<&str> {
    let (name, text) = arrivals.split_once(':')?;
    (name == KIND.kind.name).then(|| Asked::of(text).file)
}

/// Arrivals from a file, so many times as fast as recorded, of all requests or of those of a method.
pub fn trace_of(file: &str, speed: f64, method: Option<&str>) -> String {
    let method = method.map(|method| format!("{METHOD}{method}")).unwrap_or_default();
    format!("{}:{file}{SPEED}{speed}{method}", KIND.kind.name)
}

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    let Asked { file, is_scaled, speed, method } = Asked::of(text);
    if speed.is_some() && (is_scaled || file.ends_with(SCALED)) {
        let fix = "leave one of them out: with scaled, the rate is the job's";
        return Err(Fault::usage("a trace has both a speed and the job's rate", "trace", fix));
    }
    let speed = speed.map_or(Ok(1.0), speed_of)?;
    if file.is_empty() {
        return Err(Fault::usage("no trace file is named", "trace", format!("write {USAGE}")));
    }
    let name = format!("{file}{METHOD}{}", method.unwrap_or_default());
    let of = TRACES.get(&name, || recorded(file, method))?;
    let own_rate_rps = (!is_scaled).then_some(1e9 * speed / of.mean_ns);
    Ok(Box::new(Trace { of, next: 0, own_rate_rps }))
}

fn recorded(file: &str, method: Option<&str>) -> Result<Recorded, Fault> {
    let result = replay::text(file).and_then(|text| read(&text, file, method));
    let Read { mut gaps_ns, note } = result.map_err(|fault| fault.within(file))?;
    let mean_ns = gaps_ns.iter().sum::<f64>() / gaps_ns.len() as f64;
    for gap in &mut gaps_ns {
        *gap /= mean_ns;
    }
    Ok(Recorded { gaps: gaps_ns, mean_ns, note })
}

fn speed_of(text: &str) -> Result<f64, Fault> {
    text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0).ok_or_else(|| {
        Fault::usage(format!("the speed is '{text}'"), "trace", "give a number above 0, such as 2")
    })
}

/// What `text` of `file` says; faults name the line.
fn read(text: &str, file: &str, method: Option<&str>) -> Result<Read, Fault> {
    let result = match replay::access(text) {
        Some(log) => of_access(log?, method)?,
        None => of_columns(text, file)?,
    };
    let length_ns = result.gaps_ns.iter().sum::<f64>();
    if length_ns <= 0.0 {
        return Err(wrong("there is no gap above 0 in it".into(), 1));
    }
    if length_ns > LENGTH_NS_MAX {
        return Err(wrong("its gaps are together longer than 300 years".into(), 1));
    }
    Ok(result)
}

fn of_access(mut log: replay::Access<'_>, method: Option<&str>) -> Result<Read, Fault> {
    if !log.has_times {
        let what = "no request of this log has a time";
        let fix = "send its paths with another --arrivals, such as poisson at a --rate";
        return Err(Fault::usage(what, "", fix));
    }
    if let Some(method) = method {
        log.keep_method(method);
    }
    let mut stamps_ns: Vec<i64> = log.entries.iter().map(|entry| entry.at_ns).collect();
    let Read { gaps_ns, note } = of_stamps(&mut stamps_ns);
    Ok(Read { gaps_ns, note: replay::joined([note, log.note(), log.ends_note()]) })
}

fn of_columns(text: &str, file: &str) -> Result<Read, Fault> {
    let mut lines = replay::lines(text);
    let Some((head, _)) = lines.next() else { return Err(wrong("the file is empty".into(), 1)) };
    let word = head.split_whitespace().next().unwrap_or(head);
    if word == "gap_ns" {
        let gaps_ns =
            lines.map(|(line, number)| gap(line, number)).collect::<Result<_, Fault>>()?;
        return Ok(Read { gaps_ns, note: None });
    }
    if word != "timestamp_s" && !replay::is_self_evident(head) {
        return Err(wrong(format!("the first line is '{word}'"), 1));
    }
    let mut stamps_ns = Vec::new();
    for (line, number) in replay::lines(text).skip(usize::from(word == "timestamp_s")) {
        let word = || line.split_whitespace().next().unwrap_or(line);
        let now_ns = replay::time(line).ok_or_else(|| {
            wrong(format!("'{}' is not a number of 0 or more, and no date", word()), number)
        })?;
        if stamps_ns.last().is_some_and(|&before| now_ns < before) {
            let what = format!("'{}' lies before the time of the line ahead of it", word());
            let fix = format!(
                "bring the lines into the order of time: sort -s -n {file} (of dates: sort -s)"
            );
            return Err(Fault::usage(what, format!("line {number}"), fix));
        }
        stamps_ns.push(now_ns);
    }
    Ok(of_stamps(&mut stamps_ns))
}

/// From times that ascend.
fn of_stamps(stamps_ns: &mut [i64]) -> Read {
    let note = replay::spread(stamps_ns).map(|unit_ns| {
        format!(
            "times of the log are of {}, so each request lies at random within its own, the same in every \
             run",
            sojourn_base::units::show_ns(unit_ns as f64)
        )
    });
    let mut gaps_ns = vec![0.0]; // before the first arrival: see below
    gaps_ns.extend(stamps_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64));
    gaps_ns[0] = gaps_ns.iter().sum::<f64>() / (gaps_ns.len() - 1).max(1) as f64;
    Read { gaps_ns, note }
}

fn gap(line: &str, number: usize) -> Result<f64, Fault> {
    let word = line.split_whitespace().next().unwrap_or(line);
    let gap = word.parse().ok().filter(|gap: &f64| gap.is_finite() && *gap >= 0.0);
    gap.ok_or_else(|| wrong(format!("'{word}' is not a number of 0 or more"), number))
}

fn wrong(what: String, line: usize) -> Fault {
    let fix = "begin the file with a line timestamp_s or gap_ns, then one ascending time in s, or \
               one gap in ns, a line; access logs, dates and times since 1970 are read as they are, and \
               docs/howto/http.md has an awk line for others";
    Fault::usage(what, format!("line {line}"), fix)
}

#[cfg(test)]
mod tests;
