//! What the scheduler itself has booked for a process: `/proc/PID/task/TID/schedstat`.

use std::fs;

/// Summed over the threads that it has then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// On a CPU, ns.
    pub ran_ns: u64,
    /// Runnable, and not on a CPU, ns.
    pub waited_ns: u64,
    /// How often it came on a CPU.
    pub turns: u64,
}

impl Account {
    /// What came since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(earlier.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            turns: self.turns.saturating_sub(earlier.turns),
        }
    }
}

/// Of the process `pid`.
///
/// # Panics
/// If it has ended, or the kernel keeps no such account.
pub fn of(pid: u32) -> Account {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.fold(Account::default(), |sum, task| {
        let Ok(text) = fs::read_to_string(task.unwrap().path().join("schedstat")) else {
            return sum; // it has just ended
        };
        let words: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let &[ran_ns, waited_ns, turns] = words.as_slice() else { panic!("schedstat: {text}") };
        Account {
            ran_ns: sum.ran_ns + ran_ns,
            waited_ns: sum.waited_ns + waited_ns,
            turns: sum.turns + turns,
        }
    })
}
