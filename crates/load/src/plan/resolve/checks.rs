//! What a job may not be, whatever the machine: numbers out of range, keys that contradict each other.

use sojourn_base::Fault;
use sojourn_workload::popularity;

use super::wait::Wait;
use crate::job::target::Target;
use crate::job::{Job, SCHEMA};
use crate::protocols;

/// Fewer items, hashed, could leave a server without any.
const ITEMS_PER_SERVER: u64 = 32;

pub(super) fn check_schema(job: &Job) -> Result<(), Fault> {
    if job.schema == SCHEMA {
        return Ok(());
    }
    Err(Fault::usage(
        format!("the job has the form '{}', this program reads '{SCHEMA}'", job.schema),
        "schema",
        "use the program of the same release as the writer of the job",
    ))
}

pub(super) fn check_counts(job: &Job, target: &Target) -> Result<(), Fault> {
    let within = |key: &str, value: u64, least: u64, most: u64| {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let fix = format!("give a number from {least} to {most}");
        Err(Fault::usage(format!("{key} is {value}"), key, fix))
    };
    within("threads", job.threads.into(), 1, 1024)?;
    within("connections", job.connections.into(), u64::from(job.threads), 1_000_000)?;
    within("depth", job.depth.into(), 0, 4096)?;
    within("items", job.items, 1, u64::from(u32::MAX))?;
    within("multiget_keys", job.multiget_keys.into(), 1, 1000)?;
    within("requests_max", job.requests_max, 1, u64::from(u32::MAX))?;
    check_share("set_share", job.set_share)?;
    check_share("multiget_share", job.multiget_share)?;
    check_share("excluded_share_max", job.excluded_share_max)?;
    check_share("disturbed_share_max", job.disturbed_share_max)?;
    check_share("outage_share_max", job.outage_share_max)?;
    if !(job.probe_rate >= 0.0 && job.probe_rate.is_finite()) {
        let fix = "give a rate of 0 (no probe) or more, requests/s";
        return Err(Fault::usage(format!("probe_rate is {}", job.probe_rate), "probe_rate", fix));
    }
    check_servers(job, target)?;
    if popularity::name_of(&job.popularity) == "order" && job.threads > 1 {
        let what = format!("{} threads do not keep one order", job.threads);
        return Err(Fault::usage(what, "popularity", "use one thread, or another popularity"));
    }
    if target.is_unix() && !job.source.is_empty() {
        let what = "connections to a unix socket come from no address";
        return Err(Fault::usage(what, "source", "leave it out"));
    }
    protocols::kind_of(target).check(job, target)
}

/// Several servers share the keys, each with a connection of every thread.
fn check_servers(job: &Job, target: &Target) -> Result<(), Fault> {
    let servers = target.servers() as u64;
    if servers == 1 {
        return Ok(());
    }
    let refused = |what: String, at: &str, fix: String| Err(Fault::usage(what, at, fix));
    if !protocols::kind_of(target).shards {
        let what = format!("{} takes one server, the target names {servers}", target.scheme.name);
        return refused(what, "target", "give one, or a target of memcache".into());
    }
    if job.multiget_share > 0.0 {
        let what = format!("the keys of one multi-GET lie on {servers} servers");
        return refused(what, "multiget_share", "leave it out, or name one server".into());
    }
    let (least, items) = (u64::from(job.threads) * servers, servers * ITEMS_PER_SERVER);
    if u64::from(job.connections) < least {
        let what = format!("{} connections for {servers} servers", job.connections);
        let fix = format!("give {least} or more: one for each server and thread");
        return refused(what, "connections", fix);
    }
    if job.items < items {
        let what = format!("{} items on {servers} servers", job.items);
        return refused(what, "items", format!("give {items} or more, so that each holds some"));
    }
    Ok(())
}

/// Only the result goes to standard output; a file called `-` would be a surprise.
pub(super) fn check_places(job: &Job) -> Result<(), Fault> {
    for (key, place) in [("hlog", &job.hlog), ("seconds", &job.seconds), ("raw", &job.raw)] {
        if place == "-" {
            let what = format!("{key} cannot go to standard output");
            return Err(Fault::usage(what, key, "name a file; only --json can go to stdout"));
        }
    }
    let whole = [(!job.raw.is_empty(), "raw"), (job.find_max, "find_max")];
    if let Some((_, key)) = whole.into_iter().find(|(is_asked, _)| *is_asked)
        && !job.seconds.is_empty()
    {
        let what = format!("a run with {key} is kept in memory, so its seconds are not written");
        return Err(Fault::usage(what, "seconds", format!("leave out seconds or {key}")));
    }
    Ok(())
}

fn check_share(key: &str, share: f64) -> Result<(), Fault> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(Fault::usage(format!("{key} is {share}"), key, "give a share from 0 to 1"))
}

pub(super) fn check_turns(job: &Job, wait: Wait, cpus: &[usize]) -> Result<(), Fault> {
    if job.turns.is_empty() || (wait == Wait::Yield && !cpus.is_empty() && !job.find_max) {
        return Ok(());
    }
    let what = "turns are taken by clients that yield on given CPUs, at planned times";
    Err(Fault::usage(what.to_owned(), "turns", "give wait = yield and cpus, or leave turns out"))
}
