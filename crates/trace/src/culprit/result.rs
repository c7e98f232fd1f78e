//! Who is to blame, as it is written, and how it is made from what was stored and seen.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::endpoint::{self, Endpoint};
use super::flame::{self, Folded};
use super::join::{Detail, Group, group};
use super::keep::Selection;
use super::pieces::Index;
use super::rule::{self, Weighed, Weights};
use super::seen::{Losses, Seen};
use super::sentence;
use super::suspect::Suspect;
use super::tail::{self, FunctionTime, TailBlock};
use crate::attach::pidns;
use crate::reconstruct::counts::Thread;
use crate::reconstruct::parts::VerdictWord;
use crate::reconstruct::window::judge::duration_for;

/// Suspects listed, and threads of each.
const LISTED: usize = 24;
const TIDS: usize = 8;
/// A suspect with a smaller share is not listed.
const SHARE_LISTED: f64 = 0.005;
/// Largest share of the hooks' events that may be lost.
pub const LOST_MAX: f64 = 0.01;
/// Least share of the tail's requests that must have been kept.
const STORED_MIN: f64 = 0.9;

/// Who or what made the slowest requests slow. Times are means per request, ns; shares are of the
/// excess of the tail's mean over the body's, and add to 1 over all suspects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blame {
    /// The quantile asked for.
    pub q: f64,
    /// Requests from here on are the tail, ns.
    pub from_ns: u64,
    /// Requests of the tail that were looked into.
    pub tail_requests: u64,
    /// Requests of the body that were looked into: a sample of all others.
    pub body_requests: u64,
    /// Mean total of the tail.
    pub tail_mean_ns: Option<f64>,
    /// Mean total of the body.
    pub body_mean_ns: Option<f64>,
    /// May it be believed?
    pub verdict: VerdictWord,
    /// Why not, a sentence each.
    pub reasons: Vec<String>,
    /// The answer in a sentence.
    pub answer: String,
    /// Whoever has half a per cent of the excess or more, the largest first.
    pub suspects: Vec<SuspectShare>,
    /// What the tail's requests asked for, the most frequent first; at most 12.
    pub endpoints: Vec<Endpoint>,
    /// Share of the excess of which nothing is known.
    pub unexplained_share: f64,
    /// Events that the hooks sent.
    pub told: u64,
    /// Events that they could not send, for lack of room.
    pub lost: u64,
    /// Waits of which not all who ran meanwhile are known.
    pub history_full: u64,
    /// The tail in each twentieth of the trace.
    #[serde(default)]
    pub tail_blocks: Vec<TailBlock>,
    /// Functions in which the tail's requests slept, the longest first; at most 64.
    #[serde(default)]
    pub functions: Vec<FunctionTime>,
    /// The tail's time by stack: lines of `frames time`, the time in µs, as `--folded` has them.
    #[serde(default)]
    pub tail_stacks: Vec<String>,
}

impl Blame {
    /// Why it is unknown, in a sentence; `None`: it holds.
    pub fn doubt(&self) -> Option<&str> {
        self.verdict.doubt(&self.reasons)
    }

    /// The same without a name, for that reason.
    #[must_use]
    pub(crate) fn doubted(mut self, why: &str) -> Self {
        self.suspects.iter_mut().for_each(|suspect| suspect.is_named = false);
        self.answer = sentence::none(self.q, why);
        self
    }
}

/// One suspect, and how much of the excess it explains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspectShare {
    /// `task` (had the CPU while the request's thread was runnable), `softirq`, `hardirq`, `futex`,
    /// `block_io`, `page_fault`, `pipe`, `socket`, `sleep`, `other` (the thread slept), `unseen`, or
    /// `stage` (what the stage itself took).
    pub kind: String,
    /// Of the task, vector, interrupt, file, kernel function or stage.
    pub name: String,
    /// Control group of the task, its own name; `null`: the root, or no task.
    pub cgroup: Option<String>,
    /// The task is a thread of the kernel.
    pub is_kernel: bool,
    /// The task is a thread of the service itself.
    pub is_own: bool,
    /// Name of the thread that ended a sleep, if known.
    pub waker: Option<String>,
    /// Threads it was, or those that ended the sleep; the one with the most time first, at most 8. Without
    /// those outside the PID namespace (the container) that was traced from, which have no number there.
    pub tids: Vec<u32>,
    /// Per request of the tail.
    pub tail_mean_ns: f64,
    /// Per request of the body.
    pub body_mean_ns: f64,
    /// Of the excess.
    pub share: f64,
    /// Lower bound of that, 99.5 %.
    pub share_low: f64,
    /// Requests of the tail that it touched; 0 for stages, which all have.
    pub requests: u64,
    /// It is a culprit by the rule.
    pub is_named: bool,
    /// Of a sleep that a thread of the service ended: what that one did meanwhile, the longest first,
    /// mean per request of the tail, ns.
    pub waker_did: Vec<(String, f64)>,
    /// In words.
    pub about: String,
    /// Time of the tail's requests in each twentieth of the trace, ns.
    #[serde(default)]
    pub tail_blocks_ns: Vec<u64>,
}

/// The answer, and the time by stack that flame graphs are drawn from.
#[derive(Clone, Debug)]
pub struct Blamed {
    /// As it is written.
    pub blame: Blame,
    /// Of the tail.
    pub tail: Folded,
    /// Of the body.
    pub body: Folded,
}

/// What is asked, and of whom.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The quantile.
    pub q: f64,
    /// Where it lies, ns.
    pub from_ns: u64,
    /// Requests at or above that which the kernel counted.
    pub requests: u64,
    /// Start and end of the trace, ns.
    pub span: (u64, u64),
    /// The service's threads.
    pub threads: &'a [Thread],
}

/// Joins what was kept with what was seen; the records' threads are thread ids.
pub fn blame(asked: Asked<'_>, retained: &Selection, seen: &Seen) -> Blamed {
    let index = Index::new(seen, asked.threads.iter().map(|thread| thread.tgid));
    let names: HashMap<u32, String> =
        asked.threads.iter().map(|thread| (thread.tid, thread.comm.clone())).collect();
    let tail = group(&retained.tail, &index, asked.span, &names, true);
    let body = group(&retained.body, &index, asked.span, &names, false);
    let mut weights = rule::weigh(&tail, &body);
    let reasons = doubts(asked, &tail, &body, &seen.losses);
    if !reasons.is_empty() {
        weights.suspects.iter_mut().for_each(|suspect| suspect.is_named = false);
    }
    let mut blame = written(asked, (&tail, &body), &weights, reasons, seen.losses);
    blame.endpoints = endpoint::list(&retained.tail, &retained.body);
    blame.tail_blocks = tail::blocks(&tail);
    blame.functions = tail::functions(&tail);
    blame.tail_stacks = flame::stacks(&tail.folded);
    Blamed { blame, tail: tail.folded, body: body.folded }
}

/// Why the answer must not be believed.
fn doubts(asked: Asked<'_>, tail: &Group, body: &Group, losses: &Losses) -> Vec<String> {
    let mut reasons = Vec::new();
    let (slow, others) = (tail.requests(), body.requests());
    if slow < rule::REQUESTS || others < rule::REQUESTS {
        let needed = rule::REQUESTS;
        let (began_ns, ended_ns) = asked.span;
        let longer = duration_for(ended_ns - began_ns, slow.min(others), needed);
        reasons.push(format!(
            "{slow} requests of the tail and {others} others are too few: {needed} are needed of each; \
             {longer}, or ask for a lower quantile"
        ));
    }
    if losses.share() > LOST_MAX {
        reasons.push(format!(
            "{:.1} % of what the scheduler did found no room: trace for a shorter time",
            losses.share() * 100.0
        ));
    }
    if (slow as f64) < STORED_MIN * asked.requests as f64 {
        reasons.push(format!(
            "{slow} of the {} requests of the tail have details: the load changed, or the ring was full",
            asked.requests
        ));
    }
    reasons
}

fn written(
    asked: Asked<'_>,
    (tail, body): (&Group, &Group),
    weights: &Weights,
    reasons: Vec<String>,
    losses: Losses,
) -> Blame {
    let listed = |weighed: &&Weighed| weighed.is_named || weighed.share.abs() >= SHARE_LISTED;
    let unexplained = weights.suspects.iter().filter(|weighed| weighed.suspect.is_unexplained());
    let some = |n: u64, ns: f64| (n > 0).then_some(ns);
    let verdict = if reasons.is_empty() { VerdictWord::Holds } else { VerdictWord::Unknown };
    Blame {
        q: asked.q,
        from_ns: asked.from_ns,
        tail_requests: tail.requests(),
        body_requests: body.requests(),
        tail_mean_ns: some(tail.requests(), weights.tail_ns),
        body_mean_ns: some(body.requests(), weights.body_ns),
        verdict,
        answer: sentence::answer(asked.q, weights, &reasons),
        reasons,
        suspects: weights
            .suspects
            .iter()
            .filter(listed)
            .take(LISTED)
            .map(|weighed| suspect_share(weighed, tail))
            .collect(),
        endpoints: Vec::new(),
        unexplained_share: unexplained.map(|weighed| weighed.share).sum(),
        told: losses.told,
        lost: losses.lost,
        history_full: losses.history_full,
        tail_blocks: Vec::new(),
        functions: Vec::new(),
        tail_stacks: Vec::new(),
    }
}

fn suspect_share(weighed: &Weighed, tail: &Group) -> SuspectShare {
    let none = Detail::default();
    let detail = tail.details.get(&weighed.suspect).unwrap_or(&none);
    let known = detail.tids.iter().filter(|(tid, _)| !pidns::is_outside(**tid));
    let mut tids: Vec<(u64, u32)> = known.map(|(tid, ns)| (*ns, *tid)).collect();
    tids.sort_unstable_by(|a, b| b.cmp(a));
    let requests = tail.requests().max(1) as f64;
    let mut did: Vec<(String, f64)> =
        detail.did.iter().map(|(what, ns)| (what.clone(), *ns as f64 / requests)).collect();
    did.sort_by(|a, b| b.1.total_cmp(&a.1));
    did.retain(|(_, ns)| *ns >= 0.05 * weighed.tail_ns);
    let text = |text: &std::sync::Arc<str>| (!text.is_empty()).then(|| text.to_string());
    let (cgroup, is_kernel, is_own, waker) = match &weighed.suspect {
        Suspect::Task { group, is_kernel, is_own, .. } => (text(group), *is_kernel, *is_own, None),
        Suspect::Wait { waker, .. } => (None, false, false, text(waker)),
        _ => (None, false, false, None),
    };
    SuspectShare {
        kind: weighed.suspect.kind().into(),
        name: weighed.suspect.name(),
        cgroup,
        is_kernel,
        is_own,
        waker,
        tids: tids.into_iter().take(TIDS).map(|(_, tid)| tid).collect(),
        tail_mean_ns: weighed.tail_ns,
        body_mean_ns: weighed.body_ns,
        share: weighed.share,
        share_low: if weighed.share_low.is_finite() { weighed.share_low } else { -1.0 },
        requests: detail.requests,
        is_named: weighed.is_named,
        waker_did: did,
        about: weighed.suspect.words(),
        tail_blocks_ns: tail
            .blocks
            .iter()
            .map(|block| block.of.get(&weighed.suspect).copied().unwrap_or(0))
            .collect(),
    }
}
