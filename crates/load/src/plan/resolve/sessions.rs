//! What a job with sessions must be.

use sojourn_base::Fault;
use sojourn_workload::sessions;

use crate::job::Job;
use crate::job::target::Target;
use crate::protocols;

/// Refuses sessions that cannot be: of other than whole films, or that write.
pub(super) fn check(job: &Job, target: &Target) -> Result<(), Fault> {
    let Some(sessions) = sessions::parse(&job.sessions)? else { return Ok(()) };
    let kind = protocols::kind_of(target);
    sessions.films((kind.items)(job))?;
    if kind.shares(job)?.iter().any(|&share| share > 0.0) {
        let what = "sessions ask for items, and nothing else";
        let fix = "leave out the shares of other operations, or sessions";
        return Err(Fault::usage(what, "sessions", fix));
    }
    Ok(())
}
