//! Causes of dumps, and the floor, from known seconds.

use super::*;
use crate::blackbox::asked::Tail;

const MS: u64 = 1_000_000;

fn state(over_ns: Option<u64>, tails: Vec<Tail>) -> State {
    let asked =
        Asked { last_ns: 60 * NS_PER_S, over_ns, tails, pause_ns: 30 * NS_PER_S, dumps_bytes: 1 };
    State::new(asked, 1_000)
}

fn slow(state: &mut State, at_ns: u64, total_ns: u64) {
    let slow = Slow { start_ns: at_ns - total_ns, total_ns, tid: 7, ..Slow::default() };
    state.slow(slow, "worker".into(), at_ns, 0);
}

#[test]
fn a_slow_request_starts_one_dump_and_then_there_is_a_pause() {
    let mut state = state(Some(5 * MS), Vec::new());
    slow(&mut state, NS_PER_S, 5 * MS);
    assert_eq!(state.due(9 * NS_PER_S), None, "it took no longer than the bound");
    slow(&mut state, 2 * NS_PER_S, 6 * MS);
    slow(&mut state, 2 * NS_PER_S, 7 * MS);
    assert_eq!(state.due(2 * NS_PER_S), None, "others beside it may still end");
    let cause = state.due(3 * NS_PER_S).unwrap();
    assert!(cause.kind == "over" && cause.about.contains("6 ms"), "{cause:?}");
    state.dumped(3 * NS_PER_S);
    slow(&mut state, 20 * NS_PER_S, 9 * MS);
    assert_eq!((state.due(30 * NS_PER_S), state.passed_over), (None, 1));
    slow(&mut state, 34 * NS_PER_S, 9 * MS);
    assert_eq!(state.due(35 * NS_PER_S).unwrap().passed_over, 1, "and they are counted");
    assert_eq!(state.memory.len(), 5, "all of them are stored");
}

#[test]
fn a_quantile_over_its_bound_starts_a_dump() {
    let mut state = state(None, vec![Tail { q: 0.99, bound_ns: 5 * MS }]);
    let mut totals = vec![0; bins::TOTAL.count()];
    totals[bins::TOTAL.of(MS)] = 1_000;
    state.second(NS_PER_S, 0, &totals, Beside::default());
    assert_eq!(state.due(9 * NS_PER_S), None);
    totals[bins::TOTAL.of(9 * MS)] = 50;
    state.second(2 * NS_PER_S, 0, &totals, Beside::default());
    assert_eq!(state.due(9 * NS_PER_S).unwrap().kind, "tail");
}

#[test]
fn a_quantile_is_one_of_ten_seconds_however_short_a_dump_is() {
    let tails = vec![Tail { q: 0.99, bound_ns: 5 * MS }];
    let asked =
        Asked { last_ns: NS_PER_S, over_ns: None, tails, pause_ns: 30 * NS_PER_S, dumps_bytes: 1 };
    let mut state = State::new(asked, 1_000);
    let mut totals = vec![0; bins::TOTAL.count()];
    for second in 1..=9 {
        totals[bins::TOTAL.of(MS)] += 1_000;
        state.second(second * NS_PER_S, 0, &totals, Beside::default());
    }
    totals[bins::TOTAL.of(9 * MS)] += 50; // of 9,050 requests, and of 1,050 in two seconds
    state.second(10 * NS_PER_S, 0, &totals, Beside::default());
    assert_eq!(state.due(30 * NS_PER_S), None, "99.4 % took 1 ms");
}

#[test]
fn the_floor_lets_the_slow_through_and_rises_under_overload() {
    let mut state = state(Some(5 * MS), Vec::new());
    let mut totals = vec![0; bins::TOTAL.count()];
    for second in 1..=20 {
        totals[bins::TOTAL.of(80_000)] += 30_000;
        totals[bins::TOTAL.of(300_000)] += 150;
        state.second(second * NS_PER_S, 0, &totals, Beside::default());
    }
    assert!((80_001..=300_000).contains(&state.floor_ns), "{}", state.floor_ns);
    totals[bins::TOTAL.of(20 * MS)] += 30_000;
    totals[bins::TOTAL.of(40 * MS)] += 15_000;
    state.second(21 * NS_PER_S, 0, &totals, Beside::default());
    assert!((20 * MS..=40 * MS).contains(&state.floor_ns), "{}", state.floor_ns);
    totals[bins::TOTAL.of(6 * MS)] += 10;
    state.second(22 * NS_PER_S, 0, &totals, Beside::default());
    assert!(state.floor_ns <= 5 * MS, "what the user calls slow comes through again");
}

/// A day, a second at a time: a burst each minute, a storm each hour.
#[test]
fn a_day_needs_no_more_memory_than_a_minute() {
    let mut state = state(Some(5 * MS), Vec::new());
    let mut totals = vec![0; bins::TOTAL.count()];
    for second in 1..=86_400_u64 {
        let n = if second % 3_600 == 0 {
            5_000
        } else if second % 60 == 0 {
            300
        } else {
            1
        };
        for number in 0..n {
            slow(&mut state, second * NS_PER_S, 6 * MS + second * number);
        }
        totals[bins::TOTAL.of(6 * MS)] += n;
        state.second(second * NS_PER_S, 0, &totals, Beside::default());
        assert!(state.memory.len() <= 1_000 && state.tally.since(0).count() <= 62);
        if state.due(second * NS_PER_S).is_some() {
            state.dumped(second * NS_PER_S);
        }
    }
    let newest = state.memory.slowest((0, u64::MAX), 1_000);
    assert!(newest.iter().all(|it| it.end_ns() >= 86_340 * NS_PER_S), "of the last minute");
    assert!(newest.len() > 800, "and of all its seconds: {}", newest.len());
    assert_eq!(state.tally.ever().iter().sum::<u64>(), totals.iter().sum::<u64>());
}

#[test]
fn threads_of_a_life_that_has_ended_have_their_names_still() {
    let mut state = state(None, Vec::new());
    for (tgid, tid, name) in [(7, 8, "first"), (9, 8, "second"), (7, 8, "gone")] {
        let one = Slow { tgid, tid, total_ns: 1, ..Slow::default() };
        state.slow(one, name.into(), 1, 0);
    }
    let name = |of| state.names.get(&of).map(String::as_str);
    assert_eq!((name((7, 8)), name((9, 8))), (Some("first"), Some("second")));
}

#[test]
fn memory_of_signals_and_names_has_an_end() {
    let mut state = state(None, Vec::new());
    let signal = Signal { at_ns: 1, number: 19, tid: 1, tgid: 1, comm: "x".into(), target: 7 };
    (0..3_000).for_each(|_| state.signal(signal.clone()));
    assert_eq!(state.signals.len(), SIGNALS);
    for tid in 0..20_000 {
        let one = Slow { tid, total_ns: 1, ..Slow::default() };
        state.slow(one, "n".into(), 1, 0);
    }
    assert!(state.names.len() <= NAMES && state.memory.len() <= 1_000);
    state.second(100 * NS_PER_S, 0, &[], Beside::default());
    assert!(state.signals.is_empty());
}

#[test]
fn the_end_waits_for_no_dump_and_makes_none_that_is_not_due() {
    let mut state = state(Some(5 * MS), Vec::new());
    state.hurry();
    assert_eq!(state.due(NS_PER_S), None, "no request was slow");
    slow(&mut state, 2 * NS_PER_S, 6 * MS);
    assert_eq!(state.due(2 * NS_PER_S), None);
    state.hurry();
    assert_eq!(state.due(2 * NS_PER_S).unwrap().kind, "over");
}

/// A thread for each connection.
#[test]
fn the_threads_of_all_stored_requests_have_names_and_others_leave() {
    let asked = Asked {
        last_ns: 60 * NS_PER_S,
        over_ns: None,
        tails: Vec::new(),
        pause_ns: 0,
        dumps_bytes: 1,
    };
    let mut state = State::new(asked, 7_000);
    for tid in 1..=40_000 {
        let slow = Slow { start_ns: NS_PER_S, total_ns: u64::from(tid), tid, ..Slow::default() };
        state.slow(slow, format!("worker-{tid}"), NS_PER_S, 0);
    }
    let stored = state.memory.slowest((0, u64::MAX), usize::MAX);
    assert!(stored.len() > 6_000 && state.names.len() < 15_000, "{}", state.names.len());
    for slow in &stored {
        assert_eq!(state.names[&(0, slow.tid)], format!("worker-{}", slow.tid));
    }
}
