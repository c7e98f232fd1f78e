//! Calls to another service: a request waits, after its own service time, for the reply to one call.
//!
//! Each client's connection has one connection to the other service. Calls leave in the order of requests, and
//! replies come in that order. No worker waits for them: the next request is in service meanwhile. A call that
//! fails, or is later than its deadline, ends the client's connection, because its reply cannot be given.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde::Serialize;
use sojourn_base::{Fault, units};

use crate::poller::{Poller, Ready};

mod link;

use link::Link;

/// In tokens of connections to the other service; the rest is the client's place.
pub const TOKEN: u64 = 1 << 62;

/// How long one of several addresses may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(1);

/// Whom to call, and how long a reply may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// A service of the memcache protocol.
    pub address: SocketAddr,
    /// Longest time until the reply, ns.
    pub timeout_ns: u64,
}

impl Target {
    /// Reads `HOST:PORT` and a time; empty: no calls.
    ///
    /// # Errors
    /// It is no address, or no time.
    pub fn read(text: &str, timeout: &str) -> Result<Option<Self>, Fault> {
        if text.is_empty() {
            return Ok(None);
        }
        let timeout_ns = units::parse_ns(timeout).map_err(|fault| fault.within("call-timeout"))?;
        if timeout_ns == 0 {
            let what = "no reply comes within 0 s";
            return Err(Fault::usage(what, "call-timeout", "write a time such as 1s"));
        }
        let every: Vec<_> = text.to_socket_addrs().into_iter().flatten().collect();
        let address = answering(&every).ok_or_else(|| {
            let fix = "write HOST:PORT, such as 127.0.0.1:7778";
            Fault::usage(format!("'{text}' is no address of a service"), "call", fix)
        })?;
        Ok(Some(Self { address, timeout_ns }))
    }
}

/// The first of a name's addresses at which somebody listens, such as IPv4 of localhost behind IPv6; the
/// first of all where there is one alone, or none answers yet.
fn answering(every: &[SocketAddr]) -> Option<SocketAddr> {
    let listens = |to: &&SocketAddr| TcpStream::connect_timeout(to, CONNECT).is_ok();
    let some = if every.len() > 1 { every.iter().find(listens) } else { None };
    some.or(every.first()).copied()
}

/// What became of calls: how many were answered, late or failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that were answered in time.
    pub answered: u64,
    /// Connections that ended because a reply was late.
    pub late: u64,
    /// Connections that ended because the other service was gone, or answered with something else.
    pub failed: u64,
}

/// A reply has to be there by then.
#[derive(Clone, Copy, Debug)]
struct Due {
    at_ns: u64,
    slot: usize,
    link: u64,
    nth: u64,
}

/// The connections to the other service, by place of the client.
#[derive(Debug, Default)]
pub struct Calls {
    target: Option<Target>,
    links: Vec<Option<Link>>,
    due: VecDeque<Due>,
    made: u64,
    counts: Counts,
}

impl Calls {
    /// Without connections yet; they go to `target`, and with none there are no calls.
    pub fn new(target: Option<Target>) -> Self {
        Self { target, ..Self::default() }
    }

    /// Whether requests wait for calls.
    pub fn is_on(&self) -> bool {
        self.target.is_some()
    }

    /// What became of them; `None` where there are none.
    pub fn counts(&self) -> Option<Counts> {
        self.target.map(|_| self.counts)
    }

    /// Connects on behalf of the client in `slot`, without waiting.
    pub fn open(&mut self, slot: usize, poller: &Poller) -> io::Result<()> {
        let Some(target) = self.target else { return Ok(()) };
        let link = Link::open(self.made + 1, target.address, TOKEN | slot as u64, poller)?;
        if slot >= self.links.len() {
            self.links.resize_with(slot + 1, || None);
        }
        self.made += 1;
        self.links[slot] = Some(link);
        Ok(())
    }

    /// The client in `slot` is gone.
    pub fn close(&mut self, slot: usize) {
        if let Some(link) = self.links.get_mut(slot) {
            *link = None;
        }
    }

    /// Calls for the client in `slot`. False: the connection is broken.
    pub fn call(&mut self, slot: usize, now_ns: u64, poller: &Poller) -> bool {
        let Some(target) = self.target else { return false };
        let Some(link) = self.links.get_mut(slot).and_then(Option::as_mut) else { return false };
        let is_fine = link.ask(poller).is_ok();
        let (link, nth) = (link.id, link.sent);
        self.due.push_back(Due { at_ns: now_ns + target.timeout_ns, slot, link, nth });
        self.counts.sent += u64::from(is_fine);
        self.counts.failed += u64::from(!is_fine);
        is_fine
    }

    /// How many replies came for the client in `slot`; `None`: the connection is broken.
    pub fn take(&mut self, slot: usize, event: Ready, poller: &Poller) -> Option<u64> {
        let Some(link) = self.links.get_mut(slot).and_then(Option::as_mut) else { return Some(0) };
        let flushed = if event.to_write { link.flush(poller) } else { Ok(()) };
        let replies = flushed.and_then(|()| if event.to_read { link.read() } else { Ok(0) });
        let replies = replies.ok();
        self.counts.answered += replies.unwrap_or(0);
        self.counts.failed += u64::from(replies.is_none());
        replies
    }

    /// The place of a client for whom a reply is late.
    pub fn late(&mut self, now_ns: u64) -> Option<usize> {
        let due = self.first().filter(|due| due.at_ns <= now_ns)?;
        self.due.pop_front();
        self.counts.late += 1;
        Some(due.slot)
    }

    /// When the next reply has to be there, ns.
    pub fn next_ns(&mut self) -> Option<u64> {
        self.first().map(|due| due.at_ns)
    }

    /// The oldest call without a reply.
    fn first(&mut self) -> Option<Due> {
        while let Some(&due) = self.due.front() {
            let link = self.links.get(due.slot).and_then(Option::as_ref);
            if link.is_some_and(|link| link.id == due.link && link.answered < due.nth) {
                return Some(due);
            }
            self.due.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_addresses_the_first_at_which_somebody_listens_is_called() {
        let here = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let [silent, there] = ["127.0.0.2:1".parse().unwrap(), here.local_addr().unwrap()];
        assert_eq!(answering(&[silent, there]), Some(there));
        assert_eq!(answering(&[there, silent]), Some(there));
        assert_eq!(answering(&[silent, "127.0.0.3:1".parse().unwrap()]), Some(silent));
        assert_eq!(answering(&[silent]), Some(silent));
        assert_eq!(answering(&[]), None);
    }

    #[test]
    fn a_target_needs_an_address_and_a_time() {
        assert_eq!(Target::read("", "nonsense"), Ok(None));
        let target = Target::read("127.0.0.1:80", "20ms").unwrap().unwrap();
        assert_eq!((target.address.port(), target.timeout_ns), (80, 20_000_000));
        for (text, timeout, at) in [
            ("127.0.0.1", "1s", "call"),
            ("127.0.0.1:99999", "1s", "call"),
            (":", "1s", "call"),
            ("127.0.0.1:80", "soon", "call-timeout"),
            ("127.0.0.1:80", "0s", "call-timeout"),
        ] {
            let fault = Target::read(text, timeout).unwrap_err();
            assert!(fault.at.starts_with(at), "{text} {timeout}: {fault}");
        }
    }
}
