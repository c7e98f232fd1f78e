//! What users of sessions saw: how long they waited for which request, and when the picture stood still.
//!
//! A chunk is to be shown `buffer` after it was due, and for as long as it is until the next. One that
//! arrives later is a *stall*: the picture stands still for what it is late, and everything after it is
//! shown so much later. One that never arrives is a stall as long as it would have been shown. The first
//! chunk counts too: what it is later than that is a wait for the picture.
//!
//! The plan does not say which request belongs to which session, because the hot loop need not know it. The plan is drawn again
//! beside it, which gives the same requests with their sessions.

use std::collections::HashMap;

use sojourn_base::Fault;
use sojourn_base::span::Times;
use sojourn_workload::schedule::{InSession, InSessions};
use sojourn_workload::sessions::{self, Sessions};

use crate::job::Job;
use crate::plan::schedule;
use crate::protocols::Outcome;
use crate::tally::request::Request;

/// Sojourn times by what was asked for.
#[derive(Clone, Debug)]
pub struct ByKind {
    sessions: Sessions,
    /// Of play lists.
    pub play_list: Times,
    /// Of chunks.
    pub chunk: Times,
}

impl ByKind {
    /// For the requests of `job`; `None`: it has no sessions.
    pub fn of(job: &Job) -> Option<Self> {
        let sessions = sessions::parse(&job.sessions).ok().flatten()?;
        Some(Self { sessions, play_list: Times::new(), chunk: Times::new() })
    }

    /// Counts the sojourn time of a request; `None`: it never ended as it should.
    pub fn add(&mut self, request: &Request, sojourn_ns: Option<u64>) {
        let is_list = self.sessions.nth(request.item) == 0;
        let times = if is_list { &mut self.play_list } else { &mut self.chunk };
        match sojourn_ns {
            Some(ns) => times.add(ns),
            None => times.add_lost(),
        }
    }

    /// Adds those of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.play_list.merge(&other.play_list);
        self.chunk.merge(&other.chunk);
    }
}

/// Counts of the sessions of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Sessions that began in the measured part.
    pub begun: u64,
    /// Time under way within it, ns, all sessions together.
    pub under_way_ns: u64,
    /// Chunks that were due in it.
    pub chunks: u64,
    /// Of these, how many arrived after they were to be shown.
    pub late: u64,
    /// Of these, how many never arrived as they should.
    pub lost: u64,
    /// How long pictures stood still because of them, ns.
    pub stalled_ns: u64,
    /// The longest of these stalls, ns.
    pub longest_ns: u64,
    /// Sessions of which a chunk was due in it.
    pub watched: u64,
    /// Of these, how many had a stall.
    pub stalled: u64,
}

/// One session under way.
#[derive(Clone, Copy, Debug, Default)]
struct Watching {
    /// How much later than planned everything is shown by now, ns.
    behind_ns: u64,
    is_watched: bool,
    is_stalled: bool,
}

/// Follows the sessions of a run, request by request.
#[derive(Debug)]
pub struct Playback {
    sessions: Sessions,
    measured: (u64, u64),
    threads: Vec<(InSessions, HashMap<u64, Watching>)>,
    seen: Seen,
}

impl Playback {
    /// For the plan of `job`, which is resolved; `None`: it has no sessions.
    pub fn of(job: &Job, measured: (u64, u64)) -> Result<Option<Self>, Fault> {
        let sessions = sessions::parse(&job.sessions)?.filter(|_| !job.find_max);
        let Some(sessions) = sessions else { return Ok(None) };
        let asked = schedule::workload(job)?;
        let threads = (0..job.threads)
            .map(|thread| Ok((InSessions::new(&asked, &sessions, thread)?, HashMap::new())))
            .collect::<Result<Vec<_>, Fault>>()?;
        Ok(Some(Self { sessions, measured, threads, seen: Seen::default() }))
    }

    /// The next request of the plan of `thread`, and what became of it.
    pub fn add(&mut self, thread: usize, request: &Request) {
        let Ok(Some(drawn)) = self.threads[thread].0.next_planned() else { return };
        debug_assert_eq!(drawn.planned.intended_ns, request.intended_ns, "the same plan again");
        let own = &mut self.threads[thread].1;
        let is_new = !own.contains_key(&drawn.session);
        let mut watching = own.remove(&drawn.session).unwrap_or_default();
        if is_new {
            self.begin(&drawn);
        }
        if drawn.nth > 0 {
            self.chunk(&drawn, request, &mut watching);
        }
        if drawn.nth < self.sessions.chunks {
            self.threads[thread].1.insert(drawn.session, watching);
        }
    }

    /// How many chunks each session asks for.
    pub fn chunks(&self) -> u32 {
        self.sessions.chunks
    }

    /// What all sessions came to.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// A session is seen for the first time: it may have begun before the load.
    fn begin(&mut self, drawn: &InSession) {
        let (from_ns, to_ns) = (self.measured.0 as i64, self.measured.1 as i64);
        let begun_ns = drawn.planned.intended_ns as i64 - self.sessions.offset_ns(drawn.nth) as i64;
        let ends_ns = begun_ns + self.sessions.length_ns() as i64;
        self.seen.begun += u64::from((from_ns..to_ns).contains(&begun_ns));
        self.seen.under_way_ns += (ends_ns.min(to_ns) - begun_ns.max(from_ns)).max(0) as u64;
    }

    fn chunk(&mut self, drawn: &InSession, request: &Request, watching: &mut Watching) {
        let is_lost = request.outcome != Outcome::Hit;
        let shown_ns = request.intended_ns + self.sessions.buffer_ns + watching.behind_ns;
        let late_ns = if is_lost { 0 } else { request.done_ns.saturating_sub(shown_ns) };
        watching.behind_ns += late_ns;
        if !(self.measured.0..self.measured.1).contains(&drawn.planned.intended_ns) {
            return;
        }
        let stall_ns = if is_lost { self.sessions.every_ns } else { late_ns };
        let seen = &mut self.seen;
        seen.chunks += 1;
        seen.late += u64::from(late_ns > 0);
        seen.lost += u64::from(is_lost);
        seen.stalled_ns += stall_ns;
        seen.longest_ns = seen.longest_ns.max(stall_ns);
        seen.watched += u64::from(!watching.is_watched);
        watching.is_watched = true;
        let is_stall = is_lost || late_ns > 0;
        seen.stalled += u64::from(is_stall && !watching.is_stalled);
        watching.is_stalled |= is_stall;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::measurement::{Measurement, fake};
    use crate::judge::summary::summarise;

    /// Sessions of a second: a play list, and after 0.2 s five chunks each 0.2 s; ten a second.
    fn job() -> Job {
        Job {
            target: "http://h/".into(),
            paths: vec!["/{}".into()],
            items: 24,
            sessions: "playback:chunks=5,every=200ms,start=200ms,buffer=100ms".into(),
            rate: "60".into(),
            warmup: "2s".into(),
            duration: "20s".into(),
            ..fake::job()
        }
    }

    /// What every chunk that `is` says takes `ns`; all else is there at once.
    fn with(ns: u64, outcome: Outcome, is: impl Fn(usize, u32) -> bool) -> Measurement {
        let mut run = fake::run(job(), 0, 0);
        let thread = &mut run.threads[0];
        for (i, &item) in thread.plan.item.iter().enumerate() {
            if item % 6 > 0 && is(i, item % 6) {
                thread.marks.done_ns[i] = thread.plan.intended_ns[i] + ns;
                thread.marks.outcome[i] = outcome;
            }
        }
        run
    }

    #[test]
    fn as_many_are_under_way_as_littles_law_says() {
        let result = summarise(&fake::run(job(), 0, 1_000)).unwrap().sessions.unwrap();
        assert!((result.under_way - 10.0).abs() < 5.0 * (10.0_f64 / 20.0).sqrt(), "five sigma");
        assert!((result.begun as f64 - 200.0).abs() < 5.0 * 200_f64.sqrt(), "{}", result.begun);
        assert_eq!((result.late_chunks, result.lost_chunks, result.stalled_ns), (0, 0, 0));
        assert!(result.chunks > 600 && result.watched > 150, "{result:?}");
        assert_eq!(result.play_list_ns.count + result.chunk_ns.count, {
            let all = summarise(&fake::run(job(), 0, 1_000)).unwrap();
            all.sojourn_ns.count
        });
    }

    /// 150 ms is 50 too late, once: the chunks after it are shown 50 ms later too.
    #[test]
    fn a_late_chunk_stalls_once_and_puts_off_all_that_follow() {
        let run = with(150_000_000, Outcome::Hit, |_, _| true);
        let result = summarise(&run).unwrap().sessions.unwrap();
        let whole = result.stalled_ns as f64 / 50e6;
        assert_eq!(result.late_chunks as f64, whole, "each stall is of 50 ms");
        assert_eq!((result.longest_stall_ns, result.stalled), (50_000_000, result.late_chunks));
        assert!(result.late_chunks <= result.watched && result.late_chunks > 100, "{result:?}");
    }

    #[test]
    fn a_chunk_that_is_just_in_time_is_no_stall_and_a_lost_one_is_as_long_as_it() {
        let in_time = with(100_000_000, Outcome::Hit, |_, _| true);
        assert_eq!(summarise(&in_time).unwrap().sessions.unwrap().late_chunks, 0);
        let lost = with(1, Outcome::Length, |_, nth| nth == 3);
        let result = summarise(&lost).unwrap().sessions.unwrap();
        assert!(result.lost_chunks > 100);
        assert_eq!(result.stalled_ns, result.lost_chunks * 200_000_000);
        assert_eq!(result.chunk_ns.lost, result.lost_chunks);
        let each = result.stalled_s_per_session;
        assert!((each - 0.2).abs() < 0.05, "one of five chunks, each shown for 0.2 s: {each}");
    }

    #[test]
    fn play_lists_and_chunks_are_distinguished() {
        let slow = with(50_000_000, Outcome::Hit, |_, _| true);
        let result = summarise(&slow).unwrap().sessions.unwrap();
        assert!(result.play_list_ns.max.unwrap() < 50_000_000);
        assert!(result.chunk_ns.p50.unwrap() >= 49_900_000);
    }

    #[test]
    fn who_begins_at_random_passes_as_poisson_although_requests_do_not() {
        let busy = Job { rate: "6k".into(), ..job() };
        let result = summarise(&fake::run(busy, 0, 0)).unwrap();
        assert!(result.checks.planned_fit_a2.is_some(), "begins are tested");
        assert!(result.reasons.is_empty(), "{:?}", result.reasons);
    }

    #[test]
    fn without_sessions_nothing_is_reported_about_them() {
        assert_eq!(summarise(&fake::run(fake::job(), 0, 0)).unwrap().sessions, None);
    }
}
