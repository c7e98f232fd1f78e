//! Does the server speak what it is spoken to in?
//!
//! A connection is made with whoever listens. If then not one request gets a reply that follows the
//! protocol, be it only "no such item", every other check looks at nothing, and their advice leads
//! astray. The first bytes that came say who is there.

use super::{Check, Evidence};
use crate::heard;
use crate::marks::Outcome;
use crate::measurement::Measurement;
use crate::protocols;
use crate::target::{Carrier, Target};

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

/// What was said and heard in the whole run, warm-up included.
#[derive(Debug, Default)]
pub struct Talk {
    /// Requests sent.
    pub sent: u64,
    /// Replies that follow the protocol, also those that say "no".
    pub understood: u64,
    /// The first bytes that came back.
    pub heard: Vec<u8>,
}

impl Talk {
    pub(super) fn of(run: &Measurement) -> Self {
        let heard = run.threads.iter().map(|thread| &thread.heard).find(|heard| !heard.is_empty());
        let mut talk = Self { heard: heard.cloned().unwrap_or_default(), ..Self::default() };
        if let Some(found) = &run.long {
            talk.sent = found.counts.sent;
            talk.understood = found.counts.understood;
            return talk;
        }
        for request in (0..run.threads.len()).flat_map(|thread| run.requests(thread)) {
            talk.sent += u64::from(request.sent_ns > 0);
            talk.understood += u64::from(!matches!(
                request.outcome,
                Outcome::Pending | Outcome::Garbled | Outcome::Closed | Outcome::TimedOut
            ));
        }
        talk
    }
}

fn failed(evidence: &Evidence) -> Option<String> {
    let Talk { sent, understood, heard } = &evidence.talk;
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
            fix(&target, heard)
        )
    })
}

/// Every call was to a method that the server does not have.
fn absent(evidence: &Evidence, target: &Target) -> Option<String> {
    let said = *evidence.replies.statuses.get(UNIMPLEMENTED)?;
    (said >= evidence.talk.understood).then(|| {
        format!(
            "the server on {} has no method {} ({UNIMPLEMENTED} to all of {said} calls): check package, \
             service and method in the target, upper and lower case too",
            target.place(),
            target.path
        )
    })
}

fn fix(target: &Target, said: &[u8]) -> String {
    if let Some(found) = heard::looks_like(target, said) {
        return found;
    }
    let (scheme, place) = (target.scheme, target.place());
    if scheme.name.starts_with("grpc") && !said.is_empty() {
        return format!(
            "the server on {place} speaks HTTP/2, and its replies have no grpc-status: is gRPC served \
             on this port?"
        );
    }
    let over = if scheme.carrier == Carrier::Datagrams { "UDP" } else { "TCP" };
    if !scheme.if_silent.is_empty() {
        let Target { host, port, .. } = target;
        return format!("is {over} port {port} of {host} open? {}", scheme.if_silent);
    }
    format!(
        "the server on {place} probably speaks another protocol, or hangs: name its own \
         scheme, such as memcache://, http://, resp://, postgres:// or echo://"
    )
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use crate::marks::Outcome;
    use crate::measurement::fake;
    use crate::result::{RunResult, Verdict};
    use crate::summary::summarise;

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
        let said =
            |heard: &[u8]| all_end(Outcome::Garbled, Outcome::Garbled, heard).reasons.remove(0);
        assert!(said(b"ERROR\r\n").ends_with("ask memcache://127.0.0.1:7777"));
        assert!(said(b"\x15\x03\x01\0\x02").ends_with("ask https://127.0.0.1:7777"));
        assert!(said(b"SSH-2.0").contains("SSH, which is not spoken here"));
        assert!(said(b"what?").contains("probably speaks another protocol"));
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
