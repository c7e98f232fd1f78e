//! What is to be done, as JSON or by flags.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sojourn_base::{Fault, job};

/// Everything that decides what the antagonist does; all times, sizes and rates as people type them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// The antagonist.
    pub kind: String,
    /// How much is asked: a share of the most, or a rate.
    pub intensity: String,
    /// Parameters of the kind, by name.
    pub params: BTreeMap<String, String>,
    /// How long; "": until it is ended.
    pub duration: String,
    /// Where it runs: `1` or `0,2-3`; "": where it is started.
    pub cpus: String,
    /// The most it can do, units per second; "": it is measured.
    pub most: String,
    /// How long it is measured.
    pub calibrate: String,
    /// How long a burst of work lasts flat out, at most.
    pub grain: String,
    /// What may be missing of what was asked: a share.
    pub tolerance: String,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            kind: String::new(),
            intensity: "100%".into(),
            params: BTreeMap::new(),
            duration: String::new(),
            cpus: String::new(),
            most: String::new(),
            calibrate: "500ms".into(),
            grain: "1ms".into(),
            tolerance: "5%".into(),
        }
    }
}

const FIX: &str = "`sojourn-noise --help` names the keys: they are the flags'";

/// Reads the job at `path`; `-` is stdin.
pub fn read(path: &Path) -> Result<Job, Fault> {
    job::read(path, FIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Job, Fault> {
        job::parse(text, FIX)
    }

    #[test]
    fn a_job_has_defaults_and_unknown_keys_are_refused() {
        let job = parse(r#"{"kind": "llc", "intensity": "25%", "params": {"size": "1MiB"}}"#);
        let job = job.unwrap();
        assert_eq!((job.kind.as_str(), job.grain.as_str()), ("llc", "1ms"));
        let fault = parse(r#"{"kind": "llc", "intesity": "25%"}"#).unwrap_err();
        assert!(fault.fix.contains("did you mean intensity"), "{fault}");
        assert_eq!(parse("{").unwrap_err().exit, 2);
    }
}
