//! The events that the hooks sent in a trace. Plain data; times are `CLOCK_MONOTONIC`, ns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Somebody had a CPU, from one switch to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which CPU.
    pub cpu: u32,
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub tgid: u32,
    /// Switch to it.
    pub from_ns: u64,
    /// Switch away from it.
    pub to_ns: u64,
    /// A thread of the kernel.
    pub is_kernel: bool,
    /// A thread of the traced service.
    pub is_own: bool,
    /// Its name.
    pub comm: Arc<str>,
    /// Its control group's own name; empty: the root, or a run too short to look.
    pub group: Arc<str>,
}

/// Why a thread was off its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffKind {
    /// It was runnable, and another one ran.
    Preempted,
    /// It slept.
    Asleep,
    /// It was stopped by a signal.
    Stopped,
}

/// Whoever woke a thread of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waker {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub tgid: u32,
    /// Name.
    pub comm: Arc<str>,
    /// An interrupt did, and struck this one by chance.
    pub is_irq: bool,
}

/// The file that the system call was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// `st_mode`.
    pub mode: u32,
    /// Its device as the kernel counts: major << 20 | minor.
    pub device: u32,
    /// Its own name, without folders.
    pub name: Arc<str>,
}

/// A thread of the service was off its CPU: it slept (or was stopped) until `woken_ns`, and waited for
/// a CPU from then on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Off {
    /// Thread id.
    pub tid: u32,
    /// Process id.
    pub tgid: u32,
    /// The CPU that it came back to.
    pub cpu: u32,
    /// Why.
    pub kind: OffKind,
    /// Switch away from it.
    pub from_ns: u64,
    /// It became runnable; `from_ns` if it was preempted.
    pub woken_ns: u64,
    /// From then on it waited for `cpu`, and before for another one; `woken_ns` if there was no other.
    pub here_ns: u64,
    /// Switch to it.
    pub to_ns: u64,
    /// Asleep in `epoll_wait` or its like: it had nothing to do.
    pub is_idle: bool,
    /// The system call it slept in; `None`: it slept in a page fault.
    pub call: Option<u32>,
    /// Kernel stack, by its number; negative: none.
    pub kernel_stack: i32,
    /// User stack, by its number; negative: none.
    pub user_stack: i32,
    /// Who woke it.
    pub waker: Option<Waker>,
    /// What the call was about.
    pub file: Option<File>,
}

/// Time in interrupts: `ns` of the span, all of it in the context of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irq {
    /// Which CPU.
    pub cpu: u32,
    /// The task that was struck.
    pub tid: u32,
    /// Number of the softIRQ vector; [`HARD`]: an interrupt of a device.
    pub vector: u32,
    /// The device's interrupt number.
    pub number: u32,
    /// Start of the first.
    pub from_ns: u64,
    /// End of the last.
    pub to_ns: u64,
    /// Time in them.
    pub ns: u64,
}

/// The vector that means interrupts of devices.
pub const HARD: u32 = 10;

/// What did not come through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Told in all.
    pub told: u64,
    /// Not sent, because the ring was full or memory at its bound.
    pub lost: u64,
    /// Waits that began before the oldest run that was remembered.
    pub history_full: u64,
    /// Sleeps without a stack.
    pub stacks_lost: u64,
}

impl Losses {
    /// Lost ÷ (told + lost).
    pub fn share(&self) -> f64 {
        self.lost as f64 / (self.told + self.lost).max(1) as f64
    }
}

/// A function that has no name.
pub const UNKNOWN: &str = "[unknown]";

/// Function names of the stacks that [`Off`] numbers, innermost first.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// By number.
    pub kernel: HashMap<i32, Vec<Arc<str>>>,
    /// By process and number.
    pub user: HashMap<(u32, i32), Vec<Arc<str>>>,
}

impl Stacks {
    /// The kernel's part, from below `schedule` on.
    pub fn kernel_of(&self, off: &Off) -> &[Arc<str>] {
        let frames = self.kernel.get(&off.kernel_stack).map_or(&[][..], Vec::as_slice);
        let is_switch = |name: &Arc<str>| matches!(&**name, "__schedule" | "schedule");
        let inner = frames.iter().take(12).rposition(is_switch).map_or(0, |at| at + 1);
        &frames[inner..]
    }

    /// The program's part, up to the outermost function that has a name: what comes after it in a
    /// program without frame pointers is whatever lay on its stack.
    pub fn user_of(&self, off: &Off) -> &[Arc<str>] {
        let frames = self.user.get(&(off.tgid, off.user_stack)).map_or(&[][..], Vec::as_slice);
        let named = frames.iter().rposition(|name| &**name != UNKNOWN).map_or(0, |at| at + 1);
        &frames[..named]
    }
}

/// Every event of a trace.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Runs, in any order.
    pub runs: Vec<Run>,
    /// Threads off their CPU, in any order.
    pub offs: Vec<Off>,
    /// Interrupts, in any order.
    pub irqs: Vec<Irq>,
    /// Names of functions.
    pub stacks: Stacks,
    /// What is missing.
    pub losses: Losses,
    /// Every string once.
    pub names: Names,
}

impl Seen {
    /// Whether more than `most` things are here.
    pub fn is_above(&self, most: usize) -> bool {
        self.runs.len() + self.offs.len() > most
    }

    /// Drops what ended before `from_ns`; and if there are more than `most` things, the older half. Until when
    /// that half ended, ns.
    pub fn forget(&mut self, from_ns: u64, most: usize) -> Option<u64> {
        self.retain(from_ns);
        let has_no_room = self.is_above(most);
        let dropped_to_ns = has_no_room.then(|| {
            let mut ends: Vec<u64> = self.runs.iter().map(|run| run.to_ns).collect();
            ends.extend(self.offs.iter().map(|off| off.to_ns));
            let middle = ends.len() / 2;
            *ends.select_nth_unstable(middle).1
        });
        if let Some(to_ns) = dropped_to_ns {
            self.retain(to_ns);
        }
        if self.names.0.len() > NAMES {
            self.names = Names::default(); // those in use stay where they are used
        }
        dropped_to_ns
    }

    fn retain(&mut self, from_ns: u64) {
        self.runs.retain(|run| run.to_ns >= from_ns);
        self.offs.retain(|off| off.to_ns >= from_ns);
        self.irqs.retain(|irq| irq.to_ns >= from_ns);
    }
}

/// Strings that are shared at most.
const NAMES: usize = 50_000;

/// Strings that come again and again, kept once.
#[derive(Clone, Debug, Default)]
pub struct Names(HashSet<Arc<str>>);

impl Names {
    /// The one kept copy of `text`.
    pub fn keep(&mut self, text: &str) -> Arc<str> {
        if let Some(retained) = self.0.get(text) {
            return retained.clone();
        }
        let retained: Arc<str> = text.into();
        self.0.insert(retained.clone());
        retained
    }
}
