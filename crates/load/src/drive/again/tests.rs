use super::*;
use crate::drive::deaf::Deaf;
use crate::job::shards::Shards;
use crate::plan::marks::{Marks, room_for_plan};

const MS: u64 = 1_000_000;

/// Whether `request`, sent at `sent_ns`, is to be sent again where its connection, which has served, ends at
/// `ended_ns`.
fn comes_back(again: &mut Again, request: u32, sent_ns: u64, ended_ns: u64) -> bool {
    let mut connections = Connections::new(1, 1, false, Shards::new(1, 1), || Box::new(Deaf));
    let mut reopener = Reopener::new(1, 1_000 * MS);
    let mut plan = PlanLanes::from(room_for_plan(REMEMBERED + 2));
    let mut marks = MarksLanes::from(Marks::for_requests(REMEMBERED + 2));
    plan.intended_ns[request as usize] = sent_ns;
    marks.sent_ns[request as usize] = sent_ns;
    connections.push(0, request);
    reopener.served(0, b"x");
    let before = again.waiting.len();
    again.give_back_unbegun(&mut connections, 0, ended_ns, (&reopener, &plan, &mut marks));
    assert_eq!(connections.in_flight(), 1 - (again.waiting.len() - before));
    again.waiting.len() > before
}

#[test]
fn a_request_whose_connection_ends_at_once_is_sent_again_and_one_that_was_under_way_is_not() {
    let mut again = Again::new(vec![0], 0);
    assert!(comes_back(&mut again, 1, 100 * MS, 101 * MS));
    assert!(comes_back(&mut again, 2, 100 * MS, 200 * MS), "as late as it may be");
    assert!(!comes_back(&mut again, 3, 100 * MS, 201 * MS));
    assert!(!comes_back(&mut again, 4, 100 * MS, 300 * MS), "a worker that died over it");
    let mut doze = Again::new(Vec::new(), 5 * MS);
    assert!(comes_back(&mut doze, 1, 100 * MS, 205 * MS), "the client looks so seldom");
    assert!(!comes_back(&mut doze, 2, 100 * MS, 206 * MS));
    let mut stopped = Again::new(vec![0], 0);
    stopped.note_gap(140 * MS, 30 * MS);
    assert!(comes_back(&mut stopped, 1, 100 * MS, 230 * MS), "the client did not run for 30 ms");
    assert!(!comes_back(&mut stopped, 2, 100 * MS, 231 * MS));
    assert!(!comes_back(&mut stopped, 3, 150 * MS, 251 * MS), "that was before it was sent");
}

/// Each of a busy machine's gaps is short, and together they are longer than a worker needs to die.
#[test]
fn gaps_before_a_request_was_sent_do_not_make_its_connections_end_a_crossing() {
    let mut again = Again::new(vec![0], 0);
    for nth in 1..=40 {
        again.note_gap(nth * 100 * MS, 20 * MS);
    }
    assert!(!comes_back(&mut again, 1, 4_001 * MS, 4_401 * MS), "800 ms before it was sent");
    assert!(!comes_back(&mut again, 2, 3_601 * MS, 4_001 * MS), "80 ms of 400 after it");
    assert!(comes_back(&mut again, 3, 3_821 * MS, 3_921 * MS + 40 * MS), "both gaps after it");
    assert!(!comes_back(&mut again, 4, 3_821 * MS, 3_921 * MS + 41 * MS));
    assert!(!comes_back(&mut again, 5, 3_890 * MS, 4_021 * MS), "of one gap only 10 ms");
    assert!(comes_back(&mut again, 6, 3_890 * MS, 4_020 * MS));
}

#[test]
fn gaps_that_are_forgotten_make_an_end_the_answer() {
    let mut again = Again::new(vec![0], 0);
    for nth in 1..=2 * GAPS as u64 {
        again.note_gap(nth * 4 * MS, 2 * MS);
    }
    let last_ns = 100 * MS + 2 * GAPS as u64 * MS; // of the last GAPS
    assert!(comes_back(&mut again, 1, 0, last_ns));
    assert!(!comes_back(&mut again, 2, 0, last_ns + 1));
}

#[test]
fn far_away_an_end_may_cross_a_request_for_longer() {
    let mut again = Again::new(vec![50 * MS], 0);
    assert!(comes_back(&mut again, 1, 100 * MS, 250 * MS));
    assert!(!comes_back(&mut again, 2, 100 * MS, 251 * MS));
}

#[test]
fn a_request_that_ends_one_connection_after_another_is_lost_and_another_in_its_place_is_not() {
    let mut again = Again::new(vec![0], 0);
    for _ in 0..ENDS_MAX {
        assert!(comes_back(&mut again, 7, 100 * MS, 101 * MS));
    }
    assert!(!comes_back(&mut again, 7, 100 * MS, 101 * MS), "it ends one connection after another");
    assert!(comes_back(&mut again, 7, 200 * MS, 201 * MS), "a later request in the same place");
    assert!(comes_back(&mut again, REMEMBERED as u32, 200 * MS, 201 * MS));
    assert!(comes_back(&mut again, 0, 200 * MS, 201 * MS), "its number is another");
}

#[test]
fn a_request_that_was_sent_again_for_another_reason_is_as_young_as_that() {
    let mut again = Again::new(vec![0], 0);
    again.past((5, 100 * MS)).sent_ns = 300 * MS;
    assert!(comes_back(&mut again, 5, 100 * MS, 301 * MS));
}
