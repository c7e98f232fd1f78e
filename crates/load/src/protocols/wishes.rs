//! Keys of a job that only some protocols read: methods, headers, queries, what a reply must be.

use sojourn_base::Fault;

use super::{KINDS, ProtocolKind};
use crate::job::Job;
use crate::job::target::Target;

/// Refuses wishes that `entry` cannot grant, and names who can.
pub(super) fn refuse(entry: &ProtocolKind, job: &Job, target: &Target) -> Result<(), Fault> {
    let usual = Job::default();
    let keys = [
        ("paths_file", !job.paths_file.is_empty()),
        ("log_form", !job.log_form.is_empty()),
        ("method", job.method != usual.method),
        ("header", !job.header.is_empty()),
        ("body", !job.body.is_empty()),
        ("body_file", !job.body_file.is_empty()),
        ("query", job.query != usual.query),
        ("auth", !job.auth.is_empty()),
        ("expect_status", !job.expect_status.is_empty()),
        ("expect_sha256", !job.expect_sha256.is_empty()),
        ("expect_file", !job.expect_file.is_empty()),
        ("expect_regex", !job.expect_regex.is_empty()),
        ("allow_empty", job.allow_empty),
    ];
    let is_refused = |(key, is_set): &(&str, bool)| *is_set && !entry.wishes.contains(key);
    let Some((key, _)) = keys.into_iter().find(is_refused) else { return Ok(()) };
    let able = KINDS.iter().filter(|entry| entry.wishes.contains(&key));
    let names: Vec<&str> = able.map(|entry| entry.schemes[0].name).collect();
    let why = if entry.is_opaque { "" } else { ": every reply is checked as it is" };
    let what = format!("{} has no {key}{why}", target.scheme.name);
    let fix = format!("leave it out, or use a target of {}", names.join(" or "));
    Err(Fault::usage(what, key, fix))
}
