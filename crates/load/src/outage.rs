//! Outages of the instrument: times in which it did not run although it wanted to (METHOD M27).
//!
//! Life of an outage: a spinning thread sees a gap between two of its polls, or a sentinel wakes
//! late ([`crate::sentinel`]) → [`log`] merges them, and drops from a sentinel's outages what the
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
//! - *Before*: a reply that came while nobody looked was picked up late, so a request in flight at s
//!   has a sojourn time too long by up to e − s. Such requests were due shortly before s. The
//!   look-back b is the shorter of the outage and the run's p99 sojourn time: one constant for all
//!   requests, because choosing by each request's own latency would bias what is left.
//! - *Recovery*: at e the requests that fell due in the outage are sent at once and queue at the
//!   server. The backlog is worked off at the first moment at which no more requests are
//!   outstanding (due and not done) than just before the outage, or than the run's median away
//!   from outages if that is more. In a fluid queue at utilisation ρ that takes (e − s) ρ/(1 − ρ).
//! - An outage that falls into trouble of the server's own finds a backlog that does not go away;
//!   to exclude until it does would hide the server's tail behind our outage. So r is not each
//!   outage's own: it is e plus the upper quartile of recovery over length among outages of similar
//!   length (half to twice), times the length. Windows then depend on the outage alone, not on what
//!   the server did meanwhile. An outage with fewer than eight such peers keeps its own recovery.
//! - r ≤ e + 20 (e − s), which is enough up to ρ = 0.95.

use sojourn_base::Fault;
use sojourn_base::units::parse_ns;

use crate::marks::{Outage, Outcome};
use crate::result::Outages;
use crate::summary::{Run, Tally, share, union};

/// Recovery lasts at most this many times the outage.
const RECOVERY_FACTOR_MAX: u64 = 20;
/// Outages of similar length that are needed to judge recovery by them.
const PEERS_MIN: usize = 8;
/// Moments at which the number of outstanding requests is looked at for its median.
const SAMPLES: u64 = 1001;
/// Outages listed in a result.
const LISTED_MAX: usize = 1000;

/// What one sentinel saw.
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

/// All outages of the run, warm-up and drain included, ascending and disjoint.
pub fn log(run: &Run) -> Result<Vec<Outage>, Fault> {
    let over_ns =
        parse_ns(&run.job.outage_over).map_err(|fault| fault.within("outage_over"))?.max(1);
    let mut all: Vec<Outage> = run.threads.iter().flat_map(|t| t.outages.clone()).collect();
    for watch in &run.sentinels {
        all.extend(unrefuted(&watch.outages, signs(run, watch), over_ns));
    }
    Ok(union(all))
}

/// When what `watch` watches over was alive, in no order: its threads sent or picked up; a synthetic
/// service replied, to whichever thread.
fn signs<'a>(run: &'a Run, watch: &'a Watch) -> impl Iterator<Item = u64> + 'a {
    let is_service = watch.threads.is_empty();
    let is_watched = move |index: &usize| is_service || watch.threads.contains(index);
    let marks = run.threads.iter().enumerate().filter(move |(index, _)| is_watched(index));
    marks.flat_map(move |(_, thread)| {
        let sent_ns: &[u64] = if is_service { &[] } else { &thread.marks.sent_ns };
        sent_ns.iter().chain(&thread.marks.done_ns).copied()
    })
}

/// The parts of `outages` longer than `over_ns` without a sign of life.
///
/// A sentinel that shares its CPU with a busy generator or service may wake late because that runs.
/// It is no outage, and the marks prove it.
fn unrefuted(outages: &[Outage], signs: impl Iterator<Item = u64>, over_ns: u64) -> Vec<Outage> {
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
    /// The windows around all outages of the run.
    pub fn of_run(run: &Run) -> Result<Self, Fault> {
        Ok(Self::of(run, &log(run)?))
    }

    /// The windows around the outages in `log`.
    pub fn of(run: &Run, log: &[Outage]) -> Self {
        if log.is_empty() {
            return Self::default();
        }
        let queue = Queue::of(run);
        let typical = queue.median_away_from(log);
        let look_back_ns = queue.p99_sojourn_ns();
        let own: Vec<Recovery> = log
            .iter()
            .map(|outage| Recovery {
                length_ns: outage.length_ns,
                factor: (queue.recovered_ns(outage, typical) - outage.end_ns()) as f64
                    / outage.length_ns.max(1) as f64,
            })
            .collect();
        let factors = typical_factors(&own);
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

/// How long an outage was, and how many times as long its recovery took.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    length_ns: u64,
    factor: f64,
}

/// For each of `own` the upper quartile of the factor among its peers, or its own without enough.
fn typical_factors(own: &[Recovery]) -> Vec<f64> {
    let mut by_length = own.to_vec();
    by_length.sort_unstable_by_key(|recovery| recovery.length_ns);
    let of_peers = |recovery: &Recovery| {
        let length_ns = recovery.length_ns;
        let first = by_length.partition_point(|peer| peer.length_ns < length_ns / 2);
        let last = by_length.partition_point(|peer| peer.length_ns <= length_ns * 2);
        let mut factors: Vec<f64> = by_length[first..last].iter().map(|peer| peer.factor).collect();
        if factors.len() < PEERS_MIN {
            return recovery.factor;
        }
        let rank = factors.len() * 3 / 4;
        *factors.select_nth_unstable_by(rank, f64::total_cmp).1
    };
    own.iter().map(of_peers).collect()
}

/// See [`Windows::cursor`].
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

/// Requests outstanding over time: due and not done. Those never done are left out, since they
/// would count as a backlog for ever. All in ns, ascending.
struct Queue {
    due: Vec<u64>,
    done: Vec<u64>,
    p99_sojourn: u64,
}

impl Queue {
    fn of(run: &Run) -> Self {
        let mut pairs: Vec<(u64, u64)> = (0..run.threads.len())
            .flat_map(|index| run.requests(index))
            .filter(|request| request.outcome == Outcome::Hit)
            .map(|request| (request.intended_ns, request.done_ns.max(request.intended_ns)))
            .collect();
        let p99_sojourn = p99(pairs.iter().map(|(due, done)| done - due).collect());
        pairs.sort_unstable();
        let due = pairs.iter().map(|pair| pair.0).collect();
        let mut done: Vec<u64> = pairs.into_iter().map(|pair| pair.1).collect();
        done.sort_unstable();
        Self { due, done, p99_sojourn }
    }

    fn p99_sojourn_ns(&self) -> u64 {
        self.p99_sojourn
    }

    /// Requests due before `ns` and not done before it.
    fn outstanding_before(&self, ns: u64) -> usize {
        let due = self.due.partition_point(|&due| due < ns);
        due - self.done.partition_point(|&done| done < ns).min(due)
    }

    /// Median number of outstanding requests at evenly spaced moments outside `log`.
    fn median_away_from(&self, log: &[Outage]) -> usize {
        let (Some(&first), Some(&last)) = (self.due.first(), self.due.last()) else {
            return 0;
        };
        let mut seen: Vec<usize> = (0..SAMPLES)
            .map(|i| first + (last - first) / SAMPLES * i)
            .filter(|&ns| !log.iter().any(|o| (o.start_ns..o.end_ns()).contains(&ns)))
            .map(|ns| self.outstanding_before(ns))
            .collect();
        seen.sort_unstable();
        seen.get(seen.len() / 2).copied().unwrap_or(0)
    }

    /// When the backlog that `outage` left was worked off.
    fn recovered_ns(&self, outage: &Outage, typical: usize) -> u64 {
        let enough = typical.max(self.outstanding_before(outage.start_ns));
        let latest_ns = outage.end_ns() + RECOVERY_FACTOR_MAX * outage.length_ns;
        let mut due = self.due.partition_point(|&due| due < outage.end_ns());
        let first_done = self.done.partition_point(|&done| done < outage.end_ns());
        if due <= first_done + enough {
            return outage.end_ns();
        }
        for (done, &ns) in self.done.iter().enumerate().skip(first_done) {
            while self.due.get(due).is_some_and(|&next| next <= ns) {
                due += 1;
            }
            if ns >= latest_ns || due <= done + 1 + enough {
                return ns.min(latest_ns);
            }
        }
        latest_ns
    }
}

fn p99(mut values: Vec<u64>) -> u64 {
    if values.is_empty() {
        return 0;
    }
    let rank = (values.len() * 99).div_ceil(100).max(1) - 1;
    *values.select_nth_unstable(rank).1
}

/// What the result says of `log` within [from, to), and of what `all` left out because of it.
pub fn report(log: &[Outage], all: &Tally, (from_ns, to_ns): (u64, u64)) -> Outages {
    let inside = |outage: &&Outage| outage.start_ns < to_ns && outage.end_ns() > from_ns;
    let within: Vec<&Outage> = log.iter().filter(inside).collect();
    let clipped = |o: &&Outage| o.end_ns().min(to_ns) - o.start_ns.max(from_ns);
    let listed = |o: &&Outage| [o.start_ns as i64 - from_ns as i64, o.length_ns as i64];
    Outages {
        count: within.len() as u64,
        total_ns: within.iter().map(|outage| outage.length_ns).sum(),
        longest_ns: within.iter().map(|outage| outage.length_ns).max().unwrap_or(0),
        share_time: share(within.iter().map(clipped).sum(), to_ns - from_ns),
        share_excluded: share(all.requests - all.kept, all.requests),
        log: within.iter().take(LISTED_MAX).map(listed).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Job;
    use crate::marks::{Marks, Plan, ThreadRun};

    const MS: u64 = 1_000_000;

    fn outage(start_ms: u64, length_ms: u64) -> Outage {
        Outage { start_ns: start_ms * MS, length_ns: length_ms * MS }
    }

    /// A run of one thread from (due, done), ms; every request is a hit sent when due.
    fn run_of(requests: &[(u64, u64)], outages: Vec<Outage>) -> Run {
        let due: Vec<u64> = requests.iter().map(|r| r.0 * MS).collect();
        let mut marks = Marks::for_requests(due.len());
        marks.sent_ns.clone_from(&due);
        marks.done_ns = requests.iter().map(|r| r.1 * MS).collect();
        marks.outcome.fill(Outcome::Hit);
        let plan = Plan { intended_ns: due, ..Plan::default() };
        Run {
            job: Job::default(),
            started_unix_ns: 0,
            threads: vec![ThreadRun { plan, marks, outages, ..ThreadRun::default() }],
            sentinels: vec![],
            client_cpus: None,
            server_cpus: None,
            are_syscalls_counted: false,
        }
    }

    /// One request each 10 ms that takes 1 ms; nobody looks from 1000 to 1100; then the ten that
    /// fell due are worked off, one each 5 ms, and two more come meanwhile.
    fn stopped() -> Run {
        let mut requests: Vec<(u64, u64)> = (1..200).map(|i| (i * 10, i * 10 + 1)).collect();
        for (index, request) in requests.iter_mut().enumerate() {
            let nth = (index as u64 + 1).saturating_sub(100);
            if (0..14).contains(&nth) && index >= 99 {
                request.1 = (1105 + nth * 5).max(request.0 + 1);
            }
        }
        run_of(&requests, vec![outage(1000, 100)])
    }

    #[test]
    fn recovery_lasts_until_the_backlog_is_worked_off() {
        let run = stopped();
        let windows = Windows::of(&run, &log(&run).unwrap());
        let end_ms = windows.0[0].end_ns() / MS;
        assert!((1150..=1175).contains(&end_ms), "{end_ms}");
    }

    #[test]
    fn the_look_back_is_short_and_the_same_for_all() {
        let run = run_of(&[(10, 11), (20, 21), (30, 31)], vec![outage(100, 50)]);
        let windows = Windows::of(&run, &log(&run).unwrap());
        assert_eq!(windows.0[0].start_ns, 99 * MS, "p99 sojourn of 1 ms before the outage");
    }

    #[test]
    fn a_server_in_trouble_cannot_hide_behind_a_short_outage() {
        let requests: Vec<(u64, u64)> =
            (1..200).map(|i| (i * 10, (i * 10 + 1).max(1900))).collect();
        let run = run_of(&requests, vec![outage(1000, 2)]);
        let windows = Windows::of(&run, &log(&run).unwrap());
        assert!(windows.0[0].end_ns() <= (1002 + 40) * MS);
    }

    /// Requests at 10k rps to a server that takes 30 µs each and stands still for 100 ms each second;
    /// the client is stopped for 4 ms at random times, some 8 a second.
    fn stalled(outages: &[Outage]) -> Run {
        let job = Job { duration: "20s".into(), rate: "10k".into(), ..crate::summary::fake::job() };
        let mut run = crate::summary::fake::run(job, 0, 0);
        let ThreadRun { plan, marks, .. } = &mut run.threads[0];
        let (mut idle_ns, mut at) = (0, 0);
        for (i, &due_ns) in plan.intended_ns.iter().enumerate() {
            while outages.get(at).is_some_and(|outage| outage.end_ns() <= due_ns) {
                at += 1;
            }
            let stop = outages.get(at).filter(|outage| outage.start_ns <= due_ns);
            let sent_ns = stop.map_or(due_ns, Outage::end_ns);
            let start_ns = idle_ns.max(sent_ns);
            let stall_ns = (100 * MS).saturating_sub(start_ns % (1000 * MS));
            idle_ns = start_ns + stall_ns + 30_000;
            // A reply that comes while nobody looks is picked up when the client runs again.
            let seen = outages.partition_point(|outage| outage.end_ns() <= idle_ns);
            let seen = outages.get(seen).filter(|outage| outage.start_ns <= idle_ns);
            marks.sent_ns[i] = sent_ns;
            marks.done_ns[i] = seen.map_or(idle_ns, Outage::end_ns);
        }
        run.threads[0].outages = outages.to_vec();
        run
    }

    #[test]
    fn what_is_left_is_what_a_client_that_never_stopped_sees() {
        use sojourn_base::rng::{open_unit, stream};
        let mut rng = stream(4, "outages", 0);
        let mut outages = Vec::new();
        let mut start_ns = 0;
        while start_ns < 19_000 * MS {
            start_ns += 10 * MS + (-open_unit(&mut rng).ln() * 110.0 * MS as f64) as u64;
            outages.push(Outage { start_ns, length_ns: 4 * MS });
            start_ns += 4 * MS;
        }
        let truth = crate::summary::summarise(&stalled(&[])).unwrap().sojourn_ns;
        let result = crate::summary::summarise(&stalled(&outages)).unwrap();
        assert!(result.outages.share_excluded > 0.05, "{}", result.outages.share_excluded);
        // 14 % of requests wait for a stall, and their times are even between 0 and 100 ms. Some 130
        // outages hit stalls 19 ± 4 times, so that share is kept to ± 1.5 %, p95 (65 ms) to ± 0.8 %.
        for (name, got, wanted, within) in [
            ("p50", result.sojourn_ns.p50, truth.p50, 0.01),
            ("p95", result.sojourn_ns.p95, truth.p95, 0.032), // four sigma
            ("p99", result.sojourn_ns.p99, truth.p99, 0.01),
        ] {
            let ratio = got.unwrap() as f64 / wanted.unwrap() as f64;
            assert!((ratio - 1.0).abs() < within, "{name}: {got:?}, {wanted:?}");
        }
    }

    #[test]
    fn a_sentinel_is_refuted_by_what_the_thread_did_meanwhile() {
        let mut run = run_of(&[(10, 11), (50, 52), (90, 91)], vec![]);
        run.sentinels = vec![Watch {
            threads: vec![0],
            outages: vec![outage(20, 10), outage(48, 5)],
            ..Watch::default()
        }];
        // From 48 ms: sent at 50, done at 52, end at 53; each part is longer than 1 ms or it goes.
        let parts = vec![outage(20, 10), outage(48, 4)];
        assert_eq!(log(&run).unwrap(), parts);
    }

    #[test]
    fn the_cursor_knows_each_window_from_its_first_to_before_its_last_ns() {
        let windows = Windows(vec![outage(10, 5), outage(20, 1)]);
        let mut cursor = windows.cursor();
        let times = [9, 10, 14, 15, 19, 20, 21].map(|ms| ms * MS);
        let seen = times.map(|ns| cursor.covers(ns));
        assert_eq!(seen, [false, true, true, false, false, true, false]);
    }

    #[test]
    fn overlapping_outages_count_once() {
        let merged = union(vec![outage(10, 5), outage(12, 10), outage(40, 1)]);
        assert_eq!(merged, vec![outage(10, 12), outage(40, 1)]);
    }
}
