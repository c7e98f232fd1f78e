//! What stays, what leaves, and what was looked up.

use super::*;

fn slow(second: u64, total_ns: u64) -> Slow {
    Slow { start_ns: second * NS_PER_S, total_ns, ..Slow::default() }
}

#[test]
fn it_never_has_more_than_its_room_and_the_slowest_of_each_second_stay() {
    let mut memory = Memory::new(60 * NS_PER_S, 100);
    for second in 0..10 {
        for n in 0..1_000 {
            // In no order, so that what comes last has no advantage.
            memory.add(slow(second, 1 + n * 7919 % 1_000));
            assert!(memory.len() <= 100);
        }
    }
    for second in 0..10 {
        let span = ((second * NS_PER_S).saturating_sub(1), (second + 1) * NS_PER_S - 1);
        let listed = memory.slowest(span, 1_000);
        let totals: Vec<u64> = listed.iter().map(|slow| slow.total_ns).collect();
        let wanted: Vec<u64> = (1..=1_000).rev().take(totals.len()).collect();
        assert!(totals.len() >= 9, "second {second} has {}", totals.len());
        assert_eq!(totals[..9], wanted[..9], "the slowest of second {second}");
    }
    let evicted = memory.evicted();
    assert_eq!(evicted.requests + memory.len() as u64, 10_000, "each is here or counted");
    assert!(evicted.to_ns <= 992, "what is slower than {} is here", evicted.to_ns);
}

#[test]
fn a_second_with_few_slow_ones_gives_nothing_to_one_with_many() {
    let mut memory = Memory::new(60 * NS_PER_S, 100);
    memory.add(slow(1, 5));
    (0..10_000).for_each(|n| memory.add(slow(2, 100 + n)));
    assert_eq!(memory.slowest((NS_PER_S, 2 * NS_PER_S - 1), 10).len(), 1);
    assert!(memory.len() > 80, "the room is used: {}", memory.len());
}

#[test]
fn parts_are_looked_up_once_and_stay_with_their_request() {
    let cut = |about: &str, ns| Cut {
        stages: vec![("running", ns)],
        culprits: vec![(Arc::new(culprit(about)), ns)],
        slept: None,
        stack: Vec::new(),
    };
    let mut memory = Memory::new(60 * NS_PER_S, 3);
    (1..=3).for_each(|n| memory.add(slow(2, n)));
    memory.cut(2 * NS_PER_S + 3, |slow| cut("first", slow.total_ns));
    memory.cut(3 * NS_PER_S, |slow| cut("second", slow.total_ns));
    let about = |slow: &Slow| slow.cut.as_ref().unwrap().culprits[0].0.about.clone();
    let listed = memory.slowest((0, u64::MAX), 9);
    let abouts: Vec<String> = listed.iter().map(about).collect();
    assert_eq!(abouts, ["second", "first", "first"], "the slowest had not ended then");
    let shared = |at: usize| &listed[at].cut.as_ref().unwrap().culprits[0].0;
    assert!(Arc::ptr_eq(shared(1), shared(2)), "one culprit is in memory once");
    let totals: Vec<u64> = listed.iter().map(|it| it.cut.as_ref().unwrap().stages[0].1).collect();
    assert_eq!(totals, [3, 2, 1], "each has its own parts");
    memory.add(slow(2, 9));
    let left: Vec<u64> = memory.slowest((0, u64::MAX), 9).iter().map(|it| it.total_ns).collect();
    assert_eq!(left, [9, 3], "the fastest still leave first");
}

#[test]
fn culprits_of_requests_that_have_left_leave_too() {
    let mut memory = Memory::new(NS_PER_S, 10);
    for n in 0..2 * CULPRITS as u64 {
        memory.add(slow(n, 1));
        let cut = Cut { culprits: vec![(Arc::new(culprit(&n.to_string())), 1)], ..Cut::default() };
        memory.cut((n + 1) * NS_PER_S, |_| cut.clone());
        memory.forget(n * NS_PER_S);
    }
    assert!(memory.culprits.len() <= CULPRITS + 1, "{}", memory.culprits.len());
}

fn culprit(about: &str) -> Culprit {
    let (name, cgroup, waker) = Default::default();
    Culprit { kind: "task", name, cgroup, waker, about: about.into() }
}

#[test]
fn what_is_too_old_leaves() {
    let mut memory = Memory::new(10 * NS_PER_S, 100);
    (0..30).for_each(|second| memory.add(slow(second, 1)));
    memory.forget(30 * NS_PER_S);
    assert_eq!(memory.len(), 10);
    assert!(memory.slowest((0, u64::MAX), 100).iter().all(|s| s.start_ns >= 20 * NS_PER_S));
    memory.forget(100 * NS_PER_S);
    assert!(memory.is_empty() && memory.slowest((0, u64::MAX), 9).is_empty());
}
