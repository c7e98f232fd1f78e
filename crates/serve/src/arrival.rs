//! When a request arrived: the kernel's own time stamp of its last packet.
//!
//! A service that notes the time when it *reads* mistakes its own outages for bursts of arrivals: all
//! that came while it did not run seems to come at once, and the queue it pretends to be grows as no
//! theory says. The kernel stamps each packet as it is taken over the loopback device, on the
//! sender's CPU, whether the service runs or not. Source: Documentation/networking/timestamping.rst.
//!
//! Requests that were read together from one connection share the stamp of the last one.

use std::io::{self, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use nix::sys::time::TimeSpec;
use sojourn_base::clock::{Clock, Monotonic, unix_ns};

/// Asks the kernel for time stamps. Where it refuses, the time of reading is taken.
pub fn stamp(stream: &TcpStream) -> bool {
    setsockopt(stream, ReceiveTimestampns, &true).is_ok()
}

/// Bytes read, and when the last of them arrived, ns of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// 0: the other side has closed.
    pub bytes: usize,
    /// `None` without a stamp.
    pub at_ns: Option<u64>,
}

/// Reads once into `buffer`: how many bytes, and when the kernel had them.
pub fn receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<Received> {
    let mut control = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(buffer)];
    let fd = stream.as_raw_fd();
    let message = recvmsg::<()>(fd, &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(at) => Some(monotonic_ns(at)),
        _ => None,
    });
    Ok(Received { bytes: message.bytes, at_ns: stamp })
}

/// The kernel stamps in time of day; its offset is looked up anew, for it may be set.
fn monotonic_ns(at: TimeSpec) -> u64 {
    let at_ns = at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64;
    let age_ns = unix_ns().saturating_sub(at_ns);
    Monotonic.now_ns().saturating_sub(age_ns)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_stamp_is_when_the_bytes_came_and_not_when_they_were_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert!(stamp(&server));
        // The kernel begins to stamp a moment after it was first asked to.
        thread::sleep(Duration::from_millis(50));
        let before_ns = Monotonic.now_ns();
        client.write_all(b"hello").unwrap();
        let after_ns = Monotonic.now_ns();
        thread::sleep(Duration::from_millis(50));
        let mut buffer = [0; 16];
        let got = receive(&server, &mut buffer).unwrap();
        assert_eq!(&buffer[..got.bytes], b"hello");
        let at_ns = got.at_ns.expect("a stamp");
        let slack_ns = 1_000_000; // the two clocks are read one after the other
        assert!((before_ns.saturating_sub(slack_ns)..after_ns + slack_ns).contains(&at_ns));
    }
}
