//! What the kernel side is told and counts: `bpf/shapes.h` as words of 64 bits.

use crate::terms::{CLASSES_MAX, Plan};

/// CPUs that the kernel side has room for.
pub const CPUS_MAX: usize = 1024;
/// Of `struct counts`, bytes.
pub const COUNTS_BYTES: usize = 8 * 6;
/// Of a text in `struct ending`, bytes.
pub const TEXT_BYTES: usize = 256;
/// Of `struct ending`.
pub const ENDING_BYTES: usize = 16 + 2 * TEXT_BYTES;

/// `struct settings`, for a machine whose CPUs have numbers below `cpus`.
pub fn settings(plan: &Plan, cpus: usize) -> Vec<u8> {
    let has_groups = plan.classes.iter().any(|class| !class.groups.is_empty());
    let mut words = vec![
        cpus as u64,
        plan.classes.len() as u64,
        plan.allowance_ns,
        plan.grace_ns,
        plan.credit_ns,
        u64::from(has_groups),
    ];
    words.extend(plan.classes.iter().flat_map(|it| [it.weight, it.warp_ns, it.limit_ns]));
    words.resize(6 + 3 * CLASSES_MAX, 0);
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// What was counted of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// CPU time, ns.
    pub run_ns: u64,
    /// Times that one of them got a CPU.
    pub dispatches: u64,
    /// Times that one of them woke.
    pub wakeups: u64,
    /// Times that one of them, waking, took a CPU from another.
    pub preempting: u64,
    /// Times that one of them lost its CPU and wanted to go on.
    pub preempted: u64,
    /// Time that they were ready and had no CPU, ns.
    pub wait_ns: u64,
}

impl Counts {
    /// The sum of what all CPUs counted, each as `struct counts`.
    pub fn sum(cpus: &[Vec<u8>]) -> Self {
        let mut words = [0_u64; COUNTS_BYTES / 8];
        for cpu in cpus {
            for (word, bytes) in words.iter_mut().zip(cpu.chunks_exact(8)) {
                *word += u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
            }
        }
        let [run_ns, dispatches, wakeups, preempting, preempted, wait_ns] = words;
        Self { run_ns, dispatches, wakeups, preempting, preempted, wait_ns }
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            dispatches: self.dispatches.saturating_sub(earlier.dispatches),
            wakeups: self.wakeups.saturating_sub(earlier.wakeups),
            preempting: self.preempting.saturating_sub(earlier.preempting),
            preempted: self.preempted.saturating_sub(earlier.preempted),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
        }
    }
}

/// Why the kernel has ended the scheduler, in words; none while it goes on.
pub fn ending(bytes: &[u8]) -> Option<String> {
    let kind = u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?);
    let text = |at: usize| {
        let text = bytes.get(at..at + TEXT_BYTES).unwrap_or_default();
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    };
    let (reason, message) = (text(16), text(16 + TEXT_BYTES));
    let reported = if message.is_empty() { reason } else { format!("{reason}: {message}") };
    (kind != 0).then_some(reported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Class, Job};

    #[test]
    fn settings_have_their_words_where_the_kernel_side_looks() {
        let class =
            Class { name: "web".into(), pids: vec![7], warp: "5ms".into(), ..Class::default() };
        let plan = crate::terms::plan(&Job { classes: vec![class], ..Job::default() }).unwrap();
        let bytes = settings(&plan, 4);
        let word = |n: usize| u64::from_ne_bytes(bytes[8 * n..8 * n + 8].try_into().unwrap());
        assert_eq!((word(0), word(1), word(2), word(3)), (4, 2, 3_000_000, 500_000));
        assert_eq!((word(6), word(9), word(10), word(11)), (1024, 1024, 5_000_000, 0));
        assert_eq!(bytes.len(), 8 * (6 + 3 * CLASSES_MAX));
    }

    #[test]
    fn counts_are_summed_over_cpus_and_endings_have_words() {
        let one: Vec<u8> = (1..=6_u64).flat_map(u64::to_ne_bytes).collect();
        let sum = Counts::sum(&[one.clone(), one]);
        assert_eq!((sum.run_ns, sum.dispatches, sum.wait_ns), (2, 4, 12));
        assert_eq!(sum.since(sum), Counts::default());
        let mut bytes = vec![0; ENDING_BYTES];
        bytes[16..20].copy_from_slice(b"gone");
        assert_eq!(ending(&bytes), None);
        bytes[0] = 64;
        assert_eq!(ending(&bytes).as_deref(), Some("gone"));
        bytes[16 + TEXT_BYTES] = b'x';
        assert_eq!(ending(&bytes).as_deref(), Some("gone: x"));
    }
}
