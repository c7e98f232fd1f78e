//! Outages of the instrument: times in which it did not run although it wanted to (METHOD M27).
//!
//! Life of an outage: a spinning thread sees a gap between two of its polls, or a sentinel wakes
//! late ([`crate::watch::sentinel`]) → [`crate::judge::excluded`] merges them, and drops from a sentinel's outages what the
//! threads' own marks refute → [`Windows`] says which intended times cannot be judged → the summary
//! leaves these requests out of `sojourn_ns`, and prints how many they were.
//!
//! A window begins a little before its outage and ends with the recovery from it:
//!
//! ```text
//!  due ──┬──────────┬────────────────────┬─────────────┬──→ time
//!      s − b        s      outage        e  recovery   r
//! ```
//!
//! - *Before*: a reply that came during the stop was picked up late, so a request in flight at s
//!   has a sojourn time too long by up to e − s. Such requests were due shortly before s. The
//!   look-back b is the shorter of the outage and the run's p99 sojourn time: one constant for all
//!   requests, because choosing by each request's own latency would bias what is left.
//! - *Recovery*: at e the requests that fell due in the outage are sent at once and queue at the
//!   server. The backlog is worked off at the first moment at which no more requests are
//!   outstanding (due and not done) than just before the outage, or than the run's median away
//!   from outages if that is more. In a fluid queue at utilisation ρ that takes (e − s) ρ/(1 − ρ).
//! - An outage that falls into trouble of the server's own finds a backlog that does not go away;
//!   to exclude until it does would hide the server's tail behind our outage. So r is not each
//!   outage's own: it is e plus the 90th percentile of recovery over length among outages of similar
//!   length (half to twice), times the length. Windows then depend on the outage alone, not on what
//!   the server did meanwhile. An outage with fewer than eight such peers keeps its own recovery.
//!   One that began during the recovery from another is no peer where eight others are: it found a
//!   backlog already, so it seems to recover at once. (With these, and with the upper quartile, p99
//!   at ρ = .9 and 5 % of stops was 1.58 times the true one; now it is 1.01 times: `tests/bias.rs`.)
//! - r ≤ e + 20 (e − s), which is enough up to ρ = 0.95.

mod factors;
mod queue;

use factors::Recovery;
pub(crate) use queue::{Backlog, Queue};

/// Recovery lasts at most this many times the outage.
pub(crate) const RECOVERY_FACTOR_MAX: u64 = 20;
/// Moments at which the number of outstanding requests is looked at for its median.
pub(crate) const SAMPLES: u64 = 1001;

/// A time during which this thread did not run although it wanted to (METHOD M27).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When it began, ns after the start of the warm-up.
    pub start_ns: u64,
    /// How long it took, ns.
    pub length_ns: u64,
}

impl Outage {
    /// When it was over, ns after the start of the warm-up.
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.length_ns
    }
}

/// What one sentinel saw of its CPU.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// The CPU it was pinned to; `None`: not pinned.
    pub cpu: Option<usize>,
    /// The threads that it watched over, by index; none: a synthetic service.
    pub threads: Vec<usize>,
    /// When it woke late, ns after the start of the warm-up, ascending.
    pub outages: Vec<Outage>,
    /// Outages beyond what its log holds: counted, not listed.
    pub unlisted: u64,
    /// CPU time that the sentinel itself used, ns.
    pub cpu_ns: u64,
}

/// Ascending, non-overlapping union of `outages`.
pub(crate) fn union(mut outages: Vec<Outage>) -> Vec<Outage> {
    outages.sort_unstable_by_key(|outage| outage.start_ns);
    let mut merged: Vec<Outage> = Vec::with_capacity(outages.len());
    for outage in outages {
        match merged.last_mut() {
            Some(last) if outage.start_ns <= last.end_ns() => {
                last.length_ns = last.end_ns().max(outage.end_ns()) - last.start_ns;
            }
            _ => merged.push(outage),
        }
    }
    merged
}

/// The parts of `outages` longer than `over_ns` without a sign of life.
///
/// A sentinel that shares its CPU with a busy generator or service may wake late because that runs.
/// It is no outage, and the marks prove it.
pub(crate) fn unrefuted(
    outages: &[Outage],
    signs: impl Iterator<Item = u64>,
    over_ns: u64,
) -> Vec<Outage> {
    let mut within: Vec<Vec<u64>> = vec![Vec::new(); outages.len()];
    for ns in signs {
        let after = outages.partition_point(|outage| outage.start_ns < ns);
        if after > 0 && ns < outages[after - 1].end_ns() {
            within[after - 1].push(ns);
        }
    }
    let mut left = Vec::new();
    for (outage, mut alive) in outages.iter().zip(within) {
        alive.push(outage.start_ns);
        alive.push(outage.end_ns());
        alive.sort_unstable();
        left.extend(
            alive
                .windows(2)
                .map(|pair| Outage { start_ns: pair[0], length_ns: pair[1] - pair[0] })
                .filter(|part| part.length_ns > over_ns),
        );
    }
    left
}

/// Times whose requests cannot be judged: outages, what led up to them, and the recovery from them.
#[derive(Clone, Debug, Default)]
pub struct Windows(Vec<Outage>);

impl Windows {
    /// The windows around the times in `log`, which left what `queue` says.
    pub(crate) fn around(log: &[Outage], queue: &impl Backlog) -> Self {
        let typical = queue.median_away_from(log);
        let look_back_ns = queue.look_back_ns();
        let mut busy_until_ns = 0;
        let own: Vec<Recovery> = log
            .iter()
            .map(|outage| {
                let recovered_ns = queue.recovered_ns(outage, typical);
                let is_alone = outage.start_ns >= busy_until_ns;
                busy_until_ns = busy_until_ns.max(recovered_ns);
                let factor = (recovered_ns - outage.end_ns()) as f64;
                let length_ns = outage.length_ns;
                Recovery { length_ns, factor: factor / length_ns.max(1) as f64, is_alone }
            })
            .collect();
        let factors = factors::typical(&own);
        let window = |(outage, factor): (&Outage, f64)| {
            let start_ns = outage.start_ns.saturating_sub(outage.length_ns.min(look_back_ns));
            let end_ns = outage.end_ns() + (factor * outage.length_ns as f64) as u64;
            Outage { start_ns, length_ns: end_ns - start_ns }
        };
        Self(union(log.iter().zip(factors).map(window).collect()))
    }

    /// Asks about ascending times in constant time each.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { windows: &self.0, at: 0 }
    }

    /// The windows that touch [from, to), cut to it.
    pub fn within(&self, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let touches = move |w: &&Outage| w.start_ns < to_ns && w.end_ns() > from_ns;
        self.0.iter().filter(touches).map(move |w| (w.start_ns.max(from_ns), w.end_ns().min(to_ns)))
    }

    /// Whether any window touches [from, to).
    pub fn touches(&self, from_ns: u64, to_ns: u64) -> bool {
        let next = self.0.partition_point(|window| window.end_ns() <= from_ns);
        self.0.get(next).is_some_and(|window| window.start_ns < to_ns)
    }
}

impl From<Vec<Outage>> for Windows {
    /// Of ascending, disjoint times.
    fn from(windows: Vec<Outage>) -> Self {
        Self(windows)
    }
}

/// A place in the windows that only moves on; see [`Windows::cursor`].
#[derive(Debug)]
pub struct Cursor<'a> {
    windows: &'a [Outage],
    at: usize,
}

impl Cursor<'_> {
    /// Whether `ns` lies in a window. `ns` must not be less than in the call before.
    pub fn covers(&mut self, ns: u64) -> bool {
        while self.windows.get(self.at).is_some_and(|window| window.end_ns() <= ns) {
            self.at += 1;
        }
        self.windows.get(self.at).is_some_and(|window| window.start_ns <= ns)
    }
}

#[cfg(test)]
mod tests;
