//! Did the service do the work that was asked for? Wrong replies make another workload of it.
//!
//! Refused, slow or lost requests are what a service under load does: they count as infinite and
//! the `QoS` target decides. Without one nothing says how many are too many; beyond 1 % there is no p99
//! any more. A miss or a wrong body means that the run measured something else.

use sojourn_base::units::percents;

use super::{Check, Evidence};
use crate::protocols;
use crate::protocols::complaints;
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
        return Some(format!("{:.1} % of replies {}", wrong * 100.0, wrong_how(evidence)));
    }
    if evidence.job.find_max {
        return no_peak(evidence);
    }
    let is_dead = evidence.requests > 0 && evidence.errors == evidence.requests;
    if is_dead && evidence.had_no_turn == evidence.errors && evidence.talk.understood > 0 {
        return Some(overrun(evidence));
    }
    if is_dead {
        return Some(format!(
            "no request succeeded (see errors{}); {}",
            refusals(evidence),
            dead_fix(evidence)
        ));
    }
    let failed = share(evidence.errors, evidence.requests);
    (evidence.qos_bound_ns.is_none() && failed > SHARE_MAX).then(|| {
        let [failed, most] = percents(failed, SHARE_MAX, 1);
        format!(
            "{failed} % of requests failed (see errors{}), {most} % may without a QoS bound to decide \
             on it; {}",
            refusal(evidence).unwrap_or_default(),
            limited(evidence)
                .unwrap_or("lower the rate, raise timeout, or give qos_quantile and qos_bound")
        )
    })
}

/// What was wrong with replies, and what to look at: what is asked of a store is not what is asked of the
/// web.
fn wrong_how(evidence: &Evidence) -> String {
    if !protocols::kind_of_job(&evidence.job).is_ok_and(|kind| kind.is_opaque) {
        return format!(
            "were misses or had a wrong body (see errors{}); preload the items, and check items, value_size, \
             paths and expect_bytes",
            complaint(evidence).unwrap_or_default()
        );
    }
    format!(
        "were not what was asked for (see errors{}); check the target and its paths, and \
         expect_status, expect_bytes and expect_file where they are given",
        statuses(evidence).unwrap_or_default()
    )
}

/// Statuses that were no success, the most frequent ones, to be put behind "see errors".
fn statuses(evidence: &Evidence) -> Option<String> {
    const SHOWN: usize = 4;
    let mut all: Vec<(&String, &u64)> = evidence.replies.statuses.iter().collect();
    all.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let words: Vec<String> =
        all.iter().take(SHOWN).map(|(name, count)| format!("{count} × {name}")).collect();
    (!words.is_empty()).then(|| format!(": {}", words.join(", ")))
}

/// What helps where nothing succeeds: servers of TLS answer a request without it with status 400.
fn dead_fix(evidence: &Evidence) -> &'static str {
    let statuses = &evidence.replies.statuses;
    let is_plain = evidence.job.target.to_ascii_lowercase().starts_with("http:");
    if is_plain && statuses.len() == 1 && statuses.contains_key("HTTP 400") {
        return "see what it says with curl -i: a port of TLS wants https:// in the target, and others a Host \
                that they know";
    }
    if statuses.keys().any(|name| name.contains("HTTP_1_1_REQUIRED")) {
        return "ask it in HTTP/1.1: https:// or http:// in the target";
    }
    limited(evidence).unwrap_or("check that the service is up, and lets us in")
}

/// By which names servers say that they have enough, and what helps.
///
/// Source: RFC 9110, 15.6.4; RFC 6585, 4; RFC 9113, 7; gRPC, Status codes and their use in gRPC.
const LIMITS: [(&[&str], &str); 4] = [
    (
        &["HTTP 503", "HTTP 429"],
        "HTTP 503 and 429 say that a server is at a limit of its own, on connections, workers or \
         requests: raise it, or use fewer --connections or a lower rate",
    ),
    (
        &["RESOURCE_EXHAUSTED"],
        "RESOURCE_EXHAUSTED says that a quota of the server is used up, or that a message is longer \
         than it takes: raise its limit on requests or on message size, or lower the rate",
    ),
    (
        &["UNAVAILABLE"],
        "UNAVAILABLE says that the server, or a proxy before it, takes no calls now: see its log and \
         its health checks, raise its limit on connections and streams, or lower the rate",
    ),
    (
        &["RST_STREAM REFUSED_STREAM", "RST_STREAM ENHANCE_YOUR_CALM"],
        "the server resets streams because it has enough of them: raise its limit on streams \
         (max_concurrent_streams), use more --connections, or lower the rate",
    ),
];

/// What helps where a server says that it has enough.
fn limited(evidence: &Evidence) -> Option<&'static str> {
    let has = |name: &&str| evidence.replies.statuses.contains_key(*name);
    LIMITS.iter().find(|(names, _)| names.iter().any(has)).map(|(_, fix)| *fix)
}

/// The server answers, and nothing that was due in the measured part had its turn.
fn overrun(evidence: &Evidence) -> String {
    let (asked, measured_ns) = (evidence.asked, evidence.measured_ns.1.max(1));
    format!(
        "overload: no request of the measured part had its turn, because {:.0} requests/s are more than \
         the server answers; the {} replies that came were to requests of before; lower the rate (--find-max \
         tells how much it answers)",
        asked * 1e9 / measured_ns as f64,
        evidence.talk.understood
    )
}

/// Why the server refused what it refused, to be put behind "see errors".
fn refusals(evidence: &Evidence) -> String {
    refusal(evidence).unwrap_or_else(|| first_line(&evidence.talk.heard))
}

/// The server's own words, or the statuses that it gave.
fn refusal(evidence: &Evidence) -> Option<String> {
    complaint(evidence).or_else(|| statuses(evidence))
}

/// What the server says of it in its own words, and how to fix that.
fn complaint(evidence: &Evidence) -> Option<String> {
    let first = evidence.complaints.first()?;
    Some(format!("; the server says {}", complaints::with_fix(first)))
}

/// What the first reply began with, to be put behind "see errors"; a status and why, as a rule.
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
            "{:.1} % of the closed loop's requests failed (see errors{}): their rate is not what the \
             service can do{}",
            failed * 100.0,
            refusal(evidence).unwrap_or_default(),
            limited(evidence).map(|fix| format!("; {fix}")).unwrap_or_default()
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

    /// So many of the last requests of some 21 000 were lost.
    fn lost(requests: usize, job: Job) -> RunResult {
        let mut run = fake::run(job, 0, 1_000);
        run.threads[0].marks.outcome.iter_mut().rev().take(requests).for_each(|outcome| {
            *outcome = Outcome::TimedOut;
        });
        summarise(&run).unwrap()
    }

    #[test]
    fn a_page_that_is_not_there_is_no_key_that_is_not_there() {
        let reason = |target: &str| {
            let mut run = fake::run(Job { target: target.into(), ..fake::job() }, 0, 1_000);
            run.threads[0].marks.outcome.iter_mut().step_by(9).for_each(|it| *it = Outcome::Miss);
            run.statuses = [("HTTP 404".to_string(), 7)].into();
            let reasons = summarise(&run).unwrap().reasons;
            reasons.into_iter().find(|it| it.starts_with("replies")).unwrap()
        };
        let web = reason("http://h/");
        assert!(web.contains("7 × HTTP 404") && web.contains("paths"), "{web}");
        assert!(!web.contains("preload") && !web.contains("value_size"), "{web}");
        assert!(reason("memcache://h").contains("preload the items"));
    }

    #[test]
    fn where_only_earlier_requests_had_their_turn_it_is_overload() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        let first = run.threads[0].plan.measured_from;
        let marks = &mut run.threads[0].marks;
        marks.outcome[first..].fill(Outcome::Pending);
        marks.sent_ns[first..].fill(0);
        marks.done_ns[first..].fill(0);
        run.threads[0].heard = b"HTTP/1.1 200 OK\r\n".to_vec();
        let reasons = summarise(&run).unwrap().reasons;
        let is_reason = |part: &str| reasons.iter().any(|why| why.contains(part));
        assert!(is_reason("overload: no request") && is_reason("lower the rate"), "{reasons:?}");
        assert!(!is_reason("service is up"), "{reasons:?}");
    }

    #[test]
    fn where_nothing_succeeds_the_first_reply_says_why() {
        let mut run = fake::run(fake::job(), 0, 1_000);
        run.threads[0].marks.outcome.fill(Outcome::Status);
        run.threads[0].heard = b"HTTP/1.1 401 Unauthorized\r\nWWW".to_vec();
        let reasons = summarise(&run).unwrap().reasons;
        let words = "begins with \"HTTP/1.1 401 Unauthorized\")";
        assert!(reasons.iter().any(|why| why.contains(words)), "{reasons:?}");
    }

    #[test]
    fn a_port_of_tls_that_answers_without_it_is_a_cause_that_is_named() {
        let fixes = |target: &str, status: &str| {
            let mut run = fake::run(Job { target: target.into(), ..fake::job() }, 0, 1_000);
            run.threads[0].marks.outcome.fill(Outcome::Status);
            run.statuses = [(status.to_string(), 7)].into();
            summarise(&run).unwrap().reasons.join(" ")
        };
        assert!(fixes("http://h/", "HTTP 400").contains("https:// in the target"));
        assert!(fixes("http://h/", "HTTP 500").contains("service is up"));
        assert!(fixes("https://h/", "HTTP 400").contains("service is up"));
        let old = fixes("h2://h/", "RST_STREAM HTTP_1_1_REQUIRED");
        assert!(old.contains("ask it in HTTP/1.1"), "{old}");
        assert!(fixes("https://h/", "HTTP 503").contains("fewer --connections"));
        for name in ["RESOURCE_EXHAUSTED", "UNAVAILABLE"] {
            let why = fixes("grpc://h/a.B/C", name);
            assert!(why.contains(&format!("{name} says that")), "{why}");
        }
        assert!(fixes("h2c://h/", "RST_STREAM REFUSED_STREAM").contains("limit on streams"));
    }

    #[test]
    fn more_than_one_in_a_hundred_that_failed_need_a_bound_to_be_believed() {
        assert_eq!(lost(150, fake::job()).verdict, Verdict::Holds);
        let result = lost(300, fake::job());
        assert_eq!(result.verdict, Verdict::Unknown);
        assert!(result.reasons[0].starts_with("replies: 1.5 % of requests failed"));
        let with_bound =
            |q| Job { qos_quantile: q, qos_bound: "20ms".into(), pooled: true, ..fake::job() };
        assert_eq!(lost(300, with_bound(0.99)).verdict, Verdict::Violated);
        assert_eq!(lost(300, with_bound(0.9)).verdict, Verdict::Holds, "it allows for 10 %");
    }
}
