//! Replies as they come, at any split: a head, then a body, and what both must be.

use std::sync::Arc;

use sojourn_base::Fault;

use super::body::{Body, Took};
use super::expected::Wanted;
use super::flaws::{self, Flaw};
use super::head::{self, HEAD_MAX, Head, Reading};
use super::statuses::Statuses;
use crate::job::Job;
use crate::protocols::Outcome;
use crate::protocols::sampled::{self, Numbers, Sampled};
use crate::protocols::status_counts::StatusCounts;
use crate::protocols::{Asked, Decoder, Reply, Step};

/// Room for the usual head, so that the loop allocates only for another.
const HEAD_USUAL: usize = 16 * 1024;

/// Statuses that are counted by name; behind them come [`Flaw`]s.
const STATUSES: usize = 1000;

/// No request came in time: the server ends a connection that idled. Source: RFC 9110, 15.5.9.
const TOO_LATE: u16 = 408;

/// Every word that a [`Reader`] may count.
pub(super) fn words() -> Vec<String> {
    (0..STATUSES).map(|status| format!("HTTP {status}")).chain(flaws::words()).collect()
}

/// What a reply must be.
#[derive(Clone)]
pub(in crate::protocols) struct Wish {
    pub(in crate::protocols) statuses: Arc<Statuses>,
    pub(in crate::protocols) bytes: u64,
    /// Whether replies have no body, whatever they say of its length.
    pub(in crate::protocols) is_head: bool,
    /// Where bodies go that are looked at after the run.
    pub(in crate::protocols) sampled: Option<Arc<Sampled>>,
    /// What the body of each item is; empty: not known.
    pub(in crate::protocols) bodies: Arc<[Wanted]>,
}

impl Wish {
    /// That of `job`; `bodies`: what its file says of each item.
    pub(in crate::protocols) fn of(job: &Job, bodies: Arc<[Wanted]>) -> Result<Self, Fault> {
        Ok(Self {
            statuses: Arc::new(Statuses::parse(&job.expect_status)?),
            bytes: job.expect_bytes,
            is_head: job.method == "HEAD",
            sampled: Sampled::of(job)?.map(Arc::new),
            bodies,
        })
    }

    /// Whether a body of `bytes` is as long as that of `item` must be.
    pub(in crate::protocols) fn has_length(&self, item: u32, bytes: u64) -> bool {
        let is_known = self.bodies.get(item as usize).is_none_or(|wanted| wanted.bytes == bytes);
        is_known && (self.bytes == 0 || self.bytes == bytes)
    }

    /// The digest that the body of `item` must have besides the job's; `None`: not known.
    pub(in crate::protocols) fn sha256_of(&self, item: u32) -> Option<[u8; 32]> {
        self.bodies.get(item as usize).map(|wanted| wanted.sha256)
    }
}

/// Reads the replies of one connection.
pub(super) struct Reader {
    wish: Wish,
    statuses: Arc<StatusCounts>,
    /// The head as far as it has come, unless it comes in one piece.
    head: Vec<u8>,
    state: Option<Reading>,
    /// The body of this reply, if it is one of the sample.
    retained: Option<sampled::Body>,
    numbers: Numbers,
    /// Of the reply before it.
    last_status: u16,
}

impl Decoder for Reader {
    fn read(&mut self, asked: Asked, bytes: &[u8]) -> Step {
        let mut used = 0;
        if self.state.is_none() {
            match self.read_head(bytes) {
                Head::Whole(taken, reading) => {
                    used = taken;
                    self.begin(reading);
                }
                Head::Informational(taken) => return Step::more(taken),
                Head::Part => return Step::more(bytes.len()),
                Head::Refused(flaw) => return self.refuse(bytes.len(), flaw),
            }
        }
        let Some(reading) = &mut self.state else { return Step::more(used) };
        match reading.body.read(&bytes[used..], self.retained.as_mut()) {
            Took::More(taken) => Step::more(used + taken),
            Took::All(taken) => self.end(asked, used + taken),
            Took::Garbled => self.refuse(bytes.len(), Flaw::Chunk),
        }
    }

    fn ended(&mut self, asked: Asked) -> Option<Reply> {
        if self.is_open_ended() { self.end(asked, 0).reply } else { None }
    }

    fn is_open_ended(&self) -> bool {
        self.state.as_ref().is_some_and(|it| it.body.ends_with_connection())
    }

    fn is_farewell(&self, bytes: &[u8]) -> bool {
        let version = bytes.strip_prefix(b"HTTP/1.");
        version.is_some_and(|rest| rest.get(1..5) == Some(b" 408"))
    }

    fn was_farewell(&self) -> bool {
        self.last_status == TOO_LATE
    }

    fn has_failed_by_farewell(&self) {
        self.statuses.add(TOO_LATE.into());
    }

    fn reset(&mut self) {
        self.head.clear();
        self.state = None;
        if let (Some(body), Some(sampled)) = (self.retained.take(), &self.wish.sampled) {
            sampled.give_back(body);
        }
    }
}

impl Reader {
    pub(super) fn new(wish: Wish, statuses: Arc<StatusCounts>) -> Self {
        let head = Vec::with_capacity(HEAD_USUAL);
        let (state, retained, numbers) = (None, None, Numbers::default());
        Self { wish, statuses, head, state, retained, numbers, last_status: 0 }
    }

    /// What came is no reply; all `used` bytes of it are of no use.
    #[cold]
    fn refuse(&self, used: usize, flaw: Flaw) -> Step {
        self.statuses.add(STATUSES + flaw as usize);
        Step::end(used, Outcome::Garbled, 0)
    }

    fn read_head(&mut self, bytes: &[u8]) -> Head {
        if self.head.is_empty() {
            let head = head::parse(bytes);
            if matches!(head, Head::Part) {
                self.head.extend_from_slice(&bytes[..bytes.len().min(HEAD_MAX)]);
                let is_long = bytes.len() > HEAD_MAX;
                return if is_long { Head::Refused(Flaw::LongHead) } else { Head::Part };
            }
            return head;
        }
        let retained = self.head.len();
        let room = bytes.len().min(HEAD_MAX - retained);
        self.head.extend_from_slice(&bytes[..room]);
        match head::parse(&self.head) {
            Head::Part if room < bytes.len() => Head::Refused(Flaw::LongHead),
            Head::Part => Head::Part,
            Head::Whole(taken, reading) => {
                self.head.clear();
                Head::Whole(taken - retained, reading)
            }
            Head::Informational(taken) => {
                self.head.clear();
                Head::Informational(taken - retained)
            }
            Head::Refused(flaw) => Head::Refused(flaw),
        }
    }

    /// The head was read: the body follows.
    fn begin(&mut self, mut reading: Reading) {
        if self.wish.is_head {
            reading.body = Body::of_length(0);
        }
        if let Some(sampled) = &self.wish.sampled {
            self.retained = sampled.begin(&mut self.numbers);
        }
        self.state = Some(reading);
    }

    fn end(&mut self, asked: Asked, used: usize) -> Step {
        let Some(reading) = self.state.take() else { return Step::more(used) };
        let bytes = reading.body.bytes();
        self.last_status = reading.status;
        let is_expected = self.wish.statuses.hold(reading.status);
        let is_end = reading.is_last || reading.body.ends_with_connection();
        // One that ends an idle connection is no failure unless its request goes nowhere else.
        if !(is_expected || is_end && self.was_farewell()) {
            self.statuses.add(reading.status.into());
        }
        let outcome = match reading.status {
            _ if is_expected && !self.wish.has_length(asked.item, bytes) => Outcome::Length,
            _ if is_expected => Outcome::Hit,
            404 | 410 => Outcome::Miss,
            _ => Outcome::Status,
        };
        if let (Some(body), Some(sampled)) = (self.retained.take(), &self.wish.sampled) {
            match outcome {
                Outcome::Hit => sampled.keep(body, self.wish.sha256_of(asked.item)),
                _ => sampled.give_back(body),
            }
        }
        let body_bytes = bytes.min(u64::from(u32::MAX)) as u32;
        let reply = Some(Reply { outcome, body_bytes, last: reading.is_last });
        Step { used, request: None, reply }
    }
}

#[cfg(test)]
mod tests {
    use crate::protocols::GET;
    use crate::protocols::tests::{asked, set_up};

    #[test]
    fn a_408_is_a_failure_by_name_where_its_request_is_not_sent_again() {
        let protocol = set_up("http://h", |_| ());
        let mut decoder = protocol.decoder();
        let mut read = |head: &str| {
            let reply = format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
            assert!(decoder.read(asked(GET, 0), reply.as_bytes()).reply.is_some());
            if decoder.was_farewell() {
                decoder.has_failed_by_farewell();
            }
        };
        let counts = || protocol.statuses().unwrap().counts().into_iter().collect::<Vec<_>>();
        read("503 Busy\r\nConnection: close");
        assert_eq!(counts(), [("HTTP 503".into(), 1)]);
        let mut other = protocol.decoder();
        let late = b"HTTP/1.1 408 Late\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert!(other.read(asked(GET, 0), late).reply.is_some() && other.was_farewell());
        assert_eq!(counts(), [("HTTP 503".into(), 1)], "its request may go elsewhere");
        read("408 Late\r\nConnection: close");
        assert_eq!(counts(), [("HTTP 408".into(), 1), ("HTTP 503".into(), 1)]);
    }
}
