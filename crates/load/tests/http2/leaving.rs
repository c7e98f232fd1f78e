//! Servers that go away (GOAWAY) while they owe replies: other connections take requests meanwhile.

use super::*;

/// How long the last reply on a connection is owed.
const OWED: Duration = Duration::from_millis(100);

/// A few requests on one connection, which has one spare.
fn alone(peer: &Peer, transport: &str) -> Judged {
    run(Job { rate: "100".into(), connections: 1, ..to(peer, transport) })
}

#[test]
fn while_a_connection_drains_requests_go_to_another_one_and_late_replies_count() {
    for transport in usable() {
        for manner in [Manner::Drains(20, OWED), Manner::Warns(20, OWED)] {
            let peer = Peer::start(manner);
            let got = alone(&peer, transport);
            let (hits, seen) = (count(&got, Outcome::Hit), &peer.seen);
            assert_eq!(hits, planned(&got), "{transport}, {manner:?}: {:?}", got.result.errors);
            let (drained, beside) = (seen.drained.load(SeqCst), seen.beside.load(SeqCst));
            assert!(drained > 0 && beside > 0, "{transport}, {manner:?}: {drained}, {beside}");
            let marks = &got.run.threads[0].marks;
            let times = marks.sent_ns.iter().zip(&marks.done_ns).map(|(sent, done)| done - sent);
            let late = times.filter(|&ns| ns >= OWED.as_nanos() as u64).count() as u64;
            assert!(late >= drained, "{transport}, {manner:?}: {late} of {drained}");
            assert!(marks.connection.iter().all(|&it| it == 0), "{transport}: it has one number");
            assert_eq!(got.result.checks.broken_connections, 0, "{transport}, {manner:?}");
        }
    }
}

#[test]
fn where_each_connection_takes_one_request_all_are_answered() {
    for transport in usable() {
        for length in [Duration::ZERO, OWED / 10] {
            let peer = Peer::start(Manner::Drains(1, length));
            let got = alone(&peer, transport);
            let (hits, checks) = (count(&got, Outcome::Hit), &got.result.checks);
            assert_eq!(hits, planned(&got), "{transport}, {length:?}: {:?}", got.result.errors);
            assert!(checks.reconnects + 1 >= hits, "{transport}, {length:?}: {checks:?}");
        }
    }
}

#[test]
fn a_server_that_ends_a_connection_right_behind_its_word_costs_a_few_requests_at_most() {
    for transport in usable() {
        let peer = Peer::start(Manner::Leaves(20));
        let got = alone(&peer, transport);
        let (hits, closed) = (count(&got, Outcome::Hit), count(&got, Outcome::Closed));
        assert_eq!(hits + closed, planned(&got), "{transport}: {:?}", got.result.errors);
        assert!(closed * 4 < hits, "{transport}: {closed} closed, {hits} hits");
        assert!(got.result.checks.broken_connections > 0, "{transport}");
    }
}
