//! Requests become spans and counts.

pub mod bodies;
pub mod misses;
pub mod pace;
pub mod playback;
pub mod request;
pub mod slices;

use std::collections::BTreeMap;

use sojourn_base::span::Times;

use crate::job::Job;
use crate::protocols::Outcome;
use crate::tally::bodies::Bodies;
use crate::tally::playback::ByKind;
use crate::tally::request::Request;

/// The spans and counts of a set of requests.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests due in the measured part.
    pub requests: u64,
    /// Of these, those outside outages and recoveries.
    pub retained: u64,
    /// Requests that did not end as a hit, by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Requests sent within ε of their intended time.
    pub timely: u64,
    /// Kept requests sent within ε of the moment they were due and a connection was free.
    pub counted_timely: u64,
    /// Requests that waited for a free connection.
    pub waited: u64,
    /// Body bytes received.
    pub reply_bytes: u64,
    /// Lengths of bodies.
    pub bodies: Bodies,
    /// done − intended, outages excluded.
    pub sojourn: Times,
    /// done − intended, all.
    pub sojourn_all: Times,
    /// done − sent.
    pub wire: Times,
    /// first byte − sent.
    pub first_byte: Times,
    /// sent − intended.
    pub send_lag: Times,
    /// The instrument's part of it.
    pub pick_up: Times,
    /// Sojourn times as an instrument without lag would have found them: done − intended − pick-up.
    pub punctual: Times,
    /// Of `sojourn`, those due while no stop of the server's CPUs reached them.
    pub undisturbed: Times,
    /// Sojourn times of sessions by what was asked for, outages excluded; `None` without sessions.
    pub by_kind: Option<ByKind>,
}

/// Where a request was due.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// In an outage of the instrument, or the recovery from it.
    pub is_out: bool,
    /// In a stop of the server's CPUs, or the recovery from it.
    pub is_disturbed: bool,
}

impl Tally {
    /// For the requests of `job`.
    pub(crate) fn of(job: &Job) -> Self {
        Self { bodies: Bodies::of(job), by_kind: ByKind::of(job), ..Self::default() }
    }

    pub(crate) fn add(&mut self, request: &Request, place: Place, timely_within_ns: u64) {
        self.add_all(request, timely_within_ns);
        if !place.is_out {
            self.add_counted(request, timely_within_ns);
        }
        if !place.is_out && !place.is_disturbed {
            put(&mut self.undisturbed, hit_from(request, request.intended_ns, request.done_ns));
        }
    }

    /// Counts a request in what holds for all requests.
    pub(crate) fn add_all(&mut self, request: &Request, timely_within_ns: u64) {
        let Request { intended_ns, sent_ns, done_ns, .. } = *request;
        self.requests += 1;
        self.reply_bytes += u64::from(request.reply_bytes);
        self.bodies.add(request);
        self.waited += u64::from(request.waited());
        let send_lag_ns = sent_ns.saturating_sub(intended_ns);
        self.timely += u64::from(sent_ns > 0 && send_lag_ns <= timely_within_ns);
        if let Some(kind) = error_kind(request) {
            *self.errors.entry(kind).or_default() += 1;
        }
        put(&mut self.sojourn_all, hit_from(request, intended_ns, done_ns));
    }

    /// Counts a request, which `add_all` has counted, in what holds for those outside outages.
    pub(crate) fn add_counted(&mut self, request: &Request, timely_within_ns: u64) {
        let Request { intended_ns, sent_ns, done_ns, .. } = *request;
        let from = |start_ns: u64, end_ns: u64| hit_from(request, start_ns, end_ns);
        self.retained += 1;
        let pick_up_ns = request.pick_up_ns();
        self.counted_timely += u64::from(pick_up_ns.is_some_and(|ns| ns <= timely_within_ns));
        put(&mut self.sojourn, from(intended_ns, done_ns));
        if let Some(by_kind) = &mut self.by_kind {
            by_kind.add(request, hit_from(request, intended_ns, done_ns));
        }
        put(&mut self.wire, from(sent_ns, done_ns));
        put(&mut self.first_byte, from(sent_ns, request.first_byte_ns));
        put(&mut self.send_lag, (sent_ns > 0).then(|| sent_ns.saturating_sub(intended_ns)));
        put(&mut self.pick_up, pick_up_ns);
        let punctual_ns =
            from(intended_ns, done_ns).zip(pick_up_ns).map(|(ns, lag)| ns - lag.min(ns));
        put(&mut self.punctual, punctual_ns);
    }

    /// Adds all of `other`: histograms are merged, no quantile is ever averaged (METHOD M14, aggregation).
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.retained += other.retained;
        self.timely += other.timely;
        self.counted_timely += other.counted_timely;
        self.waited += other.waited;
        self.reply_bytes += other.reply_bytes;
        self.bodies.merge(&other.bodies);
        for (kind, count) in &other.errors {
            *self.errors.entry(kind).or_default() += count;
        }
        self.sojourn.merge(&other.sojourn);
        self.sojourn_all.merge(&other.sojourn_all);
        self.wire.merge(&other.wire);
        self.first_byte.merge(&other.first_byte);
        self.send_lag.merge(&other.send_lag);
        self.pick_up.merge(&other.pick_up);
        self.punctual.merge(&other.punctual);
        self.undisturbed.merge(&other.undisturbed);
        match (&mut self.by_kind, &other.by_kind) {
            (Some(own), Some(others)) => own.merge(others),
            (own, others) => *own = own.take().or_else(|| others.clone()),
        }
    }

    /// Requests that ended as `kind`.
    pub fn errors_of(&self, kind: &str) -> u64 {
        self.errors.get(kind).copied().unwrap_or(0)
    }
}

/// A time of `request`, which is finite if it was a hit.
fn hit_from(request: &Request, start_ns: u64, end_ns: u64) -> Option<u64> {
    (request.outcome == Outcome::Hit).then(|| end_ns.saturating_sub(start_ns))
}

fn put(times: &mut Times, ns: Option<u64>) {
    match ns {
        Some(ns) => times.add(ns),
        None => times.add_lost(),
    }
}

fn error_kind(request: &Request) -> Option<&'static str> {
    match request.outcome {
        Outcome::Hit => None,
        Outcome::Pending if request.sent_ns == 0 => Some("unsent"),
        Outcome::Pending => Some("unanswered"),
        failed => Some(failed.name()),
    }
}

/// `part` over `whole`; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
