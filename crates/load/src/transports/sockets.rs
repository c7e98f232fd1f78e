//! Sockets: opened with a deadline before the run, opened again without waiting during it.

pub(crate) mod files;
mod greet;
mod opening;
mod round_trip;
mod together;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use socket2::{Protocol, Socket, Type};
use sojourn_base::Fault;

pub use opening::Opening;
pub use round_trip::round_trip_ns;

use super::Reopen;
use crate::job::address::Address;
use crate::transports::hello::{Greeting, Refusal, uninterrupted};

/// How long the first connection to a server may take to open, and after it, each time, a further one.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// What helps where the local ports to one server are used up.
pub const NO_PORT: &str = "let connections come from more addresses, such as --source 127.0.0.2,127.0.0.3 for a \
     server on loopback (each has as many ports as net.ipv4.ip_local_port_range names), use fewer \
     connections, or wait a minute for closed ones (TIME_WAIT)";

/// Where one connection leads, and where it comes from.
#[derive(Clone, Debug)]
pub struct Way {
    /// The server.
    pub address: Address,
    /// UDP instead of TCP.
    pub datagrams: bool,
    /// Address of this machine that it comes from; `None`: the kernel's choice.
    pub source: Option<IpAddr>,
}

/// Opens `count` connections to `servers` in turn; they come from `sources` in turn, and each is greeted. Of a
/// server with several addresses the first that can be reached is used for all: no other is left in `servers`
/// (RFC 8305 in spirit, one after another).
///
/// The first to each server is opened alone, and some of the others at a time. What all of them may take grows
/// with their number.
pub fn connect(
    servers: &mut [Vec<Address>],
    datagrams: bool,
    sources: &[IpAddr],
    count: u32,
    greeting: &Greeting,
) -> Result<Vec<Socket>, Fault> {
    let mut sockets = Vec::with_capacity(count as usize);
    for (choices, nth) in servers.iter_mut().zip(0..count) {
        let deadline = Instant::now() + CONNECT_WITHIN;
        let source = (!sources.is_empty()).then(|| sources[nth as usize % sources.len()]);
        let socket = open_any(choices, datagrams, source, deadline, (nth, count))?;
        if let Some(talk) = greeting.begin() {
            let left = left_until(deadline);
            greet::all(talk, &socket, left).map_err(|error| not_greeted(&error, &choices[0]))?;
        }
        sockets.push(socket);
    }
    let addresses: Vec<Address> = servers.iter().map(|choices| choices[0].clone()).collect();
    let way = |nth| Way::nth(&addresses, datagrams, sources, nth);
    let first = sockets.len() as u32;
    sockets.extend(together::open(way, (first, count), greeting)?);
    Ok(sockets)
}

/// A connection to the first of `choices` that can be reached, which stays there alone.
fn open_any(
    choices: &mut Vec<Address>,
    datagrams: bool,
    source: Option<IpAddr>,
    deadline: Instant,
    (nth, count): (u32, u32),
) -> Result<Socket, Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    let ways: Vec<Way> =
        choices.iter().map(|it| Way { address: it.clone(), datagrams, source }).collect();
    for (tried, way) in ways.iter().enumerate() {
        let rest = (ways.len() - tried) as u32;
        let opened = (rest == 1 || is_there(way, left_until(deadline) / rest))
            .then(|| way.open(left_until(deadline) / rest, (nth, count)));
        match opened {
            Some(Ok(socket)) => {
                choices.swap(0, tried);
                choices.truncate(1);
                return Ok(socket);
            }
            Some(Err(fault)) => faults.push(fault),
            None => {}
        }
    }
    let all: Vec<String> = faults.iter().map(|fault| fault.what.clone()).collect();
    let last = faults.pop().expect("a target names an address, and the last one is tried");
    Err(Fault { what: all.join("; "), ..last })
}

/// Whether it is worth trying `way` before others. A datagram reaches no one without a word, so the
/// server's TCP port answers in its stead: servers of datagrams here listen on both.
fn is_there(way: &Way, within: Duration) -> bool {
    let stream = Way { datagrams: false, ..way.clone() };
    !way.datagrams || stream.open(within, (0, 1)).is_ok()
}

fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

impl Way {
    /// The way of the `nth` connection; there is an address at least.
    pub fn nth(addresses: &[Address], datagrams: bool, sources: &[IpAddr], nth: u32) -> Self {
        let address = addresses[nth as usize % addresses.len()].clone();
        let source = (!sources.is_empty()).then(|| sources[nth as usize % sources.len()]);
        Self { address, datagrams, source }
    }

    /// Opens it within so long; `nth` of `count` connections, for the words of a fault.
    fn open(&self, within: Duration, (nth, count): (u32, u32)) -> Result<Socket, Fault> {
        let refused = |error: io::Error| refused(&error, &self.address, nth, count);
        let socket = new(&self.address, self.datagrams).map_err(refused)?;
        self.bind(&socket)?;
        self.connect(&socket, within).map_err(refused)?;
        Ok(socket)
    }

    fn connect(&self, socket: &Socket, within: Duration) -> io::Result<()> {
        let address = self.address.for_kernel()?;
        if self.address.is_unix() {
            // Where its backlog is full a unix socket says so at once, unless it may wait.
            socket.set_write_timeout(Some(within))?;
            uninterrupted(|| socket.connect(&address))?;
            socket.set_write_timeout(None)?;
        } else if self.datagrams {
            socket.connect(&address).map_err(|error| match error.kind() {
                // So UDP says that no port is free.
                io::ErrorKind::WouldBlock => io::ErrorKind::AddrNotAvailable.into(),
                _ => error,
            })?;
        } else {
            socket.connect_timeout(&address, within)?;
        }
        socket.set_nonblocking(true)
    }

    /// Binds `socket` to the source. Its port is chosen with the connection, so that connections to
    /// different servers may share one (`IP_BIND_ADDRESS_NO_PORT`, ip(7)).
    fn bind(&self, socket: &Socket) -> Result<(), Fault> {
        let Some(source) = self.source else { return Ok(()) };
        let on: libc::c_int = 1;
        // SAFETY: the option takes an int, which outlives the call. Where it is unknown (before Linux
        // 4.2) the port is chosen at once, which works too.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_IP,
                libc::IP_BIND_ADDRESS_NO_PORT,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            );
        }
        socket.bind(&SocketAddr::new(source, 0).into()).map_err(|error| {
            Fault::usage(
                format!("connections to {} cannot come from {source}: {error}", self.address),
                "source",
                "name addresses of this machine, such as 127.0.0.2 for a server on loopback",
            )
        })
    }

    /// A socket that is being connected; `nth` of `count` connections, for the words of a fault.
    fn start(&self, (nth, count): (u32, u32)) -> Result<Socket, Fault> {
        let refused = |error: io::Error| refused(&error, &self.address, nth, count);
        let address = self.address.for_kernel().map_err(refused)?;
        let socket = new(&self.address, self.datagrams).map_err(refused)?;
        self.bind(&socket)?;
        socket.set_nonblocking(true).map_err(refused)?;
        match socket.connect(&address) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(refused(error)),
            _ => Ok(socket),
        }
    }

    /// Begins to open a connection; [`Opening::progress`] says how it went.
    pub fn begin(&self, greeting: &Greeting) -> Result<Opening, Reopen> {
        Ok(Opening::new(self.begin_socket()?, greeting))
    }

    fn begin_socket(&self) -> Result<Socket, Reopen> {
        let address = self.address.for_kernel().map_err(|_| Reopen::Refused)?;
        let socket = new(&self.address, self.datagrams).map_err(|_| Reopen::Refused)?;
        self.bind(&socket).map_err(|_| Reopen::Refused)?;
        socket.set_nonblocking(true).map_err(|_| Reopen::Refused)?;
        match socket.connect(&address) {
            Ok(()) => Ok(socket),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Err(Reopen::NoPort),
            // So UDP says that no port is free.
            Err(error) if self.datagrams && error.raw_os_error() == Some(libc::EAGAIN) => {
                Err(Reopen::NoPort)
            }
            Err(_) => Err(Reopen::Refused),
        }
    }
}

fn new(address: &Address, datagrams: bool) -> io::Result<Socket> {
    if address.is_unix() {
        return Socket::new(address.domain(), Type::STREAM, None);
    }
    let (kind, protocol) =
        if datagrams { (Type::DGRAM, Protocol::UDP) } else { (Type::STREAM, Protocol::TCP) };
    let socket = Socket::new(address.domain(), kind, Some(protocol))?;
    if !datagrams {
        socket.set_tcp_nodelay(true)?; // a request waits for nothing but its time
        // Nor for a pacing timer: where BBR is the default, it would space requests out. Reno is in
        // every kernel and open to every user; the server's side keeps what the server chose.
        let _ = socket.set_tcp_congestion(b"reno");
    }
    Ok(socket)
}

/// The fault of a greeting that failed.
pub(crate) fn not_greeted(error: &io::Error, address: &Address) -> Fault {
    if let Some(why) = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>()) {
        return Fault::failed(format!("{address}: {}", why.what), "target", why.fix.clone());
    }
    let cause = match error.kind() {
        io::ErrorKind::PermissionDenied => "the server refused it".into(),
        io::ErrorKind::UnexpectedEof => "the server closed the connection".into(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the server did not answer".into(),
        _ => error.to_string(),
    };
    Fault::failed(
        format!("the greeting on a connection to {address} failed: {cause}"),
        "target",
        "check that the server speaks the target's protocol, and the options given with --option",
    )
}

fn refused(error: &io::Error, address: &Address, nth: u32, count: u32) -> Fault {
    let fix = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound if address.is_unix() => {
            "start the server, or check the path with `ss -lx`".into()
        }
        io::ErrorKind::PermissionDenied if address.is_unix() => {
            "let this user write to the socket (memcached -a 0666, redis unixsocketperm)".into()
        }
        _ if address.is_unix() && error.raw_os_error().is_none() => {
            "the path of a unix socket has 107 bytes at most".into()
        }
        io::ErrorKind::ConnectionRefused => {
            "start the server, or check the port with `ss -ltn`".into()
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!(
                "check that the server accepts {count} connections (its limit, its backlog), and how long \
                 a round trip to it takes (ping)"
            )
        }
        io::ErrorKind::AddrNotAvailable => NO_PORT.into(),
        _ if error.raw_os_error() == Some(libc::EMFILE) => files::RAISE.into(),
        _ => "check address, port and firewall".into(),
    };
    let cause = match error.kind() {
        io::ErrorKind::AddrNotAvailable => "this machine has no local port left for it".into(),
        _ => error.to_string(),
    };
    Fault::failed(
        format!("connection {} of {count} to {address} failed: {cause}", nth + 1),
        "target",
        fix,
    )
}

#[cfg(test)]
mod tests;
