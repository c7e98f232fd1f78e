//! What the black box has in memory, and what follows from what comes in. Knows no hook and no file.

use std::collections::{HashMap, VecDeque};

use sojourn_base::units::{NS_PER_S, show_ns};

use super::args::Asked;
use super::cut::{self, Known};
use super::dump::Cause;
use super::memory::{Memory, Slow};
use super::record::Signal;
use super::tally::{Beside, Tally, at_least};
use crate::culprit::pieces::Index;
use crate::culprit::seen::Seen;
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
/// Signals in memory.
const SIGNALS: usize = 1_000;
/// Threads' names in memory, before those of no stored request leave. A service may have a thread for each connection.
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
    names_max: usize,
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
            // A second more, so that the oldest is whole. A quantile needs its own seconds, however short a dump is.
            tally: Tally::new(asked.last_ns.max(QUANTILE_OF_NS) + NS_PER_S),
            signals: VecDeque::new(),
            names: HashMap::new(),
            names_max: NAMES,
            floor_ns: asked.over_ns.map_or(FIRST_FLOOR_NS, |over| over.min(FIRST_FLOOR_NS)),
            passed_over: 0,
            due: None,
            last_dump_ns: None,
            asked,
        }
    }

    /// A slow request came, by a thread of this name.
    pub fn slow(&mut self, slow: Slow, thread: String, now_ns: u64, unix_ns: u64) {
        let (total_ns, port, of) = (slow.total_ns, slow.peer_port, (slow.tgid, slow.tid));
        self.memory.add(slow);
        self.names.entry(of).or_insert(thread);
        if self.names.len() > self.names_max {
            let stored = self.memory.threads();
            self.names.retain(|thread, _| stored.contains(thread));
            self.names_max = NAMES.max(2 * self.names.len());
        }
        if self.asked.over_ns.is_some_and(|over| total_ns > over) {
            let about = format!("a request from port {port} took {}", show_ns(total_ns as f64));
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

    /// Cuts up what has ended, as events of the scheduler are about to leave memory. What ended within the last
    /// second is cut later, because events of others beside it may still come.
    pub fn cut(
        &mut self,
        seen: &Seen,
        own: impl Iterator<Item = u32>,
        seen_from_ns: u64,
        now_ns: u64,
    ) {
        let index = Index::new(seen, own);
        let signals = self.signals.make_contiguous();
        let known = Known { index: &index, from_ns: seen_from_ns, signals, names: &self.names };
        let to_ns = now_ns.saturating_sub(SETTLES_NS);
        self.memory.cut(to_ns, |slow| cut::cut(slow, &known));
    }

    /// A second is over: `totals` and `beside` are the kernel's counts.
    pub fn second(&mut self, now_ns: u64, unix_ns: u64, totals: &[u64], beside: Beside) {
        self.tally.add((now_ns, unix_ns), totals, beside, self.floor_ns);
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

    /// What is due soon is due now: there will be no later.
    pub fn hurry(&mut self) {
        if let Some((at_ns, _)) = &mut self.due {
            *at_ns = 0;
        }
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
mod tests;
