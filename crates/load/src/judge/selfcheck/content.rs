//! Did replies hold what they must? An empty or a wrong answer is served faster than the right one.
//!
//! Where the protocol knows what a reply holds it checks every one ([`super::service`] judges those). Where
//! only the server knows, two things show it: bodies that are empty, of all replies, and the job's own
//! expectations, most of which are held against a sample ([`crate::protocols::sampled`]).

use super::{Check, Evidence};
use crate::judge::result::Replies;
use crate::protocols::complaints;
use crate::tally::share;

const SHARE_MAX: f64 = 0.01;

pub(super) const CHECK: Check = Check {
    name: "content",
    about: "replies have a body, the statuses expected, and on a sample the content expected",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let replies = &evidence.replies;
    wrong(replies).or_else(|| unchecked(evidence)).or_else(|| statuses(evidence)).or_else(|| {
        let is_too_much = share(replies.empty, replies.count) > SHARE_MAX;
        (evidence.needs_bodies && is_too_much).then(|| {
            format!(
                "{} of {} replies had an empty body; look at what the server answers, or allow it \
                 with allow_empty",
                replies.empty, replies.count
            )
        })
    })
}

/// What the sample came to.
fn wrong(replies: &Replies) -> Option<String> {
    let (key, failed) = replies.failed.iter().next()?;
    let others: u64 = replies.failed.values().skip(1).sum();
    let what = match key.as_str() {
        "expect_sha256" => "had another SHA-256 than expect_sha256",
        "expect_file" => "had another SHA-256 than expect_file",
        _ => "did not match expect_regex",
    };
    let more =
        if others > 0 { format!(", {others} more failed other checks") } else { String::new() };
    Some(format!(
        "{failed} of {} replies checked {what}{more}; the first begins with {}",
        replies.checked,
        replies.example.as_deref().unwrap_or("nothing")
    ))
}

/// Bodies were to be checked, and none was.
fn unchecked(evidence: &Evidence) -> Option<String> {
    let replies = &evidence.replies;
    let is_asked = replies.checked_every.is_some();
    (is_asked && replies.checked == 0 && replies.count > 0).then(|| {
        if replies.too_long > 0 {
            format!("no reply could be checked: {} bodies are longer than 1 MiB", replies.too_long)
        } else {
            "no reply could be checked; make the run longer".into()
        }
    })
}

fn statuses(evidence: &Evidence) -> Option<String> {
    let expected = &evidence.job.expect_status;
    let (other, all) = (evidence.other_statuses, evidence.requests);
    (!expected.is_empty() && share(other, all) > SHARE_MAX)
        .then(|| format!("{other} of {all} replies had another status than {expected}"))
}

/// What decides nothing and should be known.
pub(super) fn notes(evidence: &Evidence) -> Vec<String> {
    let replies = &evidence.replies;
    let is_few = share(replies.empty, replies.count) <= SHARE_MAX;
    let empty = (evidence.needs_bodies && replies.empty > 0 && is_few)
        .then(|| format!("{} of {} replies had an empty body", replies.empty, replies.count));
    let changed = replies.changed.filter(|&changed| changed > 0).map(|changed| {
        format!(
            "{changed} of {} replies had another length than the first one to the same request: the \
             service does not always answer alike",
            replies.count
        )
    });
    let sample = replies.checked_every.filter(|_| replies.failed.is_empty()).map(|every| {
        format!("{} replies checked, one in {every}: all as expected", replies.checked)
    });
    let refused = (!evidence.complaints.is_empty()).then(|| {
        let each: Vec<String> =
            evidence.complaints.iter().map(|text| complaints::with_fix(text)).collect();
        format!("the server says {}", each.join("; "))
    });
    let statuses = (!replies.statuses.is_empty()).then(|| {
        let counts = replies.statuses.iter().map(|(name, count)| format!("{count} × {name}"));
        format!("failures by name, warm-up included: {}", counts.collect::<Vec<_>>().join(", "))
    });
    let beside = [sent_again(evidence), overlong(evidence)];
    let own = [empty, changed, sample, refused, statuses];
    own.into_iter().chain(beside).flatten().collect()
}

/// Requests that the server left alone when it went away.
fn sent_again(evidence: &Evidence) -> Option<String> {
    let times = evidence.checks.sent_again;
    (times > 0).then(|| {
        format!(
            "{times} requests (warm-up included) were sent again on another connection, because the \
             server had ended theirs before a reply began (GOAWAY, Connection: close, or one that idled; \
             NGINX: keepalive_requests, keepalive_timeout): their times count from when they were due; a server \
             that drops requests looks the same, and its own count says which it was"
        )
    })
}

/// Replies behind which more came.
fn overlong(evidence: &Evidence) -> Option<String> {
    let times = evidence.checks.overlong_replies;
    (times > 0).then(|| {
        format!(
            "behind {times} replies (warm-up included) more bytes came than they have (over HTTP a body \
             with 204 or 304, or more than Content-Length): each time the connection was replaced, as \
             browsers do; correct what the server sends"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::result::{RunResult, Verdict};
    use crate::judge::summary::summarise;
    use crate::protocols::Outcome;
    use crate::protocols::sampled::Looked;

    /// A run of one path of which every `every`th reply was empty.
    fn web(job: Job, every: usize, looked: Option<Looked>) -> RunResult {
        let mut run = fake::run(Job { target: "http://h/".into(), ..job }, 0, 1_000);
        run.threads[0].plan.item.fill(0);
        run.threads[0].marks.reply_bytes.iter_mut().step_by(every).for_each(|bytes| *bytes = 0);
        run.looked = looked;
        summarise(&run).unwrap()
    }

    #[test]
    fn empty_replies_are_no_success_unless_they_are_asked_for() {
        let result = web(fake::job(), 1, None);
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with("content: "), "{:?}", result.reasons);
        assert!(result.reasons[0].contains("had an empty body"), "{:?}", result.reasons);
        let few = web(fake::job(), 200, None);
        assert_eq!(few.verdict, Verdict::Holds, "{:?}", few.reasons);
        assert!(few.notes.iter().any(|note| note.contains("had an empty body")));
        assert!(few.notes.iter().any(|note| note.contains("another length")), "{:?}", few.notes);
        let replies = &few.replies;
        assert_eq!((replies.bytes_min, replies.bytes_max), (Some(0), Some(200)));
        assert!((replies.bytes_mean.unwrap() - 199.0).abs() < 0.1);
        for job in [
            Job { allow_empty: true, ..fake::job() },
            Job { method: "POST".into(), ..fake::job() },
            Job { expect_status: "204".into(), ..fake::job() },
        ] {
            assert_eq!(web(job, 1, None).verdict, Verdict::Holds);
        }
    }

    #[test]
    fn one_wrong_body_of_a_sample_is_enough() {
        let mut looked = Looked { checked: 400, every: 64, ..Looked::default() };
        let good = web(fake::job(), usize::MAX, Some(looked.clone()));
        assert_eq!(good.verdict, Verdict::Holds, "{:?}", good.reasons);
        assert!(good.notes.iter().any(|note| note.contains("400 replies checked, one in 64")));
        looked.failed.insert("expect_regex".into(), 12);
        looked.example = "\"oops\"".into();
        let result = web(fake::job(), usize::MAX, Some(looked));
        assert_eq!(result.verdict, Verdict::Unknown);
        let words = "content: 12 of 400 replies checked did not match expect_regex; the first begins with \
                    \"oops\"";
        assert_eq!(result.reasons, [words]);
        let none = Looked { every: 1, too_long: 3, ..Looked::default() };
        let result = web(fake::job(), usize::MAX, Some(none));
        assert!(result.reasons[0].contains("3 bodies are longer"), "{:?}", result.reasons);
    }

    #[test]
    fn a_status_that_was_not_expected_is_named() {
        let job = Job { target: "http://h/".into(), expect_status: "200".into(), ..fake::job() };
        let mut run = fake::run(job, 0, 1_000);
        run.threads[0].marks.outcome.iter_mut().step_by(9).for_each(|it| *it = Outcome::Status);
        let result = summarise(&run).unwrap();
        let is_reported = |why: &String| why.contains("replies had another status than 200");
        assert!(result.reasons.iter().any(is_reported), "{:?}", result.reasons);
    }
}
