//! Seconds of a run, written while it goes on: one JSON object a line, in order.
//!
//! A second is written when every request due in it has been answered or has failed, so a process that is
//! killed leaves all of them but the last. Outages of the instrument are not left out: what they exclude
//! is known at the end only. The histograms of the lines add up to the result's `sojourn_all_ns`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use sojourn_base::span::{Span, Times};
use sojourn_base::units::NS_PER_S;
use sojourn_base::{Fault, files};

use crate::protocols::Outcome;
use crate::tally::request::Request;

/// One line.
#[derive(Debug, Serialize)]
struct Line {
    /// Start of the second, s after the start of the measured part.
    second: u64,
    /// Sojourn times of the requests due in it, ns; failed ones are `lost`.
    sojourn_all_ns: Span,
}

/// Writes a line for each second of the run when it is over.
#[derive(Debug)]
pub struct Seconds {
    file: File,
    path: String,
    measured: (u64, u64),
    /// The next second to be written.
    next: u64,
    open: BTreeMap<u64, Times>,
    /// Why a line could not be written; no more are then.
    fault: Option<Fault>,
}

impl Seconds {
    /// Writes to a new file at `path`; the measured part is planned to be [from, to), ns.
    pub fn create(path: &Path, measured: (u64, u64)) -> Result<Self, Fault> {
        let name = path.display().to_string();
        let file = files::begin(path).map_err(|error| fault(&name, &error))?;
        Ok(Self { file, path: name, measured, next: 0, open: BTreeMap::new(), fault: None })
    }

    /// Counts a request, which has ended, if it was due in the measured part.
    pub fn add(&mut self, request: &Request) {
        let (from_ns, to_ns) = self.measured;
        if !(from_ns..to_ns).contains(&request.intended_ns) {
            return;
        }
        let times = self.open.entry((request.intended_ns - from_ns) / NS_PER_S).or_default();
        match request.outcome {
            Outcome::Hit => times.add(request.done_ns.saturating_sub(request.intended_ns)),
            _ => times.add_lost(),
        }
    }

    /// All requests due before `ns` have been counted: writes the seconds that end by then.
    pub fn write_before(&mut self, ns: u64) {
        let (from_ns, to_ns) = self.measured;
        while from_ns + self.next * NS_PER_S < to_ns
            && (from_ns + (self.next + 1) * NS_PER_S).min(to_ns) <= ns
        {
            let times = self.open.remove(&self.next).unwrap_or_default();
            self.write(&Line { second: self.next, sojourn_all_ns: times.span() });
            self.next += 1;
        }
    }

    /// The run was over at `to_ns`: writes what is left, and says what could not be written.
    pub fn finish(mut self, to_ns: u64) -> Result<(), Fault> {
        self.measured.1 = to_ns;
        self.write_before(to_ns);
        self.fault.map_or(Ok(()), Err)
    }

    /// The run was over at `to_ns` at the latest: nothing due later counts.
    pub fn cut(&mut self, to_ns: u64) {
        self.measured.1 = to_ns;
    }

    fn write(&mut self, line: &Line) {
        if self.fault.is_some() {
            return;
        }
        let mut text = serde_json::to_string(line).expect("plain data");
        text.push('\n');
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            self.fault = Some(fault(&self.path, &error));
        }
    }
}

fn fault(path: &str, error: &std::io::Error) -> Fault {
    let fix = "free space on the disk, or name a file in a folder that exists and may be written";
    Fault::failed(format!("the seconds cannot be written: {error}"), path, fix)
}
