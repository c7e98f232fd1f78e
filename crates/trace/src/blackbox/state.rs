//! What the black box has in memory, and what follows from what comes in. Knows no hook and no file.

use std::collections::{HashMap, VecDeque};

use sojourn_base::units::{NS_PER_S, show_ns};

use super::args::Asked;
use super::dump::Cause;
use super::memory::{Memory, Slow};
use super::record::Signal;
use super::tally::{Beside, Tally, at_least};
use crate::reconstruct::bins;

/// From a cause until its dump: what is slow beside it ends meanwhile.
const SETTLES_NS: u64 = NS_PER_S;
/// A quantile is one of so many last seconds.
const QUANTILE_OF_NS: u64 = 10 * NS_PER_S;
/// Slow requests a second that are stored where no option says what is slow.
const A_SECOND: u64 = 200;
/// More a second would take the CPU of others: the floor rises.
const MOST_A_SECOND: u64 = 20_000;
/// The floor before anything is known, ns, and the lowest.
const FIRST_FLOOR_NS: u64 = NS_PER_S / 1_000;
const LEAST_FLOOR_NS: u64 = 50_000;
/// Signals and threads' names in memory.
const SIGNALS: usize = 1_000;
const NAMES: usize = 5_000;

/// Memory, and the next dump.
pub struct State {
    asked: Asked,
    /// Slow requests.
    pub memory: Memory,
    /// All requests.
    pub tally: Tally,
    /// To the service, oldest first.
    pub signals: VecDeque<Signal>,
    /// Of threads, by process and thread; also of those that have ended.
    pub names: HashMap<(u32, u32), String>,
    /// Shorter requests are counted only, ns.
    pub floor_ns: u64,
    /// Causes since the last dump that came too soon.
    pub passed_over: u64,
    due: Option<(u64, Cause)>,
    last_dump_ns: Option<u64>,
}

impl State {
    /// With room for so many slow requests, and nothing in it.
    pub fn new(asked: Asked, room: usize) -> Self {
        Self {
            memory: Memory::new(asked.last_ns, room),
            // A second more, so that the oldest is whole.
            tally: Tally::new(asked.last_ns + NS_PER_S),
            signals: VecDeque::new(),
            names: HashMap::new(),
            floor_ns: asked.over_ns.map_or(FIRST_FLOOR_NS, |over| over.min(FIRST_FLOOR_NS)),
            passed_over: 0,
            due: None,
            last_dump_ns: None,
            asked,
        }
    }

    /// A slow request came, by a thread of this name.
    pub fn slow(&mut self, slow: Slow, thread: String, now_ns: u64, unix_ns: u64) {
        if self.names.len() >= NAMES {
            self.names.clear();
        }
        self.names.entry((slow.tgid, slow.tid)).or_insert(thread);
        self.memory.add(slow);
        if self.asked.over_ns.is_some_and(|over| slow.total_ns > over) {
            let about = format!(
                "a request from port {} took {}",
                slow.peer_port,
                show_ns(slow.total_ns as f64)
            );
            self.ask("over", about, now_ns, unix_ns);
        }
    }

    /// A signal to the service came.
    pub fn signal(&mut self, signal: Signal) {
        self.signals.push_back(signal);
        if self.signals.len() > SIGNALS {
            self.signals.pop_front();
        }
    }

    /// A second is over: `totals` and `beside` are the kernel's counts.
    pub fn second(&mut self, now_ns: u64, unix_ns: u64, totals: &[u64], beside: Beside) {
        self.tally.add(now_ns, totals, beside, self.floor_ns);
        self.memory.forget(now_ns);
        let from_ns = now_ns.saturating_sub(self.asked.last_ns);
        while self.signals.front().is_some_and(|signal| signal.at_ns < from_ns) {
            self.signals.pop_front();
        }
        let lately = self.tally.totals(now_ns.saturating_sub(QUANTILE_OF_NS));
        for rule in self.asked.tails.clone() {
            if let Some(ns) = rule.broken_by(&lately) {
                let about = format!("{}: it was {}", rule.words(), show_ns(ns as f64));
                self.ask("tail", about, now_ns, unix_ns);
            }
        }
        self.choose_floor(now_ns, &lately);
    }

    /// A dump may be due; `None`: none is.
    pub fn due(&mut self, now_ns: u64) -> Option<Cause> {
        let is_due = self.due.as_ref().is_some_and(|(at_ns, _)| now_ns >= *at_ns);
        is_due.then(|| self.due.take()).flatten().map(|(_, cause)| cause)
    }

    /// A dump has been made.
    pub fn dumped(&mut self, now_ns: u64) {
        (self.last_dump_ns, self.due, self.passed_over) = (Some(now_ns), None, 0);
    }

    fn ask(&mut self, kind: &str, about: String, now_ns: u64, at_unix_ns: u64) {
        let is_too_soon = self.last_dump_ns.is_some_and(|at| now_ns < at + self.asked.pause_ns);
        if is_too_soon {
            self.passed_over += 1;
        } else if self.due.is_none() {
            let cause =
                Cause { kind: kind.into(), about, at_unix_ns, passed_over: self.passed_over };
            self.due = Some((now_ns + SETTLES_NS, cause));
        }
    }

    /// So low that what the user calls slow is stored, and that some requests of each second are; and so high that
    /// an overload does not fill the ring.
    fn choose_floor(&mut self, now_ns: u64, lately: &[u64]) {
        let seconds = (QUANTILE_OF_NS / NS_PER_S).min(self.tally.since(0).count() as u64).max(1);
        let rare_ns = above(lately, A_SECOND * seconds).max(LEAST_FLOOR_NS);
        let rare_ns = if seconds < 3 { rare_ns.max(FIRST_FLOOR_NS) } else { rare_ns };
        let wanted_ns = self.asked.over_ns.map_or(rare_ns, |over| rare_ns.min(over));
        let newest = self.tally.totals(now_ns.saturating_sub(NS_PER_S / 2));
        let bearable_ns = if at_least(&newest, wanted_ns) > MOST_A_SECOND {
            above(&newest, MOST_A_SECOND)
        } else {
            0
        };
        self.floor_ns = wanted_ns.max(bearable_ns);
    }
}

/// The lowest edge of a bin with at most `most` requests at or above it.
fn above(totals: &[u64], most: u64) -> u64 {
    let mut n = 0;
    for (bin, count) in totals.iter().enumerate().rev() {
        n += count;
        if n > most {
            return bins::TOTAL.low(bin + 1);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blackbox::asked::Tail;

    const MS: u64 = 1_000_000;

    fn state(over_ns: Option<u64>, tails: Vec<Tail>) -> State {
        let asked = Asked {
            last_ns: 60 * NS_PER_S,
            over_ns,
            tails,
            pause_ns: 30 * NS_PER_S,
            dumps_bytes: 1,
        };
        State::new(asked, 1_000)
    }

    fn slow(state: &mut State, at_ns: u64, total_ns: u64) {
        let slow = Slow { start_ns: at_ns - total_ns, total_ns, tid: 7, ..Slow::default() };
        state.slow(slow, "worker".into(), at_ns, 0);
    }

    #[test]
    fn a_slow_request_starts_one_dump_and_then_there_is_a_pause() {
        let mut state = state(Some(5 * MS), Vec::new());
        slow(&mut state, NS_PER_S, 5 * MS);
        assert_eq!(state.due(9 * NS_PER_S), None, "it took no longer than the bound");
        slow(&mut state, 2 * NS_PER_S, 6 * MS);
        slow(&mut state, 2 * NS_PER_S, 7 * MS);
        assert_eq!(state.due(2 * NS_PER_S), None, "others beside it may still end");
        let cause = state.due(3 * NS_PER_S).unwrap();
        assert!(cause.kind == "over" && cause.about.contains("6 ms"), "{cause:?}");
        state.dumped(3 * NS_PER_S);
        slow(&mut state, 20 * NS_PER_S, 9 * MS);
        assert_eq!((state.due(30 * NS_PER_S), state.passed_over), (None, 1));
        slow(&mut state, 34 * NS_PER_S, 9 * MS);
        assert_eq!(state.due(35 * NS_PER_S).unwrap().passed_over, 1, "and they are counted");
        assert_eq!(state.memory.len(), 5, "all of them are stored");
    }

    #[test]
    fn a_quantile_over_its_bound_starts_a_dump() {
        let mut state = state(None, vec![Tail { q: 0.99, bound_ns: 5 * MS }]);
        let mut totals = vec![0; bins::TOTAL.count()];
        totals[bins::TOTAL.of(MS)] = 1_000;
        state.second(NS_PER_S, 0, &totals, Beside::default());
        assert_eq!(state.due(9 * NS_PER_S), None);
        totals[bins::TOTAL.of(9 * MS)] = 50;
        state.second(2 * NS_PER_S, 0, &totals, Beside::default());
        assert_eq!(state.due(9 * NS_PER_S).unwrap().kind, "tail");
    }

    #[test]
    fn the_floor_lets_the_slow_through_and_rises_under_overload() {
        let mut state = state(Some(5 * MS), Vec::new());
        let mut totals = vec![0; bins::TOTAL.count()];
        for second in 1..=20 {
            totals[bins::TOTAL.of(80_000)] += 30_000;
            totals[bins::TOTAL.of(300_000)] += 150;
            state.second(second * NS_PER_S, 0, &totals, Beside::default());
        }
        assert!((80_001..=300_000).contains(&state.floor_ns), "{}", state.floor_ns);
        totals[bins::TOTAL.of(20 * MS)] += 30_000;
        totals[bins::TOTAL.of(40 * MS)] += 15_000;
        state.second(21 * NS_PER_S, 0, &totals, Beside::default());
        assert!((20 * MS..=40 * MS).contains(&state.floor_ns), "{}", state.floor_ns);
        totals[bins::TOTAL.of(6 * MS)] += 10;
        state.second(22 * NS_PER_S, 0, &totals, Beside::default());
        assert!(state.floor_ns <= 5 * MS, "what the user calls slow comes through again");
    }

    /// A day, a second at a time: a burst each minute, a storm each hour.
    #[test]
    fn a_day_needs_no_more_memory_than_a_minute() {
        let mut state = state(Some(5 * MS), Vec::new());
        let mut totals = vec![0; bins::TOTAL.count()];
        for second in 1..=86_400_u64 {
            let n = if second % 3_600 == 0 {
                5_000
            } else if second % 60 == 0 {
                300
            } else {
                1
            };
            for number in 0..n {
                slow(&mut state, second * NS_PER_S, 6 * MS + second * number);
            }
            totals[bins::TOTAL.of(6 * MS)] += n;
            state.second(second * NS_PER_S, 0, &totals, Beside::default());
            assert!(state.memory.len() <= 1_000 && state.tally.since(0).count() <= 62);
            if state.due(second * NS_PER_S).is_some() {
                state.dumped(second * NS_PER_S);
            }
        }
        let newest = state.memory.slowest((0, u64::MAX), 1_000);
        assert!(newest.iter().all(|it| it.end_ns() >= 86_340 * NS_PER_S), "of the last minute");
        assert!(newest.len() > 800, "and of all its seconds: {}", newest.len());
        assert_eq!(state.tally.ever().iter().sum::<u64>(), totals.iter().sum::<u64>());
    }

    #[test]
    fn threads_of_a_life_that_has_ended_have_their_names_still() {
        let mut state = state(None, Vec::new());
        for (tgid, tid, name) in [(7, 8, "first"), (9, 8, "second"), (7, 8, "gone")] {
            let one = Slow { tgid, tid, total_ns: 1, ..Slow::default() };
            state.slow(one, name.into(), 1, 0);
        }
        let name = |of| state.names.get(&of).map(String::as_str);
        assert_eq!((name((7, 8)), name((9, 8))), (Some("first"), Some("second")));
    }

    #[test]
    fn memory_of_signals_and_names_has_an_end() {
        let mut state = state(None, Vec::new());
        let signal = Signal { at_ns: 1, number: 19, tid: 1, tgid: 1, comm: "x".into(), target: 7 };
        (0..3_000).for_each(|_| state.signal(signal.clone()));
        assert_eq!(state.signals.len(), SIGNALS);
        for tid in 0..20_000 {
            let one = Slow { tid, total_ns: 1, ..Slow::default() };
            state.slow(one, "n".into(), 1, 0);
        }
        assert!(state.names.len() <= NAMES && state.memory.len() <= 1_000);
        state.second(100 * NS_PER_S, 0, &[], Beside::default());
        assert!(state.signals.is_empty());
    }
}
