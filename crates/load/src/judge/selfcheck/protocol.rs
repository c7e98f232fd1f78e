//! Does the server speak what it is spoken to in?
//!
//! A connection is made with whoever listens. If then not one request gets a reply that follows the
//! protocol, be it only "no such item", every other check looks at nothing, and their advice leads
//! astray. The first bytes that came say who is there, and how requests ended says why there is no reply:
//! a server that is slow, that breaks off, or that sends what no reply may have speaks no other protocol.

use sojourn_base::units::{parse_ns, show_ns};

use super::{Check, Evidence};
use crate::drive::long::Counts;
use crate::drive::measurement::Measurement;
use crate::job::target::{Carrier, Target};
use crate::protocols;
use crate::protocols::protocol_sniff;
use crate::protocols::status_counts::REFUSED;
use crate::transports::sockets::files;

pub(super) const CHECK: Check = Check {
    name: "protocol",
    about: "at least one reply followed the protocol",
    source: "",
    in_closed_loop: true,
    is_lateness: false,
    failed,
};

/// The status of a call whose method the server does not have.
const UNIMPLEMENTED: &str = "UNIMPLEMENTED";
/// What helps where a server speaks something else.
const SCHEMES: &str =
    "name its own scheme, such as memcache://, http://, resp://, postgres:// or echo://";

/// What was sent and received in the whole run, warm-up included.
#[derive(Debug, Default)]
pub struct Talk {
    /// Requests sent.
    pub sent: u64,
    /// Replies that follow the protocol, also those that say "no".
    pub understood: u64,
    /// How requests ended.
    pub counts: Counts,
    /// The first bytes that came back.
    pub heard: Vec<u8>,
    /// Why the first TLS connection that went wrong did; empty: none.
    pub tls_wrong: String,
    /// Since when a thread took the connection used last, ns after the start; `None`: none did.
    pub newest_first_ns: Option<u64>,
    /// How often `GOAWAY` came on a connection without a spare, and how many files may be open.
    pub unrelieved: (u64, u64),
}

impl Talk {
    pub(super) fn of(run: &Measurement) -> Self {
        let heard = run.threads.iter().map(|thread| &thread.heard).find(|heard| !heard.is_empty());
        let tls = run.threads.iter().filter_map(|thread| thread.tls.as_ref());
        let tls_wrong = tls.map(|seen| &seen.wrong).find(|wrong| !wrong.is_empty());
        let counts = run.long.as_ref().map_or_else(|| counts(run), |result| result.counts);
        Self {
            sent: counts.sent,
            understood: counts.understood,
            counts,
            heard: heard.cloned().unwrap_or_default(),
            tls_wrong: tls_wrong.cloned().unwrap_or_default(),
            newest_first_ns: run.threads.iter().filter_map(|it| it.newest_first_ns).min(),
            unrelieved: (run.threads.iter().map(|it| it.unrelieved).sum(), files::allowed()),
        }
    }
}

fn counts(run: &Measurement) -> Counts {
    let mut counts = Counts::default();
    for request in (0..run.threads.len()).flat_map(|thread| run.requests(thread)) {
        counts.add(&request, (0, 0));
    }
    counts
}

fn failed(evidence: &Evidence) -> Option<String> {
    let Talk { sent, understood, heard, .. } = &evidence.talk;
    let target = protocols::target(&evidence.job.target).ok()?;
    if let Some(absent) = absent(evidence, &target) {
        return Some(absent);
    }
    (*sent > 0 && *understood == 0).then(|| {
        format!(
            "connected, but not one of {sent} requests got a reply in {}: {}; {}",
            target.scheme.name,
            if heard.is_empty() {
                "nothing came back".into()
            } else {
                format!("what came back begins with \"{}\"", heard.escape_ascii())
            },
            cause(evidence, &target)
        )
    })
}

/// Every call was to a method that the server does not have.
fn absent(evidence: &Evidence, target: &Target) -> Option<String> {
    let unknown = *evidence.replies.statuses.get(UNIMPLEMENTED)?;
    (unknown >= evidence.talk.understood).then(|| {
        format!(
            "the server on {} has no method {} ({UNIMPLEMENTED} to all of {unknown} calls): check package, \
             service and method in the target, upper and lower case too",
            target.place(),
            target.path
        )
    })
}

/// Why there was no reply, and what helps.
fn cause(evidence: &Evidence, target: &Target) -> String {
    let Talk { counts, heard, tls_wrong, .. } = &evidence.talk;
    if !tls_wrong.is_empty() {
        return format!("over TLS: {tls_wrong}");
    }
    if let Some(result) = protocol_sniff::looks_like(target, heard) {
        return result;
    }
    if let Some(why) = refused(evidence).or_else(|| went_away(evidence)) {
        return why;
    }
    if counts.garbled > 0 {
        return format!(
            "the server on {} probably speaks another protocol: {SCHEMES}",
            target.place()
        );
    }
    unanswered(evidence, target)
}

/// What of the replies was refused most often.
fn refused(evidence: &Evidence) -> Option<String> {
    let statuses = evidence.replies.statuses.iter();
    let flaws = statuses.filter_map(|(name, count)| Some((name.strip_prefix(REFUSED)?, count)));
    let (flaw, count) = flaws.max_by_key(|&(_, count)| count)?;
    let fix = match flaw {
        _ if flaw.contains("without grpc-status") => "is gRPC served on this port?",
        _ if flaw.contains("is a stream") => {
            "calls with one message each way (unary) are measured: name such a method"
        }
        _ => "correct what the service sends",
    };
    Some(format!("{count} replies were refused because of {flaw}: {fix}"))
}

/// The error with which a server of HTTP/2 ends connections.
fn went_away(evidence: &Evidence) -> Option<String> {
    let mut statuses = evidence.replies.statuses.iter();
    let (name, times) = statuses.find(|(name, _)| name.starts_with("GOAWAY "))?;
    Some(format!("the server ended connections with {name} ({times} times): see its log"))
}

/// No reply was refused, and none was complete.
fn unanswered(evidence: &Evidence, target: &Target) -> String {
    let Counts { timed_out, too_slow, closed, cut_off, .. } = evidence.talk.counts;
    let timeout = &evidence.job.timeout;
    let timeout = parse_ns(timeout).map_or_else(|_| timeout.clone(), |ns| show_ns(ns as f64));
    let place = target.place();
    if cut_off > 0 && cut_off >= too_slow {
        return format!(
            "{cut_off} replies were cut off: the server on {place} closed the connection before the end that \
             their header announces; see the service's log"
        );
    }
    if too_slow > 0 {
        return format!(
            "{too_slow} replies had begun and were not complete within {timeout}: raise timeout \
             (--timeout), or see why the service sends so slowly"
        );
    }
    let Target { host, port, scheme, .. } = target;
    if !scheme.if_silent.is_empty() {
        let over = if scheme.carrier == Carrier::Datagrams { "UDP" } else { "TCP" };
        return format!("is {over} port {port} of {host} open? {}", scheme.if_silent);
    }
    if closed > timed_out {
        return format!(
            "the server on {place} closed the connection without a reply to {closed} requests: it wants \
             TLS, does not let this client in, or speaks another protocol ({SCHEMES})"
        );
    }
    if timed_out > 0 {
        return format!(
            "the server on {place} takes longer than {timeout}: raise timeout (--timeout); or it hangs, or \
             waits for another protocol ({SCHEMES})"
        );
    }
    format!(
        "the run ended before a reply came: raise drain and timeout if the server on {place} takes so \
         long; else it hangs, or waits for another protocol ({SCHEMES})"
    )
}

#[cfg(test)]
mod tests {
    use crate::drive::measurement::fake;
    use crate::job::Job;
    use crate::judge::result::{RunResult, Verdict};
    use crate::judge::summary::summarise;
    use crate::protocols::Outcome;

    /// All requests end so, but the first in `first`.
    fn all_end(outcome: Outcome, first: Outcome, heard: &[u8]) -> RunResult {
        let job = Job { target: "echo://127.0.0.1:7777".into(), ..fake::job() };
        let mut run = fake::run(job, 200_000, 30_000);
        run.threads[0].marks.outcome.fill(outcome);
        run.threads[0].marks.outcome[0] = first;
        run.threads[0].heard = heard.to_vec();
        summarise(&run).unwrap()
    }

    #[test]
    fn a_server_that_speaks_another_protocol_is_the_one_reason() {
        for outcome in [Outcome::Garbled, Outcome::Closed, Outcome::Pending, Outcome::TimedOut] {
            let result = all_end(outcome, outcome, b"ERROR\r\n");
            assert_eq!(result.verdict, Verdict::Unknown);
            let [reason] = &result.reasons[..] else { panic!("{:?}", result.reasons) };
            assert!(reason.starts_with("protocol: connected"), "{reason}");
            for part in [r"ERROR\r\n", "in echo", "127.0.0.1:7777"] {
                assert!(reason.contains(part), "{part} in {reason}");
            }
        }
        assert!(
            all_end(Outcome::Pending, Outcome::Pending, b"").reasons[0].contains("nothing came")
        );
    }

    #[test]
    fn the_first_bytes_tell_which_protocol_it_looks_like() {
        let status =
            |heard: &[u8]| all_end(Outcome::Garbled, Outcome::Garbled, heard).reasons.remove(0);
        assert!(status(b"ERROR\r\n").ends_with("ask memcache://127.0.0.1:7777"));
        assert!(status(b"\x15\x03\x01\0\x02").ends_with("ask https://127.0.0.1:7777"));
        assert!(status(b"SSH-2.0").contains("SSH, which is not supported here"));
        assert!(status(b"what?").contains("probably speaks another protocol"));
    }

    /// A run of a web server in which all requests end so, after a part of the reply or before it.
    fn web(outcome: Outcome, has_begun: bool, status: &str) -> String {
        let job =
            Job { target: "http://127.0.0.1:80/".into(), timeout: "1s".into(), ..fake::job() };
        let mut run = fake::run(job, 0, 30_000);
        run.threads[0].marks.outcome.fill(outcome);
        if has_begun {
            run.threads[0].heard = b"HTTP/1.1 200 OK\r\nContent-".to_vec();
        } else {
            run.threads[0].marks.first_byte_ns.fill(0);
        }
        if !status.is_empty() {
            run.statuses = [(status.to_string(), 7)].into();
        }
        summarise(&run).unwrap().reasons.remove(0)
    }

    #[test]
    fn a_server_of_this_protocol_is_not_taken_for_one_of_another() {
        use Outcome::{Closed, Garbled, Pending, TimedOut};
        let length = "refused: a Content-Length that is not a number, or two that differ";
        for (outcome, has_begun, status, part) in [
            (TimedOut, false, "", "takes longer than 1 s: raise timeout"),
            (TimedOut, true, "", "were not complete within 1 s: raise timeout"),
            (Closed, true, "", "replies were cut off"),
            (Closed, false, "", "closed the connection without a reply"),
            (Pending, false, "", "raise drain"),
            (Garbled, true, length, "7 replies were refused because of a Content-Length"),
            (Garbled, true, "refused: a reply without grpc-status", "is gRPC served on this port?"),
        ] {
            let reason = web(outcome, has_begun, status);
            assert!(reason.starts_with("protocol: connected"), "{reason}");
            assert!(reason.contains(part), "{part} in {reason}");
            assert!(!reason.contains("probably speaks another"), "{reason}");
        }
    }

    #[test]
    fn what_went_wrong_with_tls_goes_before_all_guesses() {
        let job = Job { target: "https://h/".into(), ..fake::job() };
        let mut run = fake::run(job, 0, 30_000);
        run.threads[0].marks.outcome.fill(Outcome::Closed);
        let wrong = "it asks for a client's certificate; give --cert".into();
        run.threads[0].tls = Some(crate::transports::tls::Seen { wrong, ..Default::default() });
        let reason = summarise(&run).unwrap().reasons.remove(0);
        assert!(reason.contains("over TLS: it asks for a client's certificate"), "{reason}");
    }

    #[test]
    fn one_reply_that_follows_the_protocol_is_enough() {
        for first in [Outcome::Hit, Outcome::Miss, Outcome::Status, Outcome::Content] {
            let reasons = all_end(Outcome::Garbled, first, b"x").reasons;
            assert!(!reasons.iter().any(|why| why.starts_with("protocol")), "{reasons:?}");
            assert!(!reasons.is_empty(), "the other checks are asked again");
        }
    }
}
