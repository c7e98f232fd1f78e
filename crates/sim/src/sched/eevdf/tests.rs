use super::*;

/// Tasks 0 and 1 awake, 2 asleep with a lag of 60.
fn three(weights: [u64; 3]) -> Eevdf {
    let entity = |(k, weight)| Entity {
        virtual_time: [1000, 1300, 0][k],
        deadline: 0,
        lag: [0, 0, 60][k],
        weight,
        is_spent: false,
    };
    Eevdf {
        knobs: Knobs {
            latency_ns: 0,
            min_granularity_ns: 0,
            wakeup_granularity_ns: 0,
            tick_ns: 1,
            grace_ns: 0,
            slice_ns: 3000,
        },
        entities: weights.into_iter().enumerate().map(entity).collect(),
        queued: vec![0],
        current: Some(1),
        last_average: 7,
    }
}

#[test]
fn the_average_is_weighed_and_of_those_awake() {
    assert_eq!(three([1024, 1024, 9]).average(), 1150);
    assert_eq!(three([1024, 2048, 9]).average(), 1200);
    let alone = Eevdf { queued: vec![], current: None, ..three([1, 1, 1]) };
    assert_eq!(alone.average(), 7, "where it stood when the last one slept");
}

/// Stoica and Abdel-Wahab, equation 18 ff.: whoever joins moves V, and has its own lag after that.
#[test]
fn a_task_that_wakes_has_the_lag_that_it_slept_with() {
    for weights in [[1024, 1024, 1024], [1024, 2048, 512], [512, 512, 4096]] {
        let mut tasks = three(weights);
        tasks.wake(2, 0);
        let lag = tasks.average() - tasks.entities[2].virtual_time;
        assert!((59..=61).contains(&lag), "{weights:?}: {lag}");
    }
}

/// Of 0 and 1 awake, V = 1150; the runner 1 is at 1300 and had more than its share.
#[test]
fn whoever_wakes_behind_a_runner_beyond_its_share_takes_the_cpu() {
    let woken = |lag: i64, deadline_of_runner: i64, is_spent| {
        let mut tasks = three([1024; 3]);
        tasks.entities[0].deadline = 9000;
        (tasks.entities[1].deadline, tasks.entities[1].is_spent) = (deadline_of_runner, is_spent);
        tasks.entities[2].lag = lag;
        tasks.wake(2, 0);
        tasks.preempts(2, 1, 0)
    };
    assert!(woken(60, 2000, false), "not eligible any more");
    assert!(!woken(-60, 2000, false), "it owes itself");
    let eligible = |deadline_of_runner: i64, is_spent| {
        let mut tasks = three([1024; 3]);
        (tasks.entities[0].virtual_time, tasks.entities[0].deadline) = (2000, 9000);
        (tasks.entities[1].deadline, tasks.entities[1].is_spent) = (deadline_of_runner, is_spent);
        tasks.wake(2, 0);
        assert!(tasks.entities[1].virtual_time <= tasks.average());
        (tasks.preempts(2, 1, 0), tasks.entities[2].deadline)
    };
    let (_, deadline) = eligible(0, false);
    assert!(!eligible(9999, false).0, "protected until its slice is used");
    assert!(eligible(deadline + 1, true).0, "the earlier deadline");
    assert!(!eligible(deadline, true).0 && !eligible(deadline - 1, true).0);
}

/// Two slices or a tick at most, in the task's own virtual time.
#[test]
fn lag_is_kept_within_bounds() {
    let lag = |weight, slice_ns, tick_ns, ahead: i64| {
        let mut tasks = three([1_000_000_000, weight, 1]);
        (tasks.knobs.slice_ns, tasks.knobs.tick_ns) = (slice_ns, tick_ns);
        tasks.entities[1].virtual_time = 1000 + ahead;
        tasks.block(1, 0);
        (tasks.entities[1].lag, tasks.current, tasks.average())
    };
    assert_eq!(lag(1024, 3000, 1, 100), (-100, None, 1000), "the other one weighs all");
    assert_eq!((lag(1024, 3000, 1, 50_000).0, lag(1024, 3000, 1, -50_000).0), (-6000, 5999 + 1));
    assert_eq!((lag(2048, 3000, 1, 50_000).0, lag(1024, 3000, 9000, 50_000).0), (-3000, -9000));
}

#[test]
fn the_last_one_to_sleep_leaves_the_average_where_it_was() {
    let mut tasks = Eevdf { queued: vec![], ..three([1024; 3]) };
    tasks.block(1, 0);
    assert_eq!((tasks.last_average, tasks.average()), (1300, 1300));
    tasks.wake(2, 0);
    assert_eq!(tasks.entities[2].virtual_time, 1300, "nobody is there to owe it anything");
    assert_eq!(tasks.entities[2].deadline, 4300);
    let mut tasks = three([1024; 3]);
    tasks.block(1, 0);
    assert_eq!((tasks.last_average, tasks.average()), (1000, 1000), "of those left");
}

/// Ticks of 4: a slice that ends at 4 is seen there, one that ends at 5 at 8; a spent one at the next.
#[test]
fn the_end_of_a_slice_is_seen_at_the_tick_that_follows() {
    let look = |left: i64, weight, is_spent, now| {
        let mut tasks = three([1024, weight, 1]);
        tasks.knobs.tick_ns = 4;
        tasks.entities[1].deadline = tasks.entities[1].virtual_time + left;
        tasks.entities[1].is_spent = is_spent;
        tasks.look_again(Some(1), now)
    };
    assert_eq!((look(3, 1024, false, 1), look(4, 1024, false, 1)), (Some(4), Some(8)));
    assert_eq!((look(3, 2048, false, 1), look(3, 1024, false, 0)), (Some(8), Some(4)));
    assert_eq!((look(9, 1024, true, 3), look(9, 1024, true, 4)), (Some(4), Some(8)));
}

#[test]
fn a_slice_is_spent_at_its_deadline() {
    let spent = |ran_ns| {
        let mut tasks = three([1024, 2048, 1]);
        tasks.entities[1].deadline = 1400;
        tasks.charge(1, ran_ns, 0);
        let entity = tasks.entities[1];
        (entity.virtual_time, entity.is_spent, entity.deadline, tasks.must_yield(1, 0))
    };
    assert_eq!(spent(199), (1399, false, 1400, false));
    assert_eq!(spent(200), (1400, true, 1400 + 1500, true));
}
