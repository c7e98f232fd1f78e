use super::*;
use crate::drive::deaf::Deaf;
use crate::job::shards::Shards;
use crate::transports::{Event, Patience};

const MS: u64 = 1_000_000;

/// Opens connections from a time on, and counts how often it is asked.
struct Slow {
    open_from_ns: u64,
    now_ns: u64,
    asked: u64,
}

impl Transport for Slow {
    fn send(&mut self, _: u32, _: &[u8]) {}

    fn poll(&mut self, _: Patience, _: &mut dyn FnMut(Event<'_>)) {}

    fn close(&mut self, _: u32) {}

    fn reopen(&mut self, _: u32) -> Reopen {
        self.asked += 1;
        if self.now_ns >= self.open_from_ns { Reopen::Open } else { Reopen::Pending }
    }

    fn syscalls(&self) -> u64 {
        0
    }
}

/// Four connections, of which the first `down` have ended after 1 ms, and are opened again after `takes_ns`.
struct World {
    reopener: Reopener,
    connections: Connections,
    transport: Slow,
}

impl World {
    fn new(down: u32, takes_ns: u64) -> Self {
        let mut reopener = Reopener::new(4, 10_000 * MS);
        let mut connections = Connections::new(4, 1, false, Shards::new(1, 1), || Box::new(Deaf));
        for connection in 0..down {
            connections.closed(connection);
            reopener.closed(connection, MS, true);
        }
        let transport = Slow { open_from_ns: MS + takes_ns, now_ns: MS, asked: 0 };
        Self { reopener, connections, transport }
    }

    /// The same, each with a spare.
    fn with_spares(mut self) -> Self {
        self.reopener.add_spares();
        self.connections.add_spares(|| Box::new(Deaf));
        self
    }

    /// The server ends `connection`.
    fn end(&mut self, connection: u32, now_ns: u64, agreed: bool) {
        self.reopener.judge(&self.connections, connection, &[], now_ns);
        self.connections.closed(connection);
        self.reopener.closed(connection, now_ns, agreed);
    }

    fn tend(&mut self, now_ns: u64, is_woken: bool) {
        self.transport.now_ns = now_ns;
        self.reopener.tend(&mut self.transport, &mut self.connections, now_ns, is_woken);
    }
}

#[test]
fn a_connection_far_away_is_looked_at_seldom_and_seen_late_by_a_small_part_of_what_it_takes() {
    for takes_ns in [MS / 10, 30 * MS, 1_000 * MS] {
        let mut world = World::new(1, takes_ns);
        let mut now_ns = MS;
        world.tend(now_ns, false);
        while world.reopener.has_work() {
            now_ns += world.reopener.due_ns(now_ns).max(1);
            world.tend(now_ns, false);
        }
        let late_ns = now_ns - world.transport.open_from_ns;
        assert!(late_ns <= (takes_ns / 16).max(50_000), "{takes_ns} ns: {late_ns} ns late");
        assert!(world.transport.asked < 500, "{takes_ns} ns: {}", world.transport.asked);
        assert!(world.connections.has_room(0));
    }
}

#[test]
fn one_that_is_being_opened_is_looked_at_when_a_wait_ends_without_an_event() {
    let mut world = World::new(1, MS / 100);
    world.tend(MS, false);
    let now_ns = world.transport.open_from_ns;
    assert!(world.reopener.due_ns(now_ns) > 0);
    world.tend(now_ns, false);
    assert!(world.reopener.has_work(), "it is not due");
    world.tend(now_ns, true);
    assert!(!world.reopener.has_work() && world.connections.has_room(0));
}

#[test]
fn all_that_are_down_are_opened_again_and_no_others_are_looked_at() {
    let mut world = World::new(3, 0);
    assert_eq!((world.reopener.due_ns(0), world.reopener.due_ns(2 * MS)), (MS, 0));
    world.tend(MS, false);
    assert_eq!((world.transport.asked, world.reopener.reconnects()), (3, 3));
    assert_eq!((world.reopener.has_work(), world.reopener.due_ns(MS)), (false, u64::MAX));
    world.connections.closed(1);
    world.reopener.closed(1, 5 * MS, true);
    world.tend(5 * MS, false);
    assert_eq!((world.transport.asked, world.reopener.reconnects()), (4, 4));
}

#[test]
fn while_connections_owe_replies_the_run_goes_on_though_no_spare_can_be_opened() {
    let mut world = World::new(0, 100_000 * MS).with_spares();
    (0..4).for_each(|connection| world.reopener.relieve(connection, MS));
    world.tend(MS, false);
    assert_eq!(world.transport.asked, 4);
    let end_ns = 3 * HOPELESS_NS;
    assert!(!world.reopener.is_hopeless(end_ns));
    (0..4).for_each(|connection| world.end(connection, end_ns, true));
    assert!(!world.reopener.is_hopeless(end_ns + HOPELESS_NS));
    assert!(world.reopener.is_hopeless(end_ns + HOPELESS_NS + 1));
}

#[test]
fn a_spare_that_is_closed_at_once_rests_and_its_connection_is_opened_again_at_its_end() {
    let mut world = World::new(0, 0).with_spares();
    world.reopener.relieve(1, MS);
    world.tend(MS, false);
    assert!(world.connections.has_room(5));
    world.end(5, 2 * MS, false);
    world.tend(1_000 * MS, false);
    assert_eq!((world.transport.asked, world.reopener.broke()), (1, 1), "it is not tried again");
    assert_eq!(world.reopener.refused(&world.connections), (0, 0), "a spare alone was");
    world.end(1, 1_001 * MS, true);
    world.tend(1_001 * MS, false);
    assert_eq!((world.transport.asked, world.reopener.reconnects()), (2, 2));
    assert!(world.connections.has_room(1));
}

#[test]
fn a_connection_and_its_spare_are_refused_as_one() {
    let mut world = World::new(0, 0).with_spares();
    world.connections.hit(2);
    world.reopener.relieve(2, MS);
    world.tend(MS, false);
    world.end(2, 2 * MS, true);
    assert_eq!(world.reopener.refused(&world.connections), (0, 0));
    world.end(6, 3 * MS, false);
    assert_eq!(world.reopener.refused(&world.connections), (1, 0), "it has not answered since");
    world.tend(10 * MS, false);
    assert!(world.connections.has_room(6) && !world.connections.has_room(2));
    world.connections.hit(6);
    assert_eq!(world.reopener.refused(&world.connections), (0, 0));
}

/// Servers answer a wrong request with `Connection: close` and close at once: one poll reports both.
#[test]
fn a_connection_that_ends_as_its_reply_announced_was_not_refused() {
    let mut world = World::new(0, 0);
    world.reopener.drop_after_poll(1, b"HTTP/1.1 404 Not Found", 2 * MS, After::Agreed);
    world.reopener.judge(&world.connections, 1, &[], 2 * MS);
    assert_eq!(world.reopener.refused(&world.connections), (0, 0));
    world.end(2, 2 * MS, false);
    assert_eq!(world.reopener.refused(&world.connections), (1, 0), "this one says nothing");
}

#[test]
fn a_connection_on_which_nothing_ever_came_was_left_alone_once_it_was_asked_early() {
    let mut world = World::new(0, 0);
    world.reopener.served(0, b"x");
    world.reopener.replace(0, MS, 20 * MS);
    world.reopener.replace(1, MS, 20 * MS);
    world.reopener.replace(2, 60 * MS, 80 * MS);
    world.tend(100 * MS, false);
    world.reopener.replace(1, 90 * MS, 110 * MS);
    let unserved = |world: &World| world.reopener.unserved(&world.connections, 50 * MS, |_| 0);
    assert_eq!(unserved(&world), 1, "0 was served, 2 was asked late, 3 was not asked");
    world.reopener.drop_after_poll(1, b"HTTP/1.1 404 Not Found", 120 * MS, After::Agreed);
    assert_eq!(unserved(&world), 0);
}
