//! What the scheduler has booked for a thread: `/proc/PID/task/TID/schedstat` (proc(5)).

use std::fmt::Display;
use std::fs::{self, File};
use std::iter::Sum;
use std::os::unix::fs::FileExt;

/// Since the thread began, or between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedstat {
    /// On a CPU, ns.
    pub ran_ns: u64,
    /// In a run queue, waits that have ended, ns.
    pub waited_ns: u64,
    /// How often it came on a CPU.
    pub turns: u64,
}

impl Schedstat {
    /// Of the thread whose open file this is; `None`: it has ended. Allocates nothing.
    pub fn read(file: &File) -> Option<Self> {
        let mut text = [0_u8; 64];
        let length = file.read_at(&mut text, 0).ok()?;
        Self::parse(std::str::from_utf8(&text[..length]).ok()?)
    }

    /// Of all threads that the process `pid` has now (`self`: this one), added up; `None`: it has ended,
    /// or the kernel keeps no such account.
    pub fn of_process(pid: impl Display) -> Option<Self> {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        let mut threads = tasks
            .filter_map(|task| Self::read(&File::open(task.path().join("schedstat")).ok()?))
            .peekable();
        threads.peek()?;
        Some(threads.sum())
    }

    /// What was added since `earlier`, an older reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(earlier.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            turns: self.turns.saturating_sub(earlier.turns),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_ascii_whitespace();
        let mut next = || numbers.next()?.parse().ok();
        Some(Self { ran_ns: next()?, waited_ns: next()?, turns: next()? })
    }
}

impl Sum for Schedstat {
    fn sum<I: Iterator<Item = Self>>(threads: I) -> Self {
        threads.fold(Self::default(), |sum, thread| Self {
            ran_ns: sum.ran_ns + thread.ran_ns,
            waited_ns: sum.waited_ns + thread.waited_ns,
            turns: sum.turns + thread.turns,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_and_another_refused() {
        let line = Schedstat { ran_ns: 97_000, waited_ns: 2_303_454, turns: 2 };
        assert_eq!(Schedstat::parse("97000 2303454 2\n"), Some(line));
        assert_eq!(Schedstat::parse("97000"), None);
        assert_eq!(Schedstat::parse("97000 2303454 many"), None);
    }

    #[test]
    fn a_process_has_the_sum_of_its_threads_and_one_that_is_gone_has_none() {
        let thread = File::open("/proc/thread-self/schedstat").unwrap();
        let before = Schedstat::read(&thread).unwrap();
        let process = Schedstat::of_process("self").unwrap();
        assert!(process.ran_ns >= before.ran_ns && process.turns >= before.turns);
        // Its one thread lives on between two readings; those of this program may end and leave the sum.
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let first = Schedstat::of_process(child.id()).unwrap();
        assert!(first.ran_ns > 0 && first.turns > 0, "{first:?}");
        let later = Schedstat::of_process(child.id()).unwrap();
        assert!(later.ran_ns >= first.ran_ns && later.turns >= first.turns, "{first:?}, {later:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(Schedstat::of_process(child.id()), None);
    }

    #[test]
    fn what_came_since_is_never_below_nothing() {
        let [early, late] = [3, 5].map(|n| Schedstat { ran_ns: n, waited_ns: 2 * n, turns: n });
        assert_eq!(late.since(early), Schedstat { ran_ns: 2, waited_ns: 4, turns: 2 });
        assert_eq!(early.since(late), Schedstat::default());
        assert_eq!([early, late].into_iter().sum::<Schedstat>().waited_ns, 16);
    }
}
