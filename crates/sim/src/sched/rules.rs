//! Each policy by hand: who runs, who is preempted, when it looks again; ms as whole numbers.

use super::find;
use super::policy::{Policy, Terms, Tuning, next_tick};

const MS: u64 = 1_000_000;

fn terms(weight: u64) -> Terms {
    Terms { weight, warp_ns: 0, priority: 0, quota_ns: 0, period_ns: 24 * MS }
}

fn policy(name: &str, tasks: &[Terms]) -> Box<dyn Policy> {
    (find(name).unwrap().build)(&Tuning::default().knobs().unwrap(), tasks)
}

/// All awake at 0, the first picked.
fn started(name: &str, tasks: &[Terms]) -> Box<dyn Policy> {
    let mut policy = policy(name, tasks);
    (0..tasks.len()).for_each(|task| policy.wake(task, 0));
    assert_eq!(policy.pick(0), Some(0));
    policy
}

#[test]
fn ticks_are_whole_multiples_and_lie_ahead() {
    assert_eq!((next_tick(0, 4), next_tick(3, 4), next_tick(4, 4), next_tick(9, 4)), (4, 4, 8, 12));
}

/// Behind by more than 4 ms, not by 4 ms.
#[test]
fn cfs_preempts_beyond_the_wake_up_granularity() {
    let mut cfs = started("cfs", &[terms(1024), terms(1024)]);
    cfs.charge(0, 4 * MS, 4 * MS);
    assert!(!cfs.preempts(1, 0, 4 * MS));
    cfs.charge(0, 1, 4 * MS + 1);
    assert!(cfs.preempts(1, 0, 4 * MS + 1));
}

/// The granularity is in the virtual time of the task that wakes: half for twice the weight.
#[test]
fn cfs_granularity_is_the_woken_tasks() {
    let mut cfs = started("cfs", &[terms(1024), terms(2048)]);
    cfs.charge(0, 2 * MS, 2 * MS);
    assert!(!cfs.preempts(1, 0, 2 * MS));
    cfs.charge(0, 1, 2 * MS);
    assert!(cfs.preempts(1, 0, 2 * MS));
}

/// 24 ms by weight: 16 of them for two thirds of it; 3 ms each once more than eight want the CPU.
#[test]
fn cfs_slices_are_shares_of_the_latency() {
    let slice_of = |tasks: &[Terms]| {
        let mut cfs = started("cfs", tasks);
        let mut ran = 0;
        while !cfs.must_yield(0, ran) {
            cfs.charge(0, MS / 2, ran);
            ran += MS / 2;
        }
        ran
    };
    assert_eq!(slice_of(&[terms(2048), terms(1024)]), 16 * MS + MS / 2);
    assert_eq!(slice_of(&[terms(1024); 2]), 12 * MS + MS / 2);
    assert_eq!(slice_of(&[terms(1024); 10]), 3 * MS + MS / 2);
}

/// A task that slept comes back at most 12 ms behind; one that is ahead keeps its place.
#[test]
fn cfs_gives_a_sleeper_half_the_latency() {
    let mut cfs = policy("cfs", &[terms(1024); 2]);
    cfs.wake(0, 0);
    cfs.pick(0);
    cfs.charge(0, 100 * MS, 100 * MS);
    cfs.wake(1, 100 * MS);
    assert!(cfs.preempts(1, 0, 100 * MS));
    cfs.put_back(0, 100 * MS);
    assert_eq!(cfs.pick(100 * MS), Some(1));
    cfs.charge(1, 16 * MS, 116 * MS);
    assert!(!cfs.preempts(0, 1, 116 * MS), "88 + 16 is 4 ahead of 100");
    cfs.charge(1, 1, 116 * MS);
    assert!(cfs.preempts(0, 1, 116 * MS));
}

/// A runner past its least time yields once the first in the queue is a slice behind.
#[test]
fn cfs_yields_to_one_who_is_a_slice_behind() {
    let mut cfs = policy("cfs", &[terms(1024); 2]);
    cfs.wake(0, 0);
    cfs.pick(0);
    cfs.charge(0, 100 * MS, 100 * MS);
    cfs.put_back(0, 100 * MS);
    cfs.pick(100 * MS);
    cfs.wake(1, 100 * MS); // 12 ms behind
    cfs.charge(0, 2 * MS, 102 * MS);
    assert!(!cfs.must_yield(0, 102 * MS), "14 behind, but only 2 ms were run");
    cfs.charge(0, MS, 103 * MS);
    assert!(cfs.must_yield(0, 103 * MS));
}

#[test]
fn cfs_looks_again_at_the_tick_if_anyone_waits() {
    let mut cfs = started("cfs", &[terms(1024); 2]);
    assert_eq!(cfs.look_again(Some(0), 5 * MS), Some(8 * MS));
    assert_eq!(cfs.look_again(None, 5 * MS), None);
    cfs.block(0, 5 * MS);
    cfs.pick(5 * MS);
    assert_eq!(cfs.look_again(Some(1), 5 * MS), None, "alone");
    assert!(!cfs.must_yield(1, 5 * MS));
}

/// BVT looks at the very moment: when the lead of 4 ms and 1 ns is used up, after the grace.
#[test]
fn bvt_looks_again_when_it_is_overtaken() {
    let warped = |warp_ns: i64| [Terms { warp_ns, ..terms(1024) }, terms(1024)];
    let mut bvt = started("bvt", &warped(0));
    bvt.charge(0, 3 * MS, 3 * MS);
    assert_eq!(bvt.look_again(Some(0), 3 * MS), Some(4 * MS), "the tick comes first");
    bvt.charge(0, MS - 100, 4 * MS - 100);
    assert_eq!(bvt.look_again(Some(0), 4 * MS), Some(4 * MS + 101));
    assert!(!bvt.must_yield(0, 4 * MS));
    bvt.charge(0, 101, 4 * MS + 1);
    assert!(bvt.must_yield(0, 4 * MS + 1));
    let mut bvt = started("bvt", &warped(5 * MS as i64));
    bvt.charge(0, 8 * MS, 8 * MS);
    assert!(!bvt.must_yield(0, 8 * MS), "8 − 5 is not behind by 4");
    assert!(!bvt.preempts(1, 0, 8 * MS));
    bvt.charge(0, MS + 1, 9 * MS);
    assert!(bvt.preempts(1, 0, 9 * MS));
}

/// Whoever is behind waits until the runner has had its grace of 0.5 ms.
#[test]
fn bvt_leaves_a_runner_alone_for_the_grace() {
    let mut bvt = policy("bvt", &[terms(1024); 2]);
    bvt.wake(0, 0);
    bvt.pick(0);
    bvt.charge(0, 100 * MS, 100 * MS);
    bvt.put_back(0, 100 * MS);
    bvt.pick(100 * MS);
    bvt.wake(1, 100 * MS); // 12 ms behind
    assert_eq!(bvt.look_again(Some(0), 100 * MS), Some(100 * MS + MS / 2));
    bvt.charge(0, MS / 2 - 1, 100 * MS);
    assert!(!bvt.must_yield(0, 100 * MS));
    bvt.charge(0, 1, 100 * MS);
    assert!(bvt.must_yield(0, 100 * MS));
    assert_eq!(bvt.look_again(Some(0), 100 * MS), Some(100 * MS), "at once");
}

#[test]
fn fifo_keeps_order_and_a_preempted_task_stays_first() {
    let mut fifo = started("fifo", &[terms(1024); 3]);
    assert!(!fifo.preempts(1, 0, 0) && !fifo.must_yield(0, 0));
    assert_eq!(fifo.look_again(Some(0), 0), None);
    fifo.put_back(0, 0);
    assert_eq!(
        (fifo.pick(0), fifo.pick(0), fifo.pick(0), fifo.pick(0)),
        (Some(0), Some(1), Some(2), None)
    );
}

fn rt(tasks: &[(u32, u64)]) -> Box<dyn Policy> {
    let all: Vec<Terms> = tasks
        .iter()
        .map(|&(priority, quota)| Terms { priority, quota_ns: quota * MS, ..terms(1024) })
        .collect();
    policy("rt", &all)
}

#[test]
fn rt_runs_the_highest_priority_and_equals_in_order_of_waking() {
    let mut rt = rt(&[(1, 0), (5, 0), (5, 0)]);
    for task in [0, 2, 1] {
        rt.wake(task, 0);
    }
    assert_eq!((rt.pick(0), rt.pick(0), rt.pick(0)), (Some(2), Some(1), Some(0)));
    assert!(rt.preempts(1, 0, 0) && !rt.preempts(0, 1, 0) && !rt.preempts(2, 1, 0));
    rt.wake(2, 0);
    assert!(rt.must_yield(0, 0) && !rt.must_yield(1, 0), "equals do not take turns");
    rt.put_back(1, 0);
    assert_eq!(rt.pick(0), Some(1), "first among equals again");
}

/// 6 ms in every 24: used up at 6, back at 24; what was used too much is taken off.
#[test]
fn rt_quotas_end_and_come_back() {
    let mut rt = rt(&[(1, 6)]);
    rt.wake(0, 0);
    assert_eq!(rt.pick(0), Some(0));
    assert_eq!(rt.look_again(Some(0), 0), Some(6 * MS));
    rt.charge(0, 2 * MS, 2 * MS);
    assert_eq!(rt.look_again(Some(0), 2 * MS), Some(6 * MS));
    assert!(!rt.must_yield(0, 2 * MS));
    rt.charge(0, 4 * MS, 6 * MS);
    assert!(rt.must_yield(0, 6 * MS));
    rt.put_back(0, 6 * MS);
    assert_eq!(rt.pick(6 * MS), None);
    assert_eq!(rt.look_again(None, 6 * MS), Some(24 * MS));
    assert_eq!(rt.pick(24 * MS - 1), None);
    assert_eq!(rt.pick(24 * MS), Some(0));
    rt.charge(0, 8 * MS, 32 * MS);
    rt.put_back(0, 32 * MS);
    assert_eq!(rt.look_again(None, 32 * MS), Some(48 * MS));
    assert_eq!(rt.pick(48 * MS), Some(0));
    assert_eq!(rt.look_again(Some(0), 48 * MS), Some(52 * MS), "2 of 6 were owed");
}

#[test]
fn rt_a_throttled_task_does_not_preempt_and_lets_lower_ones_run() {
    let mut rt = rt(&[(1, 0), (9, 1)]);
    rt.wake(1, 0);
    rt.pick(0);
    rt.charge(1, MS, MS);
    rt.put_back(1, MS);
    rt.wake(0, MS);
    assert_eq!(rt.pick(MS), Some(0));
    assert!(!rt.preempts(1, 0, MS) && !rt.must_yield(0, MS));
    assert_eq!(rt.look_again(Some(0), MS), Some(24 * MS));
    assert!(rt.must_yield(0, 24 * MS), "its quota is back");
}

/// Released at 24 ms, unseen until 25: at once if it outranks the runner, else it waits its turn.
#[test]
fn rt_a_release_that_passed_unseen_is_looked_at_at_once() {
    for (runner, looks) in [(1, Some(25 * MS)), (9, None), (10, None)] {
        let mut rt = rt(&[(runner, 0), (9, 1)]);
        rt.wake(1, 0);
        rt.pick(0);
        rt.charge(1, MS, MS);
        rt.put_back(1, MS);
        rt.wake(0, MS);
        assert_eq!(rt.pick(MS), Some(0));
        assert_eq!(rt.look_again(Some(0), 25 * MS), looks, "{runner}");
    }
}

/// Equal weights: 3 ms each in turn, looked at by the tick.
#[test]
fn eevdf_takes_turns_by_deadline() {
    let mut eevdf = started("eevdf", &[terms(1024); 2]);
    assert!(!eevdf.must_yield(0, 0));
    eevdf.charge(0, 3 * MS - 1, 3 * MS - 1);
    assert!(!eevdf.must_yield(0, 3 * MS - 1), "not spent");
    assert_eq!(eevdf.look_again(Some(0), 3 * MS - 1), Some(4 * MS));
    eevdf.charge(0, 1, 3 * MS);
    assert!(eevdf.must_yield(0, 3 * MS));
    eevdf.put_back(0, 3 * MS);
    assert_eq!(eevdf.pick(3 * MS), Some(1), "0 had more than its share");
    assert!(!eevdf.must_yield(1, 3 * MS));
    eevdf.charge(1, 3 * MS, 6 * MS);
    eevdf.put_back(1, 6 * MS);
    assert_eq!(eevdf.pick(6 * MS), Some(0), "earlier deadline by order");
    eevdf.block(0, 6 * MS);
    eevdf.pick(6 * MS);
    eevdf.charge(1, 9 * MS, 15 * MS);
    assert!(!eevdf.must_yield(1, 15 * MS), "alone");
    assert_eq!(eevdf.look_again(Some(1), 15 * MS), None);
}

/// Twice the weight: virtual time goes at half the speed, so its deadline comes earlier.
#[test]
fn eevdf_deadlines_are_by_weight() {
    let mut eevdf = policy("eevdf", &[terms(1024), terms(2048)]);
    eevdf.wake(0, 0);
    eevdf.wake(1, 0);
    assert_eq!(eevdf.pick(0), Some(1), "1.5 ms against 3 ms");
    eevdf.charge(1, 3 * MS - 2, 3 * MS);
    assert!(!eevdf.must_yield(1, 3 * MS));
    eevdf.charge(1, 2, 3 * MS);
    assert!(eevdf.must_yield(1, 3 * MS));
}

/// A task that was served less before it slept has lag: it comes back behind and preempts once the
/// runner is no longer protected. One that had more comes back ahead and does not.
#[test]
fn eevdf_keeps_lag_over_a_sleep() {
    let mut eevdf = started("eevdf", &[terms(1024); 3]);
    eevdf.charge(0, 2 * MS, 2 * MS);
    eevdf.block(0, 2 * MS); // V = 2/3 ms; lag −4/3 ms
    assert_eq!(eevdf.pick(2 * MS), Some(1));
    eevdf.charge(1, MS, 3 * MS); // V = ½ ms
    eevdf.wake(0, 3 * MS);
    assert!(!eevdf.preempts(0, 1, 3 * MS), "it owes");
    eevdf.charge(1, 2 * MS, 5 * MS);
    assert!(!eevdf.preempts(0, 1, 5 * MS), "2 is first");
    eevdf.put_back(1, 5 * MS);
    assert_eq!(eevdf.pick(5 * MS), Some(2));
}
