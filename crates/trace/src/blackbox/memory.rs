//! Slow requests of the last minutes in bounded memory: the slowest of each second stay.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::sync::Arc;

use sojourn_base::units::NS_PER_S;

use super::parts::{Culprit, Cut};

/// When there is no room, so much of it is freed at once: nine tenths stay.
const STAYS: (usize, usize) = (9, 10);

/// Culprits that are in memory once each; more, and those of no stored request leave.
const CULPRITS: usize = 10_000;

/// A request that took long. Times are `CLOCK_MONOTONIC`, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slow {
    /// How long it took.
    pub total_ns: u64,
    /// Its first bytes came then.
    pub start_ns: u64,
    /// Thread that replied.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Bytes of the first write of the reply.
    pub bytes: u32,
    /// The client's port.
    pub peer_port: u16,
    /// The service's port.
    pub port: u16,
    /// Its parts, once they have been looked up. They rank nothing.
    pub cut: Option<Arc<Cut>>,
}

impl Slow {
    /// When its reply left, ns of the monotonic clock.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.total_ns)
    }

    fn rank(&self) -> (u64, u64, u32, u16) {
        (self.total_ns, self.start_ns, self.tid, self.peer_port)
    }
}

impl Ord for Slow {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The slow requests of one second.
#[derive(Debug, Default)]
struct Second {
    slowest: BinaryHeap<Reverse<Slow>>,
    evicted: u64,
    /// The slowest of the evicted; all slower ones are here.
    evicted_to_ns: u64,
}

/// A bounded store: at most `room` requests, of the last `last_ns`.
#[derive(Debug)]
pub struct Memory {
    last_ns: u64,
    room: usize,
    seconds: BTreeMap<u64, Second>,
    stored: usize,
    culprits: HashSet<Arc<Culprit>>,
}

/// What had to leave because there was no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// How many.
    pub requests: u64,
    /// The slowest of them, ns; all slower ones are stored.
    pub to_ns: u64,
}

impl Memory {
    /// For `room` requests of the last `last_ns`.
    pub fn new(last_ns: u64, room: usize) -> Self {
        Self {
            last_ns,
            room: room.max(1),
            seconds: BTreeMap::new(),
            stored: 0,
            culprits: HashSet::new(),
        }
    }

    /// Takes one in, and makes room where there is none.
    pub fn add(&mut self, slow: Slow) {
        let second = self.seconds.entry(slow.end_ns() / NS_PER_S).or_default();
        second.slowest.push(Reverse(slow));
        self.stored += 1;
        if self.stored > self.room {
            self.shrink();
        }
    }

    /// Drops what ended more than `last_ns` ago.
    pub fn forget(&mut self, now_ns: u64) {
        let from = now_ns.saturating_sub(self.last_ns) / NS_PER_S;
        let newer = self.seconds.split_off(&from);
        let gone: usize = self.seconds.values().map(|second| second.slowest.len()).sum();
        self.stored -= gone;
        self.seconds = newer;
    }

    /// How many slow requests are stored, at most the room.
    pub fn len(&self) -> usize {
        self.stored
    }

    /// Whether no slow request is stored at all.
    pub fn is_empty(&self) -> bool {
        self.stored == 0
    }

    /// Looks up the parts of those that ended before `to_ns` and have none yet. Their events may leave then.
    pub fn cut(&mut self, to_ns: u64, of: impl Fn(&Slow) -> Cut) {
        for second in self.seconds.range_mut(..=to_ns / NS_PER_S).map(|(_, second)| second) {
            let mut all = std::mem::take(&mut second.slowest).into_vec();
            for Reverse(slow) in &mut all {
                if slow.cut.is_none() && slow.end_ns() < to_ns {
                    slow.cut = Some(Arc::new(once(&mut self.culprits, of(slow))));
                }
            }
            second.slowest = all.into(); // in the same order: parts rank nothing
        }
        if self.culprits.len() > CULPRITS {
            self.culprits.retain(|culprit| Arc::strong_count(culprit) > 1);
        }
    }

    /// Those that ended within `(from, to]`, slowest first, `most` at most.
    pub fn slowest(&self, (from_ns, to_ns): (u64, u64), most: usize) -> Vec<Slow> {
        let seconds = self.seconds.range(from_ns / NS_PER_S..=to_ns / NS_PER_S);
        let all = seconds.flat_map(|(_, second)| second.slowest.iter().map(|slow| &slow.0));
        let mut listed: Vec<Slow> =
            all.filter(|slow| slow.end_ns() > from_ns && slow.end_ns() <= to_ns).cloned().collect();
        listed.sort_unstable_by(|a, b| b.cmp(a));
        listed.truncate(most);
        listed
    }

    /// Processes and threads that replied to what is stored.
    pub fn threads(&self) -> HashSet<(u32, u32)> {
        let all = self.seconds.values().flat_map(|second| &second.slowest);
        all.map(|Reverse(slow)| (slow.tgid, slow.tid)).collect()
    }

    /// What has left for lack of room, of the seconds that are stored.
    pub fn evicted(&self) -> Evicted {
        let seconds = self.seconds.values();
        seconds.fold(Evicted::default(), |sum, second| Evicted {
            requests: sum.requests + second.evicted,
            to_ns: sum.to_ns.max(second.evicted_to_ns),
        })
    }

    /// The fastest of the fullest seconds leave, until all seconds have the same room.
    fn shrink(&mut self) {
        let most = (self.room * STAYS.0 / STAYS.1).max(1);
        let level = level(self.seconds.values().map(|second| second.slowest.len()), most);
        for second in self.seconds.values_mut() {
            while second.slowest.len() > level {
                let Some(Reverse(fastest)) = second.slowest.pop() else { break };
                second.evicted += 1;
                second.evicted_to_ns = second.evicted_to_ns.max(fastest.total_ns);
                self.stored -= 1;
            }
        }
    }
}

/// The same parts, with the one copy of each culprit.
fn once(known: &mut HashSet<Arc<Culprit>>, mut cut: Cut) -> Cut {
    for (culprit, _) in &mut cut.culprits {
        if let Some(same) = known.get(culprit) {
            *culprit = Arc::clone(same);
        } else {
            known.insert(Arc::clone(culprit));
        }
    }
    cut
}

/// The largest size such that sizes cut to it have `most` in sum.
fn level(sizes: impl Iterator<Item = usize>, most: usize) -> usize {
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    let mut left = most;
    for (at, &size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - at);
        if size > each {
            return each;
        }
        left -= size;
    }
    usize::MAX
}

#[cfg(test)]
mod tests;
