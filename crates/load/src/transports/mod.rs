//! What carries bytes to the server and back: one loop in [`crate::drive`] serves them all.
//!
//! A transport owns the sockets of one thread. It hands bytes to the kernel in the order given,
//! also when the kernel takes them in parts, and it never waits longer than it may.
//! One file per transport; `KINDS` is the table.

mod buffers;
mod epoll;
pub mod greeted;
pub mod hello;
mod null;
mod outbox;
mod ring;
pub mod sockets;
pub mod tls;
mod uring;

use std::iter;
use std::net::IpAddr;

use socket2::Socket;
use sojourn_base::Fault;
use sojourn_base::kind::{self, Kind};

use crate::job::address::Address;
use crate::job::target::{Carrier, Target};
use crate::transports::hello::Greeting;

/// What a poll found, by connection.
#[derive(Debug)]
pub enum Event<'a> {
    /// Bytes came; over UDP, one datagram.
    Bytes(u32, &'a [u8]),
    /// The server ended its side in order: no more bytes come, [`Event::Closed`] does.
    Ended(u32),
    /// TCP alone ended a stream that has an end of its own: a reply without a length may be cut off.
    /// [`Event::Closed`] follows.
    Torn(u32),
    /// The connection was closed or reset; what was in flight on it is lost.
    Closed(u32),
}

impl Event<'_> {
    /// The connection that it is of.
    fn connection(&self) -> u32 {
        match self {
            Self::Bytes(at, _) | Self::Ended(at) | Self::Torn(at) | Self::Closed(at) => *at,
        }
    }
}

/// How far an attempt to open a connection again has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopen {
    /// It can be used.
    Open,
    /// Ask again later.
    Pending,
    /// The server refused it.
    Refused,
    /// This machine has no local port left for it.
    NoPort,
}

/// How long a poll may wait for something to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// At most, ns; 0: not at all.
    pub wait_ns: u64,
    /// For so long, ns, it is worth waiting for `arrivals` arrivals; after it for one. A transport
    /// that cannot wait for many may wait for the time, or wake for the first.
    pub together_ns: u64,
    /// See `together_ns`.
    pub arrivals: u32,
    /// Connections that are looked at, at most; a transport that cannot leave the rest takes all.
    pub most: usize,
}

impl Patience {
    /// As many arrivals as there will be: waits for `together_ns` in any case.
    pub const ALL: u32 = u32::MAX;

    /// Looks and does not wait.
    pub const NONE: Self = Self { wait_ns: 0, together_ns: 0, arrivals: 1, most: usize::MAX };

    /// Waits at most `wait_ns` for the first arrival.
    pub fn for_first(wait_ns: u64) -> Self {
        Self { wait_ns, ..Self::NONE }
    }
}

/// The sockets of one thread.
pub trait Transport {
    /// Takes `bytes` for `connection`, which must be open. They are on their way at the latest
    /// with the next [`Transport::poll`].
    fn send(&mut self, connection: u32, bytes: &[u8]);

    /// Picks up what has arrived, waiting for it as long as `patience` says.
    fn poll(&mut self, patience: Patience, on: &mut dyn FnMut(Event<'_>));

    /// Drops a connection; nothing more is heard of it until it is open again.
    fn close(&mut self, connection: u32);

    /// Begins, or goes on, to open a closed connection again. Never waits.
    fn reopen(&mut self, connection: u32) -> Reopen;

    /// System calls made so far.
    fn syscalls(&self) -> u64;

    /// What TLS handshakes came to; `None`: there are none.
    fn tls(&self) -> Option<tls::Seen> {
        None
    }
}

/// What a transport starts from.
pub struct Ends {
    /// The servers, one or more; connection `c` leads to entry `c` modulo their number.
    pub addresses: Vec<Address>,
    /// Addresses of this machine that connections come from, in turn; empty: the kernel's choice.
    pub sources: Vec<IpAddr>,
    /// Connected, non-blocking sockets; connection `c` is entry `c`.
    pub sockets: Vec<Socket>,
    /// Number of connections (also where there are no sockets).
    pub connections: u32,
    /// Further ones behind them, closed at first: as many, each leading where its connection does, or none.
    /// Protocols that greet have none.
    pub spares: u32,
    /// Whether each receive is a datagram of its own.
    pub datagrams: bool,
    /// Upper bound on the bytes of one request.
    pub request_bytes_max: usize,
    /// Most requests in flight on one connection.
    pub depth: u32,
    /// More is sent than requests, of any length and at any time.
    pub says_more: bool,
    /// The greeting of a connection that is opened again.
    pub greeting: Greeting,
}

impl Ends {
    /// Where `connection` leads, and where it comes from.
    fn way(&self, connection: u32) -> sockets::Way {
        let is_spare = connection >= self.connections;
        let nth = if is_spare { connection - self.connections } else { connection };
        sockets::Way::nth(&self.addresses, self.datagrams, &self.sources, nth)
    }

    /// Buffers for arrivals: two a connection, so that one can be read while the other is filled.
    fn buffers(&self) -> u16 {
        (self.connections.clamp(32, 2048) * 2).next_power_of_two() as u16
    }
}

/// One entry of the table.
pub struct TransportKind {
    /// Name, what it needs, source.
    pub kind: Kind,
    /// Takes the sockets over. Called on the thread that will use it.
    pub open: fn(Ends) -> Result<Box<dyn Transport>, Fault>,
    /// Whether this kernel has what it needs.
    pub works: fn() -> bool,
}

impl AsRef<Kind> for TransportKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

impl std::fmt::Debug for TransportKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kind.name)
    }
}

/// Every transport, in reading order.
pub const KINDS: &[TransportKind] = &[uring::KIND, epoll::KIND, null::KIND];

/// In the order in which `auto` prefers them.
const AUTO: &[&str] = &["io_uring", "epoll"];

/// The transport called `name` (or `auto`) for `target`.
pub fn choose(name: &str, target: &Target) -> Result<&'static TransportKind, Fault> {
    let by_name = |name: &str| KINDS.iter().find(|entry| entry.kind.name == name);
    if target.scheme.carrier == Carrier::Nothing {
        return Ok(by_name("null").expect("the table has null"));
    }
    if name == "auto" {
        let usable = AUTO.iter().filter_map(|name| by_name(name)).find(|entry| (entry.works)());
        return Ok(usable.expect("epoll works on every Linux"));
    }
    match by_name(name) {
        Some(entry) if entry.kind.name == "null" => Err(Fault::usage(
            format!("the null transport reaches no server, the target is {}", target.host),
            "transport",
            "use --transport epoll or io_uring, or the target null:",
        )),
        Some(entry) if !(entry.works)() => Err(Fault::usage(
            format!("this kernel does not let this process use {name}"),
            "transport",
            format!("use --transport epoll, or provide: {}", entry.kind.needs.join(", ")),
        )),
        Some(entry) => Ok(entry),
        None => {
            let names = KINDS.iter().map(|entry| entry.kind.name);
            Err(kind::unknown(name, iter::once("auto").chain(names), "transport", "transport"))
        }
    }
}

#[cfg(test)]
mod tests;
