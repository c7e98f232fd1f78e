//! What is printed: a line when it is in force, one every second, one when it ends. All are JSON.

use serde::Serialize;

use crate::shapes::Counts;
use crate::terms::Plan;

/// Version of the lines' form.
pub const SCHEMA: &str = "sojourn.sched/1";

/// The line with which it begins: from now on it is in force.
#[derive(Clone, Debug, Serialize)]
pub struct First {
    /// Version of the form.
    pub schema: &'static str,
    /// As the kernel names it.
    pub scheduler: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// The process whose end takes it out of force.
    pub pid: u32,
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// How far a runner may get ahead of another, ns.
    pub allowance_ns: u64,
    /// How long a runner is left alone, ns.
    pub grace_ns: u64,
    /// How far behind a task may come back from sleep, ns.
    pub credit_ns: u64,
    /// What each class was granted, the default one first.
    pub classes: Vec<Granted>,
}

/// What a class was granted.
#[derive(Clone, Debug, Serialize)]
pub struct Granted {
    /// By which it is reported.
    pub name: String,
    /// 100 is the usual.
    pub weight: f64,
    /// Virtual time that its tasks may borrow, ns.
    pub warp_ns: u64,
    /// Time without sleep after which no more is lent, ns; 0: no limit.
    pub limit_ns: u64,
}

/// What `plan` grants each of its classes, the default one first.
pub fn granted(plan: &Plan) -> Vec<Granted> {
    let of = |terms: &crate::terms::Terms| Granted {
        name: terms.name.clone(),
        weight: (terms.weight as f64 * 100.0 / 1024.0).round(),
        warp_ns: terms.warp_ns,
        limit_ns: terms.limit_ns,
    };
    plan.classes.iter().map(of).collect()
}

/// The line of a second.
#[derive(Clone, Debug, Serialize)]
pub struct Second {
    /// End of it since the beginning, s.
    pub t_s: f64,
    /// End of it, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// Its length, s; the last one is shorter.
    pub length_s: f64,
    /// What each class had, the default one first.
    pub classes: Vec<Had>,
}

/// The line with which it ends: all seconds together.
#[derive(Clone, Debug, Serialize)]
pub struct Last {
    /// Always true: the mark of this line.
    pub is_summary: bool,
    /// All seconds as if they were one.
    #[serde(flatten)]
    pub whole: Second,
    /// Why it ended.
    pub why: String,
}

/// What a class had in some time.
#[derive(Clone, Debug, Serialize)]
pub struct Had {
    /// Of the class.
    pub name: String,
    /// CPU time, s.
    pub cpu_s: f64,
    /// Of all CPU time that was used, its share; 0 where none was.
    pub share: f64,
    /// Time that its tasks were ready and had no CPU, s.
    pub wait_s: f64,
    /// Times that one of its tasks got a CPU.
    pub dispatches: u64,
    /// Times that one of its tasks woke.
    pub wakeups: u64,
    /// Times that one of its tasks, waking, took a CPU from another.
    pub preempting: u64,
    /// Times that one of its tasks lost its CPU and wanted to go on.
    pub preempted: u64,
}

/// What the classes called `names` had, by what was counted of each.
pub fn had(names: &[String], counted: &[Counts]) -> Vec<Had> {
    let all_ns: u64 = counted.iter().map(|counts| counts.run_ns).sum();
    let of = |(name, counts): (&String, &Counts)| Had {
        name: name.clone(),
        cpu_s: counts.run_ns as f64 / 1e9,
        share: if all_ns == 0 { 0.0 } else { counts.run_ns as f64 / all_ns as f64 },
        wait_s: counts.wait_ns as f64 / 1e9,
        dispatches: counts.dispatches,
        wakeups: counts.wakeups,
        preempting: counts.preempting,
        preempted: counts.preempted,
    };
    names.iter().zip(counted).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_used() {
        let counted = [1_000, 3_000].map(|run_ns| Counts { run_ns, ..Counts::default() });
        let names = ["a", "b"].map(String::from);
        let shares: Vec<f64> = had(&names, &counted).iter().map(|one| one.share).collect();
        assert_eq!(shares, [0.25, 0.75]);
        assert_eq!(had(&names, &[Counts::default(); 2])[1].share, 0.0);
    }
}
