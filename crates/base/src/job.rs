//! A job as JSON, from a file or from another program.

use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::Fault;
use crate::kind::hint;

/// Reads the job at `path`; `-` is stdin. `fix` says where its keys are explained.
pub fn read<T: DeserializeOwned>(path: &Path, fix: &str) -> Result<T, Fault> {
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(|error| {
        let fix = "name a file that can be read, or - for stdin";
        Fault::usage(format!("the job cannot be read: {error}"), path.display().to_string(), fix)
    })?;
    parse(&text, fix)
}

/// Reads a job's text; names the key that is unknown and what it may have meant.
pub fn parse<T: DeserializeOwned>(text: &str, fix: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        let at = format!("job, line {} column {}", error.line(), error.column());
        let what = error.to_string();
        let what = what.rsplit_once(" at line").map_or(what.as_str(), |(what, _)| what);
        let Some(unknown) = what.strip_prefix("unknown field `") else {
            return Fault::usage(format!("the job is wrong: {what}"), at, fix);
        };
        let name = unknown.split('`').next().unwrap_or_default();
        let keys: Vec<&str> = unknown.split('`').skip(2).step_by(2).collect();
        let what = format!("no key of the job is called '{name}'");
        Fault::usage(what, at, format!("{}{fix}", hint(name, keys)))
    })
}
