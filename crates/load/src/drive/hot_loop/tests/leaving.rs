//! A server of HTTP/2 that goes away while it owes replies, played by hand: what goes where meanwhile.

use std::cell::RefCell;

use super::*;
use crate::protocols::Outcome;

const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
/// The flags of headers that are the whole reply.
const WHOLE: u8 = 0x5;
/// `:status: 200`, by its place in the table.
const OK: &[u8] = &[0x88];
/// The last stream, as a server names it that goes away later.
const SOON: u32 = 0x7fff_ffff;

/// What the server says next, and what the client did.
struct Wire {
    /// By connection; `None`: its end.
    coming: Vec<(u32, Option<Vec<u8>>)>,
    /// Connections that requests went to, that were tried to open, and that were dropped.
    asked: Vec<u32>,
    tried: Vec<u32>,
    dropped: Vec<u32>,
    /// What becomes of an attempt.
    attempt: Reopen,
}

struct Played(Rc<RefCell<Wire>>);

impl Transport for Played {
    fn send(&mut self, connection: u32, bytes: &[u8]) {
        if bytes.get(3) == Some(&HEADERS) {
            self.0.borrow_mut().asked.push(connection);
        }
    }

    fn poll(&mut self, _: Patience, on: &mut dyn FnMut(Event<'_>)) {
        let coming = std::mem::take(&mut self.0.borrow_mut().coming);
        for (connection, bytes) in &coming {
            match bytes {
                Some(bytes) => on(Event::Bytes(*connection, bytes)),
                None => on(Event::Closed(*connection)),
            }
        }
    }

    fn close(&mut self, connection: u32) {
        self.0.borrow_mut().dropped.push(connection);
    }

    fn reopen(&mut self, connection: u32) -> Reopen {
        let mut wire = self.0.borrow_mut();
        wire.tried.push(connection);
        wire.attempt
    }

    fn syscalls(&self) -> u64 {
        0
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn goes_away(last: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
}

/// A client on one connection, on which the server has sent its settings.
struct Play {
    drive: Drive,
    wire: Rc<RefCell<Wire>>,
}

impl Play {
    fn new(method: &str) -> Self {
        Self::with(method, true)
    }

    fn with(method: &str, has_spares: bool) -> Self {
        let (coming, attempt) = (Vec::new(), Reopen::Open);
        let (asked, tried, dropped) = (Vec::new(), Vec::new(), Vec::new());
        let wire = Rc::new(RefCell::new(Wire { coming, asked, tried, dropped, attempt }));
        let transport = Box::new(Played(Rc::clone(&wire)));
        let job = Job { target: "h2c://h/".into(), method: method.into(), ..Job::default() };
        let setup = Setup { connections: 1, has_spares, ..setup(&job, transport, 8) };
        let mut this = Self { drive: Drive::new(setup), wire };
        this.settings(0);
        this
    }

    /// Sends the next request; the connection that it takes, if one has room.
    fn ask(&mut self) -> Option<u32> {
        let now_ns = self.drive.now();
        let (place, connection) = self.drive.take_due(now_ns)?;
        self.drive.send(place, connection);
        Some(connection)
    }

    fn hear(&mut self, coming: Vec<(u32, Option<Vec<u8>>)>) {
        self.wire.borrow_mut().coming = coming;
        let now_ns = self.drive.now();
        self.drive.poll_and_mark(now_ns, Patience::NONE);
    }

    fn settings(&mut self, connection: u32) {
        self.hear(vec![(connection, Some(frame(SETTINGS, 0, 0, &[])))]);
    }

    fn goaway(&mut self, connection: u32, last: u32) {
        self.hear(vec![(connection, Some(goes_away(last)))]);
    }

    fn reply(&mut self, connection: u32, stream: u32) {
        self.hear(vec![(connection, Some(frame(HEADERS, WHOLE, stream, OK)))]);
    }

    fn attempts_come_to(&self, attempt: Reopen) {
        self.wire.borrow_mut().attempt = attempt;
    }

    fn tried(&self) -> Vec<u32> {
        self.wire.borrow().tried.clone()
    }

    fn dropped(&self) -> Vec<u32> {
        self.wire.borrow().dropped.clone()
    }

    /// How the first so many requests ended.
    fn outcomes(&self, count: usize) -> Vec<Outcome> {
        (0..count).map(|request| self.drive.marks.outcome[request]).collect()
    }
}

#[test]
fn while_a_connection_owes_replies_its_spare_takes_requests_and_all_replies_count() {
    let mut play = Play::new("GET");
    assert_eq!((play.ask(), play.ask()), (Some(0), Some(0)));
    play.goaway(0, 3);
    assert_eq!(play.tried(), [1], "at once");
    assert_eq!(play.ask(), None, "the server has not spoken on it");
    play.settings(1);
    assert_eq!(play.ask(), Some(1));
    play.reply(1, 1);
    play.reply(0, 3);
    assert_eq!(play.outcomes(3), [Outcome::Pending, Outcome::Hit, Outcome::Hit]);
    assert!(play.dropped().is_empty(), "it still owes a reply");
    play.reply(0, 1);
    assert_eq!(play.outcomes(3), [Outcome::Hit; 3]);
    let marks = &play.drive.marks;
    assert!((0..3).all(|request| marks.sent_ns[request] <= marks.done_ns[request]));
    assert!((0..3).all(|request| marks.connection[request] == 0), "both have one number");
    assert_eq!((play.dropped(), play.tried()), (vec![0], vec![1]), "and it is not opened again");
    assert_eq!((play.drive.reopener.reconnects(), play.drive.reopener.broke()), (1, 0));
    assert!(!play.drive.reopener.has_work());
    // And the other way round.
    assert_eq!(play.ask(), Some(1));
    play.goaway(1, 3);
    play.settings(0);
    assert_eq!((play.tried(), play.ask()), (vec![1, 0], Some(0)));
}

#[test]
fn where_its_spare_is_refused_a_connection_is_opened_again_at_its_end() {
    let mut play = Play::new("GET");
    assert_eq!((play.ask(), play.ask()), (Some(0), Some(0)));
    play.attempts_come_to(Reopen::Refused);
    play.goaway(0, 3);
    play.reply(0, 1);
    assert_eq!(play.tried(), [1], "once");
    assert_eq!(play.ask(), None);
    play.attempts_come_to(Reopen::Open);
    play.reply(0, 3);
    assert_eq!((play.dropped(), play.tried()), (vec![0], vec![1, 0]));
    play.settings(0);
    assert_eq!(play.ask(), Some(0));
    assert_eq!(play.outcomes(2), [Outcome::Hit; 2]);
    assert_eq!(play.drive.reopener.reconnects(), 1);
}

#[test]
fn a_spare_that_is_being_opened_when_its_connection_ends_serves_in_its_stead() {
    let mut play = Play::new("GET");
    assert_eq!(play.ask(), Some(0));
    play.attempts_come_to(Reopen::Pending);
    play.goaway(0, 1);
    play.reply(0, 1);
    assert_eq!((play.dropped(), play.ask()), (vec![0], None));
    play.attempts_come_to(Reopen::Open);
    while play.drive.reopener.has_work() {
        play.hear(Vec::new());
    }
    play.settings(1);
    assert_eq!(play.ask(), Some(1));
    assert!(play.tried().iter().all(|&it| it == 1), "{:?}", play.tried());
}

#[test]
fn where_each_connection_takes_one_request_two_are_open_and_no_more() {
    let mut play = Play::new("GET");
    assert_eq!(play.ask(), Some(0));
    play.goaway(0, 1);
    play.settings(1);
    assert_eq!(play.ask(), Some(1));
    play.goaway(1, 1);
    assert_eq!((play.tried(), play.ask()), (vec![1], None), "both owe a reply");
    play.reply(0, 1);
    assert_eq!((play.dropped(), play.tried()), (vec![0], vec![1, 0]), "one of them is done");
    play.settings(0);
    assert_eq!(play.ask(), Some(0));
    play.reply(1, 1);
    play.reply(0, 1);
    assert_eq!((play.dropped(), play.tried()), (vec![0, 1], vec![1, 0]));
    assert_eq!(play.outcomes(3), [Outcome::Hit; 3]);
}

/// As Go and Envoy do: first that it will, then behind which request.
#[test]
fn a_server_that_goes_away_twice_is_left_once_and_what_it_returns_is_sent_again() {
    let mut play = Play::new("GET");
    assert_eq!((play.ask(), play.ask()), (Some(0), Some(0)));
    play.goaway(0, SOON);
    play.settings(1);
    play.goaway(0, 1);
    assert!(play.drive.send_again() && !play.drive.send_again(), "one of two");
    assert_eq!(play.wire.borrow().asked, [0, 0, 1]);
    play.reply(0, 1);
    play.reply(1, 1);
    assert_eq!((play.dropped(), play.tried()), (vec![0], vec![1]));
    assert_eq!(play.outcomes(2), [Outcome::Hit; 2]);
    assert_eq!(play.drive.again.sent, 1);
}

/// A method that may not be sent again, so that what is in flight is lost for certain.
#[test]
fn a_server_that_goes_away_and_ends_the_connection_is_asked_on_the_spare_alone() {
    let mut play = Play::new("POST");
    assert_eq!(play.ask(), Some(0));
    play.hear(vec![(0, Some(goes_away(1))), (0, None)]);
    assert_eq!((play.tried(), play.drive.reopener.broke()), (vec![1], 1));
    assert_eq!(play.outcomes(1), [Outcome::Closed]);
    play.settings(1);
    assert_eq!(play.ask(), Some(1));
}

#[test]
fn without_a_spare_requests_wait_and_each_connection_that_drains_is_counted_once() {
    let mut play = Play::with("GET", false);
    assert_eq!((play.ask(), play.ask()), (Some(0), Some(0)));
    play.goaway(0, SOON);
    play.goaway(0, 3);
    play.reply(0, 1);
    assert!(play.tried().is_empty() && play.ask().is_none(), "it still owes a reply");
    play.reply(0, 3);
    assert_eq!((play.dropped(), play.tried()), (vec![0], vec![0]));
    play.settings(0);
    assert_eq!(play.ask(), Some(0));
    assert_eq!(play.drive.finish().unrelieved, 1);
    let mut relieved = Play::new("GET");
    assert_eq!(relieved.ask(), Some(0));
    relieved.goaway(0, 1);
    assert_eq!(relieved.drive.finish().unrelieved, 0, "its spare serves");
}
