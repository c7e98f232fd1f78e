//! How the instrument issued the load, all threads together: what `rate`, `fit` and `counts` judge.
//!
//! A request is *issued* at its intended time plus the instrument's own lag: its sent time less the
//! wait for a free connection. Arrivals are looked at in operational time (expected requests since
//! the start), where any Poisson load has rate 1. Requests of sessions are no Poisson process, but their
//! begins are: of these the tests are made, in a run that is kept whole.

use sojourn_base::Fault;
use sojourn_base::rng::{RngExt, stream};
use sojourn_workload::arrivals;
use sojourn_workload::schedule::Timetable;
use sojourn_workload::sessions::Sessions;

use super::{counts, fit};
use crate::drive::measurement::Measurement;
use crate::tally::Tally;
use crate::tally::pace::{BLOCKS, COUNT_MIN, Pace, WINDOWS_MAX};
use crate::tally::request::Request;
use crate::watch::outage::Windows;

/// Gap and window tested over the spread of the instrument's own lag.
const GAP_OVER_JITTER: f64 = 50.0;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Issue {
    /// Rate of issuing over the planned rate, minus one.
    pub rate_error: f64,
    /// A*² of the planned gaps, twice.
    pub planned_fit: (Option<f64>, Option<f64>),
    /// A*² of the issued gaps, thinned, twice.
    pub issued_fit: (Option<f64>, Option<f64>),
    /// Mean of the issued gaps tested, ns.
    pub gap_ns: f64,
    /// Index of dispersion of the issued arrivals, and its tolerance.
    pub dispersion: Option<(f64, f64)>,
    /// What the process itself has.
    pub dispersion_planned: f64,
    /// Most requests of one thread that were due and waited for a connection at one moment.
    pub backlog_max: u64,
}

impl Issue {
    pub fn of(
        run: &Measurement,
        timetable: &Timetable,
        windows: &Windows,
        all: &Tally,
        measured: (u64, u64),
    ) -> Result<Self, Fault> {
        if run.job.find_max {
            return Ok(Self::default());
        }
        let process = arrivals::parse(&run.job.arrivals, timetable.arrivals_rps())?;
        let sessions = timetable.sessions.as_ref();
        let clumps = sessions.map_or(1.0, |it| it.dispersion(measured.1 - measured.0));
        let mut issue = Self {
            rate_error: pace(run, measured).error(),
            dispersion_planned: process.dispersion() * clumps,
            backlog_max: match &run.long {
                Some(result) => result.issued.backlog_max,
                None => (0..run.threads.len()).map(|k| backlog_max(run, k)).max().unwrap_or(0),
            },
            ..Self::default()
        };
        if !process.superposes() || (sessions.is_some() && run.long.is_some()) {
            return Ok(issue); // not Poisson: no law for the gaps of what was issued
        }
        let view = View { run, timetable: &timetable.of_begins(), sessions, windows, measured };
        let each = sessions.map_or(1.0, |it| f64::from(it.requests()));
        let rps = all.requests as f64 / each / ((measured.1 - measured.0).max(1) as f64 / 1e9);
        // To p99: one request in ten falls due while another is being sent, at the loads of interest.
        let jitter_ns = all.pick_up.quantile(0.99).unwrap_or(0) as f64
            - all.pick_up.quantile(0.1).unwrap_or(0) as f64;
        let scale = (rps * GAP_OVER_JITTER * jitter_ns / 1e9).max(1.0); // in mean gaps
        let keep = 1.0 / scale;
        issue.gap_ns = 1e9 / (rps * keep).max(1e-9);
        let mean = scale.max(COUNT_MIN);
        let (planned, issued, counts) = match &run.long {
            Some(result) => {
                let out: Vec<_> = windows.within(measured.0, measured.1).collect();
                let counts = result.issued.counts(mean, &out, measured.1);
                (result.issued.planned(), result.issued.issued(keep), counts)
            }
            None => (
                view.blocks(1.0, |request| Some(request.intended_ns)),
                view.blocks(keep, Request::issued_ns),
                view.counts(mean, Request::issued_ns),
            ),
        };
        issue.planned_fit = view.fit(&planned);
        issue.issued_fit = view.fit(&issued);
        issue.dispersion = counts::dispersion(&counts);
        Ok(issue)
    }
}

/// A run as the tests look at it.
struct View<'a> {
    run: &'a Measurement,
    timetable: &'a Timetable,
    /// Of these only the begins are looked at.
    sessions: Option<&'a Sessions>,
    windows: &'a Windows,
    measured: (u64, u64),
}

impl View<'_> {
    /// Whether a request is what the arrival process is about.
    fn is_arrival(&self, request: &Request) -> bool {
        self.sessions.is_none_or(|sessions| sessions.nth(request.item) == 0)
    }

    /// `moment`s by block, each stored with probability `keep`.
    fn blocks(&self, keep: f64, moment: fn(&Request) -> Option<u64>) -> Vec<Vec<u64>> {
        let (from_ns, to_ns) = self.measured;
        let mut blocks = vec![Vec::new(); BLOCKS];
        let length_ns = ((to_ns - from_ns) / BLOCKS as u64).max(1);
        for thread in 0..self.run.threads.len() {
            let mut rng = stream(self.run.job.seed, "thin", thread as u64);
            for request in self.run.requests(thread).filter(|it| self.is_arrival(it)) {
                let Some(ns) = moment(&request) else { continue };
                if ns < from_ns || ns >= to_ns || (keep < 1.0 && rng.random::<f64>() >= keep) {
                    continue;
                }
                let block = ((ns - from_ns) / length_ns).min(BLOCKS as u64 - 1) as usize;
                blocks[block].push(ns);
            }
        }
        blocks
    }

    /// A*² of the gaps between the moments in `blocks`; two disjoint samples.
    fn fit(&self, blocks: &[Vec<u64>]) -> (Option<f64>, Option<f64>) {
        let per_block = fit::GAPS * 2 / BLOCKS;
        let sample = |parity: usize| {
            let chosen = (0..BLOCKS).filter(|block| block % 2 == parity);
            chosen.flat_map(|block| self.gaps(&blocks[block], per_block)).collect()
        };
        (fit::anderson_darling(sample(0)), fit::anderson_darling(sample(1)))
    }

    /// The first `most` gaps of a block in operational time, those over excluded time left out.
    ///
    /// A block ends at a count of gaps, not at a time, where it can: ending at a time favours
    /// short gaps. With fewer arrivals than that the last gap is missing, which matters little.
    fn gaps(&self, moments: &[u64], most: usize) -> Vec<f64> {
        let mut moments = moments.to_vec();
        moments.sort_unstable();
        moments.truncate(most + 1);
        moments
            .windows(2)
            .filter(|pair| !self.windows.touches(pair[0], pair[1] + 1))
            .map(|pair| {
                self.timetable.expected_by(pair[1] as f64)
                    - self.timetable.expected_by(pair[0] as f64)
            })
            .collect()
    }

    /// Arrivals in windows of equal operational time, `mean` in each at the least; those that touch
    /// excluded time are left out.
    fn counts(&self, mean: f64, moment: fn(&Request) -> Option<u64>) -> Vec<u32> {
        let (from_ns, to_ns) = self.measured;
        let expected = |ns: u64| self.timetable.expected_by(ns as f64);
        let start = expected(from_ns);
        let all = expected(to_ns) - start;
        let windows = (all / mean).min(WINDOWS_MAX).floor();
        if windows < 1.0 {
            return Vec::new();
        }
        let mut counts = vec![0_u32; windows as usize];
        let mut is_out = vec![false; counts.len()];
        let window_of = |ns: u64| ((expected(ns) - start) / all * windows) as usize;
        for thread in 0..self.run.threads.len() {
            let arrivals = self.run.requests(thread).filter(|it| self.is_arrival(it));
            for ns in arrivals.filter_map(|request| moment(&request)) {
                let is_in = (from_ns..to_ns).contains(&ns);
                if let Some(count) = counts.get_mut(window_of(ns)).filter(|_| is_in) {
                    *count += 1;
                }
            }
        }
        for (from, to) in self.windows.within(from_ns, to_ns) {
            let last = window_of(to).min(counts.len() - 1);
            is_out[window_of(from).min(last)..=last].fill(true);
        }
        counts
            .into_iter()
            .zip(is_out)
            .filter(|(_, is_out)| !is_out)
            .map(|(count, _)| count)
            .collect()
    }
}

/// How fast the requests of the measured part were due and issued.
fn pace(run: &Measurement, (from_ns, to_ns): (u64, u64)) -> Pace {
    if let Some(result) = &run.long {
        return result.issued.pace;
    }
    let mut pace = Pace::default();
    for request in (0..run.threads.len()).flat_map(|k| run.requests(k)) {
        if (from_ns..to_ns).contains(&request.intended_ns) {
            pace.add(&request);
        }
    }
    pace
}

/// Most requests of thread `index` that were due and waited for a connection at one moment.
///
/// Requests are sent in the order of the plan. So when a connection became free for request i,
/// those waiting were i and all that were due by then.
fn backlog_max(run: &Measurement, index: usize) -> u64 {
    let due_ns = &run.threads[index].plan.intended_ns;
    run.requests(index)
        .enumerate()
        .filter(|(_, request)| request.sent_ns > 0 && request.waited())
        .map(|(i, request)| due_ns.partition_point(|&due| due <= request.free_ns).saturating_sub(i))
        .max()
        .unwrap_or(0) as u64
}

#[cfg(test)]
mod tests;
