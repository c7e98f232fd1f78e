//! Did the server take as many connections as were asked for?
//!
//! A load over fewer connections is another load, and what it measures is the service with fewer
//! clients. A server that has enough of them accepts and closes at once, so that connecting seems to work. Or it
//! leaves others to its kernel, which takes them, and serves none of them until one of the first ends: one with
//! a thread or a process for each connection, or one that counts them.

use super::{Check, Evidence};
use crate::drive::measurement::Measurement;
use crate::protocols::complaints;

/// Requests that succeeded, for each connection, before one without a reply is known to be left alone.
const ENOUGH: u64 = 10;

pub(super) const CHECK: Check = Check {
    name: "connections",
    about: "no connection was closed by the server each time before it answered, or left alone all the time",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let (refused, all) = (evidence.refused, evidence.job.connections);
    if refused == 0 && evidence.unserved > 0 {
        return Some(format!(
            "{} of {all} connections never had a reply, though others had many: the server serves fewer \
             connections at a time; raise its threads, workers or limit on connections, or use fewer \
             --connections",
            evidence.unserved
        ));
    }
    (refused > 0).then(|| {
        let words = words(evidence);
        let quoted = words.as_ref().map_or(String::new(), |words| format!(", and says {words}"));
        let fix = words.as_deref().and_then(complaints::fix);
        format!(
            "{refused} of {all} connections never answered a request as they should: the server closed \
             them at once{quoted}; {}",
            fix.unwrap_or("raise the server's limit on connections, or use fewer --connections")
        )
    })
}

/// How many connections of `run` were refused. One that had a reply was not, unless the server says so: a
/// reply that is cut off, or a status, may end a connection too.
pub(super) fn refused(run: &Measurement) -> u64 {
    let mut complaints = run.notices.iter().flat_map(|notices| &notices.complaints);
    let is_said = complaints.any(|text| complaints::refuses_connections(text));
    let each = run.threads.iter().map(|thread| thread.refused);
    each.map(|(silent, answered)| silent + if is_said { answered } else { 0 }).sum()
}

/// How many connections of `run`, in which so many requests succeeded, were left alone. A server that answers
/// few may come to them later.
pub(super) fn unserved(run: &Measurement, succeeded: u64) -> u64 {
    let is_busy = succeeded >= ENOUGH * u64::from(run.job.connections);
    if is_busy { run.threads.iter().map(|thread| thread.unserved).sum() } else { 0 }
}

/// What the server says of connections that it refuses, on them or to requests.
fn words(evidence: &Evidence) -> Option<String> {
    let line = evidence.refusal.split(|&byte| byte == b'\r' || byte == b'\n').next();
    let own = line.filter(|line| !line.is_empty()).map(complaints::shown);
    let notices =
        || evidence.complaints.iter().find(|text| complaints::refuses_connections(text)).cloned();
    own.or_else(notices)
}

/// Whether the server took none at all and says so: then nothing else about its replies is worth a word.
/// One that closes without a word may speak another protocol.
pub(super) fn are_all_refused(evidence: &Evidence) -> bool {
    let is_all = evidence.refused > 0 && evidence.refused >= u64::from(evidence.job.connections);
    is_all && words(evidence).is_some_and(|words| complaints::refuses_connections(&words))
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::result::{RunResult, Verdict};
    use crate::judge::summary::summarise;
    use crate::protocols::Outcome;

    fn refused(count: u64, words: &[u8], is_closed: bool) -> RunResult {
        let job =
            Job { connections: 64, find_max: is_closed, requests_max: 100_000, ..fake::job() };
        let mut run = fake::run(job, 0, 1_000);
        (run.threads[0].refused, run.threads[0].refusal) = ((count, 0), words.to_vec());
        if count >= 64 {
            run.threads[0].marks.outcome.fill(Outcome::Closed);
        }
        summarise(&run).unwrap()
    }

    #[test]
    fn a_run_with_fewer_connections_than_asked_is_not_believed() {
        for is_closed in [false, true] {
            let result = refused(54, b"-ERR max number of clients reached\r\n", is_closed);
            assert_eq!(result.verdict, Verdict::Unknown);
            let why = &result.reasons[0];
            assert!(why.starts_with("connections: 54 of 64 connections never answered"), "{why}");
            assert!(why.contains("says \"-ERR max number of clients reached\"; raise"), "{why}");
            let silent = refused(1, b"", is_closed);
            assert!(silent.reasons[0].contains("use fewer --connections"), "{:?}", silent.reasons);
        }
        assert_eq!(refused(0, b"", false).verdict, Verdict::Holds);
    }

    /// A reply to a request may be a refusal of its connection, if the server says so.
    #[test]
    fn a_refusal_in_reply_to_a_request_is_known_by_its_words() {
        let of = |words: &str| {
            let mut run = fake::run(fake::job(), 0, 1_000);
            run.threads[0].refused = (0, 3);
            let complaints = vec![words.into()];
            run.notices =
                Some(crate::protocols::server_notices::Notices { rows: None, complaints });
            summarise(&run).unwrap()
        };
        let full = of("\"-ERR max number of clients reached\"");
        assert!(full.reasons[0].contains("connections: 3 of 16"), "{:?}", full.reasons);
        assert_eq!(of("\"-OOM command not allowed\"").verdict, Verdict::Holds);
    }

    #[test]
    fn connections_that_the_server_takes_and_does_not_serve_are_missed() {
        let of = |connections: u32, unserved: u64| {
            let mut run = fake::run(Job { connections, ..fake::job() }, 0, 1_000);
            run.threads[0].unserved = unserved;
            summarise(&run).unwrap()
        };
        let result = of(64, 10);
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with("connections: 10 of 64"), "{:?}", result.reasons);
        assert_eq!(of(64, 0).verdict, Verdict::Holds);
        assert_eq!(of(10_000, 10).verdict, Verdict::Holds, "their turn may come");
    }

    #[test]
    fn where_all_are_refused_that_is_the_one_reason() {
        let result = refused(64, b"ERROR Too many open connections\r\n", false);
        let [why] = &result.reasons[..] else { panic!("{:?}", result.reasons) };
        assert!(why.contains("memcached's -c"), "{why}");
    }
}
