//! Sockets: opened with a deadline before the run, opened again without waiting during it.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use sojourn_base::Fault;

use super::Reopen;

/// How long all connections together may take to open.
pub const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Opens `count` connections to `address`, all within [`CONNECT_WITHIN`].
pub fn connect(address: SocketAddr, datagrams: bool, count: u32) -> Result<Vec<Socket>, Fault> {
    let deadline = Instant::now() + CONNECT_WITHIN;
    (0..count)
        .map(|nth| {
            let left = deadline.saturating_duration_since(Instant::now());
            connect_one(address, datagrams, left.max(Duration::from_millis(1)))
                .map_err(|error| refused(&error, address, nth, count))
        })
        .collect()
}

fn connect_one(address: SocketAddr, datagrams: bool, within: Duration) -> io::Result<Socket> {
    let socket = new(address, datagrams)?;
    if datagrams {
        socket.connect(&address.into())?;
    } else {
        socket.connect_timeout(&address.into(), within)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn new(address: SocketAddr, datagrams: bool) -> io::Result<Socket> {
    let (kind, protocol) =
        if datagrams { (Type::DGRAM, Protocol::UDP) } else { (Type::STREAM, Protocol::TCP) };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    if !datagrams {
        socket.set_tcp_nodelay(true)?; // a request waits for nothing but its time
        // Nor for a pacing timer: where BBR is the default, it would space requests out. Reno is in
        // every kernel and open to every user; the server's side keeps what the server chose.
        let _ = socket.set_tcp_congestion(b"reno");
    }
    Ok(socket)
}

/// Begins to open a connection; [`progress`] tells how it went.
pub fn begin(address: SocketAddr, datagrams: bool) -> Option<Socket> {
    let socket = new(address, datagrams).ok()?;
    socket.set_nonblocking(true).ok()?;
    match socket.connect(&address.into()) {
        Ok(()) => Some(socket),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Some(socket),
        Err(_) => None,
    }
}

/// How far a connection begun by [`begin`] has come.
pub fn progress(socket: &Socket) -> Reopen {
    match socket.take_error() {
        Ok(None) if socket.peer_addr().is_ok() => Reopen::Open,
        Ok(None) => Reopen::Pending,
        _ => Reopen::Refused,
    }
}

fn refused(error: &io::Error, address: SocketAddr, nth: u32, count: u32) -> Fault {
    let fix = match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "start the server, or check the port with `ss -ltn`".into()
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("check that the server accepts {count} connections (its limit, its backlog)")
        }
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            format!("raise the limit on open files: ulimit -n {}", u64::from(count) + 100)
        }
        _ => "check address, port and firewall".into(),
    };
    Fault::failed(
        format!("connection {} of {count} to {address} failed: {error}", nth + 1),
        "target",
        fix,
    )
}
