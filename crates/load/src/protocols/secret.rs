//! A secret that a job only names: it is read from a file or the environment, and never shown.
//!
//! A job is written into results, logs and process lists. A user may by mistake have
//! written the secret itself where the name of its place belongs, so no message repeats that text.

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

const PASSWORD: &str =
    "write password:file:PATH or password:env:NAME; the file or variable has only the password";

/// The password that `auth` names, `password:PLACE:NAME`; `None` where it names nothing.
pub(super) fn password(auth: &str) -> Result<Option<String>, Fault> {
    if auth.is_empty() {
        return Ok(None);
    }
    let words: Vec<&str> = auth.splitn(3, ':').collect();
    let ["password", place, name] = words[..] else {
        let what = "auth is not password:PLACE:NAME"; // it may hold a secret: it is not shown
        return Err(Fault::usage(what, "auth", PASSWORD));
    };
    let text = read(place, name, PASSWORD)?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() || text.contains('\0') {
        let what = format!("what {place}:{name} holds is not a password");
        return Err(Fault::usage(what, "auth", PASSWORD));
    }
    Ok(Some(text.into()))
}
