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

/// What a memcached that speaks no text does: it reads on, or closes.
const BINARY: &str = "; a memcached with -B binary or -S speaks no text: start it without";

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
    // Before a run these greet, and a reply that began is of the protocol that was asked in.
    let greets = ["http2", "grpc", "postgres"].contains(&protocols::kind_of(target).kind.name);
    let is_known = greets || evidence.talk.heard.starts_with(b"HTTP/1.");
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
    let binary = if scheme.name == "memcache" { BINARY } else { "" };
    if closed > timed_out {
        let other = if is_known {
            "see its log".into()
        } else {
            format!(
                "it wants TLS, does not let this client in, or speaks another protocol ({SCHEMES}){binary}"
            )
        };
        return format!(
            "the server on {place} closed the connection without a reply to {closed} requests: {other}"
        );
    }
    let other = if is_known {
        String::new()
    } else {
        format!(", or waits for another protocol ({SCHEMES}){binary}")
    };
    if timed_out > 0 {
        return format!(
            "the server on {place} takes longer than {timeout}: raise timeout (--timeout); or it hangs{other}"
        );
    }
    format!(
        "the run ended before a reply was complete: raise drain and timeout if the server on {place} takes \
         so long; else it hangs{other}"
    )
}

#[cfg(test)]
mod tests;
