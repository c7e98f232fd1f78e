use super::*;
use crate::drive::deaf::Deaf;

fn connections(count: u32, depth: u32) -> Connections {
    Connections::new(count, depth, false, Shards::new(1, 1), || Box::new(Deaf))
}

#[test]
fn requests_go_round_over_free_connections() {
    let mut all = connections(3, 1);
    for request in 0..3 {
        let connection = all.pick(0).unwrap();
        assert_eq!(connection, request);
        all.push(connection, request);
    }
    assert_eq!(all.pick(0), None);
    assert_eq!(all.pop(1, 10), Some(1));
    assert_eq!(all.pop(0, 11), Some(0));
    assert_eq!(all.room_since_ns(0), 10);
    assert_eq!(all.pick(0), Some(1), "the one that has been free for longest");
}

#[test]
fn an_idle_connection_comes_before_a_busy_one() {
    let mut all = connections(2, 4);
    all.push(0, 7);
    all.push(0, 8);
    assert_eq!(all.pick(0), Some(1));
    all.push(1, 9);
    assert_eq!(all.pick(0), Some(1), "one in flight there, two on the other");
    assert_eq!((all.pop(0, 0), all.pop(0, 0)), (Some(7), Some(8)), "in the order sent");
    assert_eq!(all.pick(0), Some(0));
}

#[test]
fn a_closed_connection_is_never_picked_and_keeps_its_requests() {
    let mut all = connections(2, 2);
    all.push(0, 5);
    assert!(all.closed(0));
    assert!(!all.closed(0), "only once");
    assert_eq!(all.pick(0), Some(1));
    assert!(all.closed(1));
    assert_eq!(all.pick(0), None);
    assert_eq!(all.pop(0, 0), Some(5));
    assert_eq!(all.pick(0), None);
    all.opened(0, 42);
    assert_eq!((all.pick(0), all.room_since_ns(0)), (Some(0), 42));
}

#[test]
fn a_server_whose_connections_are_busy_takes_none_of_anothers() {
    let mut all = Connections::new(4, 1, false, Shards::new(2, 100), || Box::new(Deaf));
    assert_eq!((all.pick(0), all.pick(1)), (Some(0), Some(1)), "in turn");
    all.push(0, 1);
    all.push(2, 2);
    assert_eq!((all.pick(0), all.pick(1)), (None, Some(1)));
    assert_eq!(
        (all.pick_any(), all.pick_any()),
        (Some(1), Some(1)),
        "the other one's turn is lost"
    );
    all.pop(2, 30);
    assert_eq!((all.pick(0), all.room_since_ns(2), all.room_since_ns(1)), (Some(2), 30, 0));
}

#[test]
fn random_use_keeps_every_request_once_and_in_order() {
    use sojourn_base::rng::{RngExt, stream};
    let mut rng = stream(5, "connections", 0);
    let mut all = connections(5, 3);
    let mut shadow: Vec<std::collections::VecDeque<u32>> =
        vec![std::collections::VecDeque::new(); 5];
    for request in 0..20_000 {
        if let Some(connection) = all.pick(0) {
            let fewest = shadow.iter().map(std::collections::VecDeque::len).min().unwrap();
            assert_eq!(shadow[connection as usize].len(), fewest);
            all.push(connection, request);
            shadow[connection as usize].push_back(request);
        } else {
            assert!(shadow.iter().all(|it| it.len() == 3));
        }
        while rng.random::<f64>() < 0.5 {
            let connection = rng.random_range(0..5_u32);
            let popped = all.pop(connection, u64::from(request));
            assert_eq!(popped, shadow[connection as usize].pop_front());
        }
        assert_eq!(
            all.in_flight(),
            shadow.iter().map(std::collections::VecDeque::len).sum::<usize>()
        );
    }
}

const MS: u64 = 1_000_000;

/// Uses connections 0 to 2 once each, 0 last.
fn used() -> Connections {
    let mut all = connections(3, 1);
    all.heed_idle_ends();
    for connection in 0..3 {
        all.push(connection, connection);
    }
    for (connection, at_ms) in [(2, 10), (1, 20), (0, 30)] {
        all.pop(connection, at_ms * MS);
    }
    all
}

#[test]
fn once_an_idle_connection_is_ended_the_one_used_last_comes_first() {
    let mut all = used();
    assert_eq!((all.pick(0), all.newest_first_ns()), (Some(2), None), "in turn");
    all.heed_idle_end(2, 100 * MS);
    all.heed_idle_end(1, 200 * MS);
    assert_eq!(all.newest_first_ns(), Some(100 * MS), "the first one");
    assert_eq!(all.pick(0), Some(0));
    all.push(0, 7);
    assert_eq!(all.pick(0), Some(1));
    all.closed(2);
    all.opened(2, 300 * MS);
    assert_eq!(all.pick(0), Some(1), "one that was just opened comes last");
    all.push(1, 8);
    assert_eq!(all.pick(0), Some(2));
    all.push(2, 9);
    all.pop(2, 310 * MS);
    all.pop(0, 320 * MS);
    assert_eq!(all.pick(0), Some(0));
}

#[test]
fn an_end_of_what_is_not_idle_or_may_be_repeated_changes_no_order() {
    let mut repeats = connections(2, 1);
    repeats.heed_idle_end(0, 900 * MS);
    assert_eq!(repeats.newest_first_ns(), None);
    let mut all = used();
    all.heed_idle_end(0, 79 * MS); // a reply ended at 30 ms
    all.push(1, 5);
    all.heed_idle_end(1, 500 * MS);
    all.closed(2);
    all.heed_idle_end(2, 500 * MS);
    assert_eq!(all.newest_first_ns(), None);
    all.heed_idle_end(0, 81 * MS);
    assert_eq!(all.newest_first_ns(), Some(81 * MS));
}

#[test]
fn a_request_that_is_sent_again_takes_the_connection_that_was_used_or_opened_last() {
    let mut all = used();
    assert_eq!((all.pick(0), all.pick_last(0)), (Some(2), Some(0)));
    all.closed(1);
    all.opened(1, 40 * MS);
    assert_eq!((all.pick(0), all.pick_last(0)), (Some(2), Some(1)));
    (0..3).for_each(|connection| all.push(connection, 7));
    assert_eq!(all.pick_last(0), None);
}

#[test]
fn a_spare_is_closed_at_first_leads_where_its_connection_does_and_has_its_number() {
    let mut all = Connections::new(4, 1, false, Shards::new(2, 100), || Box::new(Deaf));
    all.set_aside(3);
    all.add_spares(|| Box::new(Deaf));
    assert_eq!((all.pick(0), all.pick(1)), (Some(0), Some(1)));
    all.closed(1);
    assert_eq!(all.pick(1), None, "3 is set aside");
    assert_eq!((all.with_room(1), all.with_room(3)), (None, Some(3)));
    all.closed(3);
    (5..8).for_each(|spare| all.opened(spare, 10));
    assert_eq!((all.pick(1), all.with_room(1), all.with_room(3)), (Some(5), Some(5), Some(7)));
    all.push(5, 8);
    assert_eq!((all.pick(1), all.with_room(1)), (None, None));
    assert_eq!(all.pop(5, 11), Some(8));
    let numbers: Vec<u32> = (0..8).map(|connection| all.number(connection)).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 0, 1, 2, 3]);
}
