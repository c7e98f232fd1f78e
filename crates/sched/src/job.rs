//! What is to be done, as JSON; all times as people type them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_base::{Fault, job};

/// Tasks that are granted the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Class {
    /// By which it is reported; "default": everybody who is in no other class.
    pub name: String,
    /// Processes, with what they start from then on; or single threads.
    pub pids: Vec<u32>,
    /// Folders of control groups of version 2, with all below them.
    pub cgroups: Vec<String>,
    /// Share of a CPU among those who want it; 100 is the usual. The nice value comes on top.
    pub weight: f64,
    /// Virtual time that its tasks may borrow.
    pub warp: String,
    /// A task that has run for so long without sleep has no warp until it sleeps; "": no limit.
    pub limit: String,
}

impl Default for Class {
    fn default() -> Self {
        Self {
            name: String::new(),
            pids: Vec::new(),
            cgroups: Vec::new(),
            weight: 100.0,
            warp: "0".into(),
            limit: String::new(),
        }
    }
}

/// Everything that decides what the scheduler does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Who is granted what.
    pub classes: Vec<Class>,
    /// How far a runner may get ahead of another before it loses the CPU; also the slice.
    pub allowance: String,
    /// A runner that somebody will soon have overtaken is left alone for so long.
    pub grace: String,
    /// How far behind the others a task may come back from sleep; 12ms: as CFS (L20).
    pub credit: String,
    /// How long; "": until it is ended.
    pub duration: String,
}

/// The allowance is what CFS calls the least granularity (L20), the grace the simulator's.
impl Default for Job {
    fn default() -> Self {
        Self {
            classes: Vec::new(),
            allowance: "3ms".into(),
            grace: "500us".into(),
            credit: "0".into(),
            duration: String::new(),
        }
    }
}

const FIX: &str = "`sojourn-sched --help` has a job";

/// Reads a job: its text, which begins with a brace, or the file that holds it; `-` is stdin.
pub fn read(reported: &str) -> Result<Job, Fault> {
    if reported.trim_start().starts_with('{') {
        return job::parse(reported, FIX);
    }
    job::read(Path::new(reported), FIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_defaults_and_unknown_keys_are_refused() {
        let job = read(r#" {"classes": [{"name": "web", "pids": [7], "warp": "5 ms"}]}"#).unwrap();
        assert_eq!((job.classes[0].weight, job.allowance.as_str()), (100.0, "3ms"));
        let fault = read(r#"{"classes": [{"name": "web", "wrap": "5ms"}]}"#).unwrap_err();
        assert!(fault.fix.contains("did you mean warp"), "{fault}");
        assert_eq!(read("/nowhere/job.json").unwrap_err().exit, 2);
    }
}
