//! Shapes of load that servers meet: many connections, several workers, large replies, requests in
//! many segments. Every request is matched, with its bytes, and nothing is wrong beside it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sojourn_trace::judge::result::VerdictWord;
use sojourn_trace::judge::summary::{stage_times, tail};
use sojourn_trace::judge::verdict::{self, Bounds};
use sojourn_trace::reconstruct::reasons::{REASONS, Weight};
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::reconstruct::stages::RESIDUAL;
use sojourn_trace::session::Outcome;

use crate::support::real::{Driven, Kind, Load, Real, drive};
use crate::support::{alone, say, trace};

const LENGTH: Duration = Duration::from_millis(1500);
/// Of the requests, how many may miss a detail.
const FEW: f64 = 0.03;
/// Notes of what machine and network did (a full window is asked again), not of what a request lacks.
const OF_THE_MACHINE: [&str; 4] = ["switch_unseen", "wake_unseen", "worst_dropped", "retransmit"];

const MEMCACHED: Kind = Kind::Memcached { threads: 4 };
const NGINX: Kind = Kind::Nginx { workers: 8, is_corked: false };

struct Seen {
    outcome: Outcome,
    records: Vec<Record>,
    load: Load,
    driven: Driven,
}

/// Traces a server of `kind` under the load that `load` makes for it.
fn look(kind: Kind, load: impl FnOnce(&Real) -> Load) -> Option<Seen> {
    let real = Real::start(kind, &[])?;
    let load = load(&real);
    let mut driven = Driven { requests: 0, reply_bytes: 0 };
    let (outcome, records) = trace(real.pid(), || {
        let began = Instant::now();
        driven = drive(&real, &load, &|| began.elapsed() > LENGTH);
    });
    Some(Seen { outcome, records, load, driven })
}

impl Seen {
    /// Matched one by one, with its bytes; believed; and no note but `expected` of more than a few.
    fn assert(&self, kind: Kind, expected: &[&str]) {
        let counts = &self.outcome.counts;
        let (matched, requests) = (counts.matched(), self.driven.requests);
        let reported = format!("{kind:?}: {matched} of {requests} matched");
        let missed: Vec<_> = self
            .outcome
            .hooks
            .iter()
            .filter(|h| h.missed > 0)
            .map(|h| (&h.name, h.missed))
            .collect();
        println!("{reported}, {:?}, hooks that missed {missed:?}", self.reasons(|_| true));
        // The last one may still be on its way when the trace ends.
        let ended = matched + counts.reason("in_flight").min(1);
        assert!(matched <= requests && ended as f64 >= 0.99 * requests as f64, "{reported}");
        assert!(verdict::unmatched_share(counts) <= 0.01, "{reported}");
        let is_whole = |r: &&Record| {
            r.bytes_in as usize == self.load.ask.len()
                && r.bytes_out as usize == self.driven.reply_bytes
        };
        let whole = self.records.iter().filter(is_whole).count();
        assert!(whole as f64 >= 0.99 * matched as f64, "{reported}, {whole} with their bytes");
        let residual =
            (stage_times(&counts.from_row(0), RESIDUAL).share, tail(counts, 0.99).residual.share);
        let verdict = verdict::judge(counts, residual, Bounds::default(), vec![]);
        let forgotten = counts.reason("preempt_history");
        // Whose thread it will be is known of all requests of a connection but the first.
        assert!(forgotten <= self.load.connections as u64 + 1, "{reported}, {forgotten} forgotten");
        if verdict.verdict == VerdictWord::Unknown {
            let why = format!(
                "the stages of {forgotten} of {matched} requests are wrong: {forgotten} because more \
                 preemptions"
            );
            let is_that = |reason: &String| reason.starts_with(&why);
            assert!(forgotten > 0 && verdict.reasons.iter().all(is_that), "{:?}", verdict.reasons);
            say("unknown", &format!("{kind:?}: {}", verdict.reasons[0]));
        }
        for (name, n) in self.notes() {
            let is_known = expected.contains(&name) || OF_THE_MACHINE.contains(&name);
            assert!(is_known || n as f64 <= FEW * matched as f64, "{reported}, {n} {name}");
        }
    }

    fn notes(&self) -> Vec<(&'static str, u64)> {
        self.reasons(|weight| matches!(weight, Weight::Note | Weight::Split | Weight::Defect))
    }

    fn reasons(&self, is_asked: impl Fn(Weight) -> bool) -> Vec<(&'static str, u64)> {
        REASONS
            .iter()
            .zip(&self.outcome.counts.reasons)
            .filter(|(reason, n)| is_asked(reason.weight) && **n > 0)
            .map(|(reason, n)| (reason.name, *n))
            .collect()
    }

    /// Threads that served.
    fn workers(&self) -> usize {
        self.records.iter().map(|r| r.thread).collect::<BTreeSet<u32>>().len()
    }
}

/// `connections` that ask for a value of `bytes`.
fn asking(connections: usize, bytes: usize) -> impl Fn(&Real) -> Load {
    move |real| {
        real.keep("some", bytes);
        Load { connections, ask: real.get("some"), parts: 1 }
    }
}

#[test]
fn three_hundred_connections() {
    let Some(_alone) = alone() else { return };
    for (kind, workers) in [(MEMCACHED, 4), (NGINX, 2), (Kind::Redis, 1)] {
        let Some(seen) = look(kind, asking(300, 100)) else { continue };
        seen.assert(kind, &[]);
        assert!(seen.workers() >= workers, "{} served", seen.workers());
    }
}

#[test]
fn replies_of_a_megabyte() {
    let Some(_alone) = alone() else { return };
    for kind in [MEMCACHED, NGINX, Kind::Redis] {
        let Some(seen) = look(kind, asking(8, 1_000_000)) else { continue };
        seen.assert(kind, &[]);
    }
}

#[test]
fn requests_in_forty_segments() {
    let Some(_alone) = alone() else { return };
    for kind in [MEMCACHED, NGINX, Kind::Redis] {
        let in_parts = |real: &Real| {
            real.keep("some", 100);
            Load { connections: 8, ask: real.long("some", 8000), parts: 40 }
        };
        let Some(seen) = look(kind, in_parts) else { continue };
        seen.assert(kind, &["many_segments"]);
        let several = seen.outcome.counts.reason("many_segments");
        assert!(several as f64 > 0.5 * seen.records.len() as f64, "{several} in several segments");
    }
}
