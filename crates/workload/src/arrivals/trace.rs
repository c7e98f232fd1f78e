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
//! What follows a number on its line, such as a path, is not read here. Timestamps ascend; only their
//! differences count. Empty lines and lines that begin with `#` are skipped. The trace brings its own
//! rate, which replaces the job's; `trace:FILE,speed=2` goes twice as fast, and `trace:FILE,scaled`
//! keeps the shape and takes the job's rate. A run longer than the trace repeats it from the start;
//! before the first arrival of timestamps is the mean gap, since the file does not say what came before.

use std::path::Path;
use std::sync::Arc;

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::Rng;

use super::{ArrivalKind, ArrivalProcess, Process};

const USAGE: &str = "trace:FILE[,scaled|,speed=N]";

#[derive(Debug)]
struct Trace {
    /// In mean gaps; never empty.
    gaps: Arc<[f64]>,
    next: usize,
    own_rate_rps: Option<f64>,
}

impl ArrivalProcess for Trace {
    fn next_gap(&mut self, _rng: &mut Rng) -> f64 {
        let gap = self.gaps[self.next];
        self.next = (self.next + 1) % self.gaps.len();
        gap
    }
    /// Unknown: a part of a trace may hold any number of arrivals.
    fn dispersion(&self) -> f64 {
        f64::INFINITY
    }
    fn own_rate_rps(&self) -> Option<f64> {
        self.own_rate_rps
    }
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
                about: "first line timestamp_s or gap_ns, then one number a line",
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
        ],
        needs: &[],
        source: "METHOD M1",
    },
    build,
};

fn build(text: &str, _rate_rps: f64) -> Result<Process, Fault> {
    if text.contains(",speed=") && text.split(',').any(|word| word == "scaled") {
        let fix = "leave one of them out: with scaled, the rate is the job's";
        return Err(Fault::usage("a trace has both a speed and the job's rate", "trace", fix));
    }
    let (file, is_scaled) = text.strip_suffix(",scaled").map_or((text, false), |file| (file, true));
    let (file, speed) = match file.rsplit_once(",speed=") {
        Some((file, speed)) => (file, speed_of(speed)?),
        None => (file, 1.0),
    };
    if file.is_empty() {
        return Err(Fault::usage("no trace file is named", "trace", format!("write {USAGE}")));
    }
    let lines = std::fs::read_to_string(Path::new(file)).map_err(|error| {
        let fix = "name a text file that exists and may be read";
        Fault::usage(format!("the trace cannot be read: {error}"), file, fix)
    })?;
    let gaps_ns = read(&lines).map_err(|fault| fault.within(file))?;
    let mean_ns = gaps_ns.iter().sum::<f64>() / gaps_ns.len() as f64;
    let gaps = gaps_ns.iter().map(|gap| gap / mean_ns).collect();
    Ok(Box::new(Trace {
        gaps,
        next: 0,
        own_rate_rps: (!is_scaled).then_some(1e9 * speed / mean_ns),
    }))
}

fn speed_of(text: &str) -> Result<f64, Fault> {
    text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0).ok_or_else(|| {
        Fault::usage(format!("the speed is '{text}'"), "trace", "give a number above 0, such as 2")
    })
}

/// The gaps in a trace, ns: at least one, and not all 0. Faults name the line.
fn read<'a>(text: &'a str) -> Result<Vec<f64>, Fault> {
    let lines = text
        .lines()
        .zip(1..)
        .map(|(line, number)| (line.trim(), number))
        .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let first_word = |line: &'a str| line.split_whitespace().next().unwrap_or(line);
    let mut lines = lines.map(|(line, number)| (first_word(line), number));
    let head = lines.next();
    let mut numbers = Vec::new();
    for (line, number) in lines {
        match line.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => numbers.push((value, number)),
            _ => return Err(wrong(format!("'{line}' is no number of 0 or more"), number)),
        }
    }
    let gaps = match head {
        Some(("gap_ns", _)) => numbers.into_iter().map(|(gap, _)| gap).collect(),
        Some(("timestamp_s", _)) => differences(&numbers)?,
        Some((line, number)) => {
            return Err(wrong(format!("the first line is '{line}'"), number));
        }
        None => return Err(wrong("the file is empty".into(), 1)),
    };
    if gaps.iter().sum::<f64>() <= 0.0 {
        return Err(wrong("there is no gap above 0 in it".into(), 1));
    }
    Ok(gaps)
}

fn differences(stamps_s: &[(f64, usize)]) -> Result<Vec<f64>, Fault> {
    let mut gaps = vec![0.0]; // before the first arrival: see below
    gaps.reserve(stamps_s.len());
    for pair in stamps_s.windows(2) {
        let ((before, _), (now, number)) = (pair[0], pair[1]);
        if now < before {
            return Err(wrong(format!("{now} comes after {before}"), number));
        }
        gaps.push((now - before) * 1e9);
    }
    gaps[0] = gaps.iter().sum::<f64>() / (gaps.len() - 1).max(1) as f64;
    Ok(gaps)
}

fn wrong(what: String, line: usize) -> Fault {
    let fix = "begin the file with a line timestamp_s or gap_ns, then one ascending time in s, or \
               one gap in ns, a line";
    Fault::usage(what, format!("line {line}"), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_and_gaps_say_the_same() {
        let stamps = read("timestamp_s\n# night\n10.0\n\n10.5\n12.0\n").unwrap();
        assert_eq!(stamps, [1e9, 0.5e9, 1.5e9]);
        assert_eq!(read("gap_ns\n100\n200\n").unwrap(), [100.0, 200.0]);
        let log = read("timestamp_s path\n10 /a\n10.5 /b c\n12\t/a\n").unwrap();
        assert_eq!(log, stamps, "what stands behind the times is somebody else's");
    }

    #[test]
    fn mistakes_name_the_line() {
        let wrong = [
            ("", "line 1"),
            ("1\n2\n", "line 1"),
            ("gap_ns\n", "line 1"),
            ("gap_ns\n0\n0\n", "line 1"),
            ("gap_ns\n5\nx\n", "line 3"),
            ("gap_ns\n5\n-1\n", "line 3"),
            ("timestamp_s\n2\n\n1\n", "line 4"),
            ("gap_ns\nNaN\n", "line 2"),
        ];
        for (text, at) in wrong {
            assert_eq!(read(text).unwrap_err().at, at, "{text:?}");
        }
        assert!(build("/no/such/file", 1.0).unwrap_err().at.contains("/no/such/file"));
        for both in ["f,speed=2,scaled", "f,scaled,speed=2"] {
            let fault = build(both, 1.0).unwrap_err();
            assert!(fault.what.contains("both a speed and the job's rate"), "{both}: {fault}");
        }
    }

    #[test]
    fn a_trace_brings_its_own_rate_unless_it_is_scaled() {
        let path = std::env::temp_dir().join(format!("sojourn-trace-{}", std::process::id()));
        std::fs::write(&path, "gap_ns\n1000\n3000\n").unwrap();
        let text = path.display().to_string();
        let own = build(&text, 7.0).unwrap();
        let mut scaled = build(&format!("{text},scaled"), 7.0).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((own.own_rate_rps(), scaled.own_rate_rps()), (Some(500_000.0), None));
        let mut rng = sojourn_base::rng::stream(1, "trace", 0);
        let gaps: Vec<f64> = (0..4).map(|_| scaled.next_gap(&mut rng)).collect();
        assert_eq!(gaps, [0.5, 1.5, 0.5, 1.5], "repeated");
    }
}
