//! How long a round trip to the server takes, by the kernel's own account of a connection.

use std::os::fd::AsRawFd;

use socket2::Socket;

/// Smoothed round-trip time of a connected TCP socket, ns; 0 where there is none (`TCP_INFO`, tcp(7)).
pub fn round_trip_ns(socket: &Socket) -> u64 {
    // SAFETY: plain numbers, of which all zero is a value.
    let mut seen: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&seen) as libc::socklen_t;
    // SAFETY: the kernel writes `length` bytes at most, of a form that only ever grew.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut seen).cast(),
            &raw mut length,
        )
    } != 0;
    if failed { 0 } else { u64::from(seen.tcpi_rtt) * 1000 }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_stream_has_a_round_trip_and_a_socket_of_another_kind_none() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let round_trip_ns = super::round_trip_ns(&stream.into());
        assert!((1..60_000_000_000).contains(&round_trip_ns), "{round_trip_ns}");
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(super::round_trip_ns(&datagrams.into()), 0);
    }
}
