//! What is left of a long run: every sum of [`crate::judge::summary`], taken request by request.
//!
//! The same parts count as in a run of one piece ([`Tally`], [`MissWindows`], [`IssuedBefore`]), so histograms,
//! windows and counts are the same. Three numbers are coarser, none of which is a measured time:
//! the p99 by which outages look back is read from a histogram (one part in a thousand), the usual
//! backlog from a grid ([`Outstanding`]), and windows of counts are multiples of the finest.

use sojourn_base::Fault;
use sojourn_base::units::parse_ns;
use sojourn_workload::schedule::Timetable;

use super::backlog::{Grid, Near};
use super::held::Held;
use super::{IssuedBefore, Outstanding};
use crate::job::Job;
use crate::plan::resolve::qos_bound_ns;
use crate::protocols::Outcome;
use crate::tally::Tally;
use crate::tally::misses::MissWindows;
use crate::tally::playback::{Playback, Seen};
use crate::tally::request::Request;
use crate::tally::slices::Slices;
use crate::watch::outage::Outage;
use crate::watch::outage::Windows;

/// Counts over the whole run or parts of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Hits completed within the measured part.
    pub hits_within: u64,
    /// Requests sent within the measured part.
    pub sent_within: u64,
    /// Requests sent, warm-up included.
    pub sent: u64,
    /// Of these, how many got a reply that follows the protocol.
    pub understood: u64,
    /// Requests that were garbled, warm-up included.
    pub garbled: u64,
    /// Requests that were lost with their connection, warm-up included.
    pub closed: u64,
    /// Requests that were given up, warm-up included.
    pub timed_out: u64,
    /// Requests of which a part of the reply had come when they were lost, and when they were given up.
    pub cut_off: u64,
    /// See `cut_off`.
    pub too_slow: u64,
}

impl Counts {
    /// Counts a request; hits and sends within a part of the run.
    pub(crate) fn add(&mut self, request: &Request, (from_ns, to_ns): (u64, u64)) {
        let Request { sent_ns, done_ns, outcome, .. } = *request;
        let is_within = |ns: u64| (from_ns..to_ns).contains(&ns);
        let is_no_reply = matches!(
            outcome,
            Outcome::Pending | Outcome::Garbled | Outcome::Closed | Outcome::TimedOut
        );
        let is_begun = request.first_byte_ns > 0;
        self.hits_within += u64::from(outcome == Outcome::Hit && is_within(done_ns));
        self.sent_within += u64::from(sent_ns > 0 && is_within(sent_ns));
        self.sent += u64::from(sent_ns > 0);
        self.understood += u64::from(!is_no_reply);
        self.garbled += u64::from(outcome == Outcome::Garbled);
        self.closed += u64::from(outcome == Outcome::Closed);
        self.timed_out += u64::from(outcome == Outcome::TimedOut);
        self.cut_off += u64::from(outcome == Outcome::Closed && is_begun);
        self.too_slow += u64::from(outcome == Outcome::TimedOut && is_begun);
    }
}

/// Sums that are still being taken.
#[derive(Debug)]
pub struct Account {
    measured: (u64, u64),
    timely_within_ns: u64,
    outage_over_ns: u64,
    tallies: Vec<Tally>,
    counts: Counts,
    issued: IssuedBefore,
    misses: Option<(MissWindows, u64)>,
    slices: Option<Slices>,
    grid: Grid,
    playback: Option<Playback>,
    /// Requests near outages, and these.
    pub held: Held,
}

/// The sums of a long run that is over.
#[derive(Debug)]
pub struct Findings {
    /// All outages of the instrument.
    pub log: Vec<Outage>,
    /// What they exclude.
    pub windows: Windows,
    /// One for each thread.
    pub tallies: Vec<Tally>,
    /// See [`Counts`].
    pub counts: Counts,
    /// How it was issued.
    pub issued: IssuedBefore,
    /// Misses by windows; `None` without a bound.
    pub misses: Option<MissWindows>,
    /// The interval log; `None`: not asked for.
    pub slices: Option<Slices>,
    /// What users of sessions saw; `None` without sessions.
    pub sessions: Option<Seen>,
    /// Requests outstanding over time.
    pub outstanding: Outstanding,
    /// Whether the seconds could be written.
    pub seconds: Result<(), Fault>,
}

impl Account {
    /// For a resolved job; `sentinels` names the threads that each watches over.
    pub fn new(
        job: &Job,
        timetable: &Timetable,
        sentinels: Vec<Vec<usize>>,
    ) -> Result<Self, Fault> {
        let time = |text: &str, at: &str| parse_ns(text).map_err(|fault| fault.within(at));
        let measured = (timetable.warmup_ns, timetable.end_ns());
        let misses = qos_bound_ns(job)?
            .map(|bound_ns| (MissWindows::empty(bound_ns, measured.1 - measured.0), bound_ns));
        Ok(Self {
            measured,
            timely_within_ns: time(&job.timely_within, "timely_within")?,
            outage_over_ns: time(&job.outage_over, "outage_over")?.max(1),
            tallies: (0..job.threads).map(|_| Tally::of(job)).collect(),
            counts: Counts::default(),
            issued: IssuedBefore::new(job, timetable)?,
            misses,
            slices: (!job.hlog.is_empty()).then(|| Slices::new(measured)),
            grid: Grid::new(measured.1 + time(&job.drain, "drain")?),
            playback: Playback::of(job, measured)?,
            held: Held::new(sentinels),
        })
    }

    /// Counts a request of `thread` that has ended, the next in its plan; `waiting` requests waited
    /// for a connection when it got one.
    pub fn add(&mut self, thread: usize, request: &Request, waiting: u64) {
        let is_measured = (self.measured.0..self.measured.1).contains(&request.intended_ns);
        self.counts.add(request, self.measured);
        self.grid.add(request);
        if let Some(playback) = &mut self.playback {
            playback.add(thread, request);
        }
        self.issued.add(thread, request, waiting, is_measured);
        let passes = self.held.passes(thread, request);
        if is_measured {
            self.tallies[thread].add_all(request, self.timely_within_ns);
            if let Some(slices) = &mut self.slices {
                slices.add(request, false);
            }
            if passes {
                self.keep(thread, request);
            }
        }
    }

    /// A request of the measured part is outside outages.
    fn keep(&mut self, thread: usize, request: &Request) {
        self.tallies[thread].add_counted(request, self.timely_within_ns);
        if let Some((misses, bound_ns)) = &mut self.misses {
            misses.add_due(request, self.measured.0, *bound_ns);
        }
        if let Some(slices) = &mut self.slices {
            slices.keep(request);
        }
    }

    /// All requests due before `ns` have been counted.
    pub fn counted_before(&mut self, ns: u64) {
        if let Some(slices) = &mut self.slices {
            slices.pack_before(ns);
        }
        if self.held.is_full() {
            self.decide(ns);
        }
    }

    /// Decides which of the held requests due before `ns` count.
    pub(super) fn decide(&mut self, ns: u64) -> Windows {
        let usual = self.grid.outstanding();
        let (windows, rows) = self.held.decide(&Near::new(&usual), (ns, self.outage_over_ns));
        for (thread, request) in rows {
            let is_measured = (self.measured.0..self.measured.1).contains(&request.intended_ns);
            if is_measured && !windows.touches(request.intended_ns, request.intended_ns + 1) {
                self.keep(thread, &request);
            }
        }
        windows
    }

    /// The run was over at `to_ns`: nothing due later counts.
    pub fn cut(&mut self, to_ns: u64) {
        self.measured.1 = to_ns;
    }

    /// The sums, when all requests have been counted.
    pub fn finish(mut self, seconds: Result<(), Fault>) -> Findings {
        let windows = self.decide(u64::MAX);
        let measured_ns = self.measured.1 - self.measured.0;
        Findings {
            log: self.held.log(),
            windows,
            tallies: self.tallies,
            counts: self.counts,
            issued: self.issued,
            misses: self.misses.map(|(misses, _)| misses.cut(measured_ns)),
            slices: self.slices,
            sessions: self.playback.map(|playback| playback.seen().clone()),
            outstanding: self.grid.outstanding(),
            seconds,
        }
    }
}
