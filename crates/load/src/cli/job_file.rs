//! The job as JSON, from a file or from another program.

use std::path::Path;

use sojourn_base::{Fault, job};

use crate::job::Job;

const FIX: &str = "`sojourn-load --describe` prints the job's JSON Schema";

/// Reads the job at `path`; `-` is stdin.
pub fn read(path: &Path) -> Result<Job, Fault> {
    job::read(path, FIX)
}

/// Reads a job's text; names the key that is unknown and what it may have meant.
#[cfg(test)]
pub fn parse(text: &str) -> Result<Job, Fault> {
    job::parse(text, FIX)
}
