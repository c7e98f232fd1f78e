//! What a piece of a request's time can be put down to.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::visible::in_line;

use super::seen::{Off, Stacks};
use crate::reconstruct::stages::{Cause, RESIDUAL, STAGES};

/// What a thread slept on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A lock or a queue between threads.
    Futex,
    /// A disk.
    BlockIo,
    /// A page that was not in memory.
    PageFault,
    /// A pipe.
    Pipe,
    /// A socket: another process or machine.
    Socket,
    /// Nothing but time.
    Sleep,
    /// Anything else: named by the kernel's function.
    Other,
}

/// To whom or what time is put down; the same one everywhere has the same key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suspect {
    /// The request's thread was runnable, and this one had the CPU.
    Task {
        /// Its name.
        comm: Arc<str>,
        /// Its control group; empty: the root.
        group: Arc<str>,
        /// A thread of the kernel.
        is_kernel: bool,
        /// A thread of the service itself.
        is_own: bool,
    },
    /// A softIRQ ran on the thread's CPU: its vector.
    Softirq(u32),
    /// An interrupt of a device: its number.
    Hardirq(u32),
    /// The thread slept.
    Wait {
        /// On what.
        kind: WaitKind,
        /// Which file or kernel function; empty: not known, or nothing to add.
        what: Arc<str>,
        /// Name of the thread that ended it, if it is known.
        waker: Arc<str>,
    },
    /// Runnable and not running, and no task was seen on the CPU.
    Unseen,
    /// The rest: what the stage itself took.
    Stage(usize),
}

/// softIRQ vectors by number, as the kernel names them.
const VECTORS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

impl Suspect {
    /// What its `kind` is called in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Task { .. } => "task",
            Self::Softirq(_) => "softirq",
            Self::Hardirq(_) => "hardirq",
            Self::Wait { kind, .. } => match kind {
                WaitKind::Futex => "futex",
                WaitKind::BlockIo => "block_io",
                WaitKind::PageFault => "page_fault",
                WaitKind::Pipe => "pipe",
                WaitKind::Socket => "socket",
                WaitKind::Sleep => "sleep",
                WaitKind::Other => "other",
            },
            Self::Unseen => "unseen",
            Self::Stage(_) => "stage",
        }
    }

    /// Its name in JSON and tables.
    pub fn name(&self) -> String {
        match self {
            Self::Task { comm, .. } => comm.to_string(),
            Self::Softirq(vector) => {
                VECTORS.get(*vector as usize).map_or(format!("vector {vector}"), |v| (*v).into())
            }
            Self::Hardirq(number) => format!("IRQ {number}"),
            Self::Wait { what, .. } => what.to_string(),
            Self::Unseen => "no task seen".into(),
            Self::Stage(stage) => STAGES[*stage].name.into(),
        }
    }

    /// As part of a sentence: "run-queue delay behind `xz` (cgroup batch)".
    pub fn words(&self) -> String {
        match self {
            Self::Task { comm, group, is_kernel, is_own } => {
                let about = match (is_own, is_kernel, group.is_empty()) {
                    (true, ..) => " (its own process)".to_owned(),
                    (_, true, _) => " (kernel)".to_owned(),
                    (_, _, false) => format!(" (cgroup {})", in_line(group)),
                    _ => String::new(),
                };
                format!("run-queue delay behind `{}`{about}", in_line(comm))
            }
            Self::Softirq(_) => format!("soft-IRQ {} on its CPU", self.name()),
            Self::Hardirq(_) => format!("{} on its CPU", self.name()),
            Self::Wait { kind, what, waker } => wait_words(*kind, &in_line(what), &in_line(waker)),
            Self::Unseen => "run-queue delay with no task seen on the CPU".into(),
            Self::Stage(stage) => stage_words(*stage),
        }
    }

    /// May it be called a culprit? What the service does by itself, and what is not known, may not.
    pub fn is_nameable(&self) -> bool {
        !matches!(self, Self::Unseen | Self::Stage(_))
    }

    /// Is nothing known of this time?
    pub fn is_unexplained(&self) -> bool {
        matches!(self, Self::Unseen | Self::Stage(RESIDUAL))
    }
}

fn wait_words(kind: WaitKind, what: &str, waker: &str) -> String {
    let of = |name: &str| if name.is_empty() { String::new() } else { format!(" of `{name}`") };
    match kind {
        WaitKind::Futex if waker.is_empty() => "a futex that timed out or was let go unseen".into(),
        WaitKind::Futex => format!("a lock or queue (futex) let go by its thread `{waker}`"),
        WaitKind::BlockIo => format!("the disk{}", of(what)),
        WaitKind::PageFault => "page faults".into(),
        WaitKind::Pipe if waker.is_empty() => "a pipe".into(),
        WaitKind::Pipe => format!("a pipe from `{waker}`"),
        WaitKind::Socket if waker.is_empty() => "a socket".into(),
        WaitKind::Socket => format!("a socket from `{waker}`"),
        WaitKind::Sleep => "sleep of its own".into(),
        WaitKind::Other => format!("a sleep in {what}"),
    }
}

fn stage_words(stage: usize) -> String {
    let what = match STAGES[stage].cause {
        Cause::Waiting => return wait_stage_words(STAGES[stage].name).into(),
        Cause::Queuing => "queuing behind other requests",
        Cause::Scheduling => "scheduling",
        Cause::Client => "waiting for the client",
        Cause::Stopped => "stopped by a signal",
        Cause::Residual => return "unexplained".into(),
        Cause::Work | Cause::Imbalance => "work",
    };
    format!("{what} ({})", STAGES[stage].name)
}

/// What a request waits for, where no sleep of its thread was reported: one in `epoll_wait`, or a short one.
fn wait_stage_words(name: &str) -> &'static str {
    match name {
        "wait_upstream" => "waiting for an upstream (wait_upstream)",
        "wait_disk" => "waiting for the disk (wait_disk)",
        "wait_lock" => "waiting for a lock or queue (wait_lock)",
        "wait_sleep" => "waiting for a timer, or for a lock with a timeout (wait_sleep)",
        "wait_fault" => "waiting for pages (wait_fault)",
        _ => "waiting for something else (wait_other)",
    }
}

/// The stage that holds what a thread slept on that.
pub fn wait_stage(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Futex => "wait_lock",
        WaitKind::BlockIo => "wait_disk",
        WaitKind::PageFault => "wait_fault",
        WaitKind::Pipe | WaitKind::Socket => "wait_upstream",
        WaitKind::Sleep => "wait_sleep",
        WaitKind::Other => "wait_other",
    }
}

const S_IFMT: u32 = 0o170_000;
const S_IFIFO: u32 = 0o010_000;
const S_IFSOCK: u32 = 0o140_000;

/// What a sleep was about: by the kernel's own functions, then by the file, then by the call.
pub fn of_sleep(off: &Off, stacks: &Stacks, is_own: impl Fn(u32) -> bool) -> Suspect {
    let frames = stacks.kernel_of(off);
    let has = |names: &[&str]| frames.iter().any(|frame| names.contains(&&**frame));
    let format = off.file.as_ref().map(|file| file.mode & S_IFMT);
    let is_in = |call: libc::c_long| off.call.is_some_and(|c| libc::c_long::from(c) == call);
    let kind = if off.call.is_none()
        || has(&["exc_page_fault", "asm_exc_page_fault", "do_mem_abort"])
    {
        WaitKind::PageFault
    } else if has(&["io_schedule", "io_schedule_timeout", "blk_io_schedule", "submit_bio_wait"]) {
        WaitKind::BlockIo
    } else if is_in(libc::SYS_futex) || has(&["futex_wait", "futex_lock_pi"]) {
        WaitKind::Futex
    } else if format == Some(S_IFIFO) {
        WaitKind::Pipe
    } else if format == Some(S_IFSOCK) || has(&["sk_wait_data", "sk_stream_wait_memory"]) {
        WaitKind::Socket
    } else if is_in(libc::SYS_clock_nanosleep) || is_in(libc::SYS_nanosleep) {
        WaitKind::Sleep
    } else {
        WaitKind::Other
    };
    let what = match kind {
        WaitKind::BlockIo => off.file.as_ref().map_or_else(|| "".into(), |file| file.name.clone()),
        WaitKind::Other => frames.first().cloned().unwrap_or_else(|| "the kernel".into()),
        _ => "".into(),
    };
    Suspect::Wait { kind, what, waker: waker_of(off, kind, is_own) }
}

/// Who ended it. A futex is let go by a thread of the same service: another one is one that an
/// interrupt struck when the time was out.
fn waker_of(off: &Off, kind: WaitKind, is_own: impl Fn(u32) -> bool) -> Arc<str> {
    let known = off.waker.as_ref().filter(|waker| !waker.is_irq).filter(|waker| match kind {
        WaitKind::Futex => is_own(waker.tgid),
        WaitKind::Pipe | WaitKind::Socket => true,
        _ => false,
    });
    known.map_or_else(|| "".into(), |waker| waker.comm.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::culprit::seen::{File, OffKind, Waker};

    fn kind(call: Option<libc::c_long>, mode: u32, frames: &[&str]) -> WaitKind {
        let off = Off {
            tid: 1,
            tgid: 1,
            cpu: 0,
            kind: OffKind::Asleep,
            from_ns: 0,
            woken_ns: 1,
            here_ns: 1,
            to_ns: 1,
            is_idle: false,
            call: call.and_then(|call| u32::try_from(call).ok()),
            kernel_stack: 0,
            user_stack: -1,
            waker: Some(Waker { tid: 2, tgid: 2, comm: "peer".into(), is_irq: false }),
            file: (mode != 0).then(|| File { mode, device: 0, name: "it".into() }),
        };
        let mut stacks = Stacks::default();
        stacks.kernel.insert(0, frames.iter().map(|name| (*name).into()).collect());
        match of_sleep(&off, &stacks, |_| false) {
            Suspect::Wait { kind, .. } => kind,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sleep_is_told_by_functions_then_file_then_call() {
        let (read, futex) = (Some(libc::SYS_read), Some(libc::SYS_futex));
        let sleep = Some(libc::SYS_clock_nanosleep);
        for (call, mode, frames, wanted) in [
            (read, 0o100_644, &["io_schedule", "filemap_read"][..], WaitKind::BlockIo),
            (read, 0o060_644, &["io_schedule_timeout"], WaitKind::BlockIo),
            (None, 0, &["io_schedule", "filemap_fault", "exc_page_fault"], WaitKind::PageFault),
            (read, 0, &["folio_wait", "asm_exc_page_fault"], WaitKind::PageFault),
            (read, 0o010_600, &["anon_pipe_read"], WaitKind::Pipe),
            (read, 0o140_777, &["unix_stream_read_generic"], WaitKind::Socket),
            (Some(libc::SYS_sendmsg), 0, &["sk_stream_wait_memory"], WaitKind::Socket),
            (futex, 0, &["futex_do_wait"], WaitKind::Futex),
            (sleep, 0, &["do_nanosleep"], WaitKind::Sleep),
            (Some(libc::SYS_wait4), 0, &["do_wait"], WaitKind::Other),
        ] {
            assert_eq!(kind(call, mode, frames), wanted, "{frames:?}");
        }
    }
}
