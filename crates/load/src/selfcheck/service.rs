//! Did the service do the work that was asked for? Wrong replies make another workload of it.
//!
//! Refused, slow or lost requests are what a service under load does: they count as infinite and
//! the `QoS` target decides. Without one nothing says how many are too many; beyond 1 % there is no p99
//! any more. A miss or a wrong body means that the run measured something else.

use super::{Check, Evidence};
use crate::tally::share;

const SHARE_MAX: f64 = 0.01;

pub(super) const CHECK: Check = Check {
    name: "replies",
    about: "at most 1 % of replies are misses or have a wrong body; without a QoS bound, fail at all",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

fn failed(evidence: &Evidence) -> Option<String> {
    let wrong = share(evidence.wrong_replies, evidence.requests);
    if wrong > SHARE_MAX {
        return Some(format!(
            "{:.1} % of replies were misses or had a wrong body (see errors); preload the items, and \
             check items, value_size, paths and expect_bytes",
            wrong * 100.0
        ));
    }
    if evidence.job.find_max {
        return no_peak(evidence);
    }
    let is_dead = evidence.requests > 0 && evidence.errors == evidence.requests;
    if is_dead {
        return Some(format!(
            "no request succeeded (see errors{}); check that the service is up, and lets us in",
            said(evidence)
        ));
    }
    let failed = share(evidence.errors, evidence.requests);
    (evidence.qos_bound_ns.is_none() && failed > SHARE_MAX).then(|| {
        format!(
            "{:.1} % of requests failed (see errors{}), {:.0} % may without a QoS bound to decide on it; \
             lower the rate, raise timeout, or give qos_quantile and qos_bound",
            failed * 100.0,
            evidence.complaints.first().map_or(String::new(), |it| format!("; the server says {it}")),
            SHARE_MAX * 100.0
        )
    })
}

/// Why the server refused what it refused, to stand behind "see errors".
fn said(evidence: &Evidence) -> String {
    match evidence.complaints.first() {
        Some(complaint) => format!("; the server says {complaint}"),
        None => first_line(&evidence.talk.heard),
    }
}

/// What the first reply began with, to stand behind "see errors"; a status and why, as a rule.
fn first_line(heard: &[u8]) -> String {
    let line = heard.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    if line.is_empty() {
        return String::new();
    }
    format!("; the first reply begins with \"{}\"", line.escape_ascii())
}

/// Why the rate of a closed loop is not the service's peak.
fn no_peak(evidence: &Evidence) -> Option<String> {
    let (broke, requests) = (evidence.checks.broken_connections, evidence.requests);
    if share(broke, requests) > SHARE_MAX {
        return Some(format!(
            "connections broke {broke} times during {requests} requests: the pace is that of opening \
             them, and not what the service can do"
        ));
    }
    let failed = share(evidence.errors, requests);
    (failed > SHARE_MAX).then(|| {
        format!(
            "{:.1} % of the closed loop's requests failed (see errors): their rate is not what the \
             service can do",
            failed * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use crate::marks::Outcome;
    use crate::measurement::fake;
    use crate::result::{RunResult, Verdict};
    use crate::summary::summarise;

    /// So many of the last requests of some 21 000 were lost.
    fn lost(requests: usize, job: Job) -> RunResult {
        let mut run = fake::run(job, 0, 1_000);
        run.threads[0].marks.outcome.iter_mut().rev().take(requests).for_each(|outcome| {
            *outcome = Outcome::TimedOut;
        });
        summarise(&run).unwrap()
    }

    #[test]
    fn where_nothing_succeeds_the_first_reply_says_why() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        run.threads[0].marks.outcome.fill(Outcome::Status);
        run.threads[0].heard = b"HTTP/1.1 401 Unauthorized\r\nWWW".to_vec();
        let reasons = summarise(&run).unwrap().reasons;
        let told = "begins with \"HTTP/1.1 401 Unauthorized\")";
        assert!(reasons.iter().any(|why| why.contains(told)), "{reasons:?}");
    }

    #[test]
    fn more_than_one_in_a_hundred_that_failed_need_a_bound_to_be_believed() {
        assert_eq!(lost(150, fake::job()).verdict, Verdict::Holds);
        let result = lost(300, fake::job());
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with("replies: 1.5 % of requests failed"));
        let with_bound = |q| Job { qos_quantile: q, qos_bound: "20ms".into(), ..fake::job() };
        assert_eq!(lost(300, with_bound(0.99)).verdict, Verdict::Violated);
        assert_eq!(lost(300, with_bound(0.9)).verdict, Verdict::Holds, "it allows for 10 %");
    }
}
