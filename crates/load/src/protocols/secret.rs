//! A secret that a job only names: it is read from a file or the environment, and never shown.
//!
//! A job is written into results, logs and process lists. What stands where a place belongs may be the
//! secret itself, written there by mistake: so no message repeats it.

use std::fmt::Display;

use sojourn_base::Fault;

/// The text that lies at `name` of `place` (`file` or `env`); `fix` says what the job's `auth` may be.
pub(super) fn read(place: &str, name: &str, fix: &str) -> Result<String, Fault> {
    read_of("auth", place, name, fix)
}

/// The same for another `key` of the job.
pub(super) fn read_of(key: &str, place: &str, name: &str, fix: &str) -> Result<String, Fault> {
    let absent = |error: &dyn Display| {
        let what = format!("no secret can be read where {key} says ({place}): {error}");
        Fault::usage(what, key, fix)
    };
    match place {
        "file" => std::fs::read_to_string(name).map_err(|error| absent(&error)),
        "env" => std::env::var(name).map_err(|error| match error {
            std::env::VarError::NotPresent => absent(&"that variable is not set"),
            std::env::VarError::NotUnicode(_) => absent(&"that variable is not text"),
        }),
        _ => Err(Fault::usage(format!("{key} names neither a file nor a variable"), key, fix)),
    }
}
