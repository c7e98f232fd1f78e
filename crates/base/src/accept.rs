//! Clients of a service: accepted as they come, and left to wait where none can be.
//!
//! For want of descriptors or memory a client cannot be accepted, and waits on. The listener would be ready again and
//! again, and to look at it takes a whole CPU: so it is left alone until a connection ends, or for a while.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};

use crate::Fault;

/// For how long no client is accepted after one could not be, ns, unless a connection ends.
const PAUSE_NS: u64 = 100_000_000;

/// How a connection is accepted.
pub type Accept = fn(&TcpListener) -> io::Result<(TcpStream, SocketAddr)>;

/// Listens at `address`, for accepting without a wait; port 0 lets the kernel choose.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Fault> {
    let listener = TcpListener::bind(address).map_err(|error| refused(address, &error))?;
    listener.set_nonblocking(true).map_err(|error| refused(address, &error))?;
    Ok(listener)
}

/// The fault of a service that cannot listen at `address`.
pub fn refused(address: SocketAddr, error: &io::Error) -> Fault {
    let fix = "choose a free port (0 lets the kernel choose) and an address of this machine";
    Fault::failed(format!("cannot listen: {error}"), address.to_string(), fix)
}

/// The next client who waits; `None`: no one waits. An error: no client can be accepted now.
pub fn next(listener: &TcpListener, accept: Accept) -> io::Result<Option<TcpStream>> {
    loop {
        match accept(listener) {
            Ok((stream, _)) => return Ok(Some(stream)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => return Ok(None),
                ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {} // who has left again
                _ => return Err(error),
            },
        }
    }
}

/// A time in which a listener is left alone.
#[derive(Debug, Default)]
pub struct Pause {
    /// When it is looked at again, ns; `None`: it is looked at now.
    resumes_ns: Option<u64>,
}

impl Pause {
    /// Whether the listener is left alone.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.resumes_ns.is_some()
    }

    /// Leaves the listener alone from `now_ns` on; `leave` takes it out of what is watched.
    #[cold]
    pub fn begin(&mut self, now_ns: u64, leave: impl FnOnce() -> io::Result<()>) {
        if self.is_on() || leave().is_ok() {
            self.resumes_ns = Some(now_ns + PAUSE_NS);
        }
    }

    /// Ends it if it has lasted long enough at `now_ns`; `watch` puts the listener back to what is watched. Where that
    /// fails, it goes on.
    #[inline]
    pub fn end_in_time(&mut self, now_ns: u64, watch: impl FnOnce() -> io::Result<()>) {
        if self.resumes_ns.is_some_and(|at_ns| at_ns <= now_ns) && watch().is_ok() {
            self.resumes_ns = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    fn any() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[test]
    fn whoever_waits_is_accepted_and_no_one_is_waited_for() {
        let listener = bind(any()).unwrap();
        assert!(next(&listener, TcpListener::accept).unwrap().is_none());
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let taken = next(&listener, TcpListener::accept).unwrap().unwrap();
        assert_eq!(taken.peer_addr().unwrap(), client.local_addr().unwrap());
    }

    #[test]
    fn who_has_left_again_is_passed_over_and_a_want_of_descriptors_is_not() {
        static TRIES: AtomicU32 = AtomicU32::new(0);
        let listener = bind(any()).unwrap();
        let no_one = next(&listener, |_| {
            Err(match TRIES.fetch_add(1, Relaxed) {
                0 => ErrorKind::ConnectionAborted.into(),
                1 => ErrorKind::Interrupted.into(),
                _ => ErrorKind::WouldBlock.into(),
            })
        });
        assert!(no_one.unwrap().is_none());
        assert_eq!(TRIES.load(Relaxed), 3);
        let full = next(&listener, |_| Err(io::Error::from_raw_os_error(libc::EMFILE)));
        assert_eq!(full.unwrap_err().raw_os_error(), Some(libc::EMFILE));
    }

    #[test]
    fn a_taken_port_is_refused_with_a_way_out() {
        let listener = bind(any()).unwrap();
        let fault = bind(listener.local_addr().unwrap()).unwrap_err();
        assert!(fault.fix.contains("free port"), "{fault}");
    }

    #[test]
    fn a_listener_is_left_alone_once_and_looked_at_again_once_its_time_is_over() {
        let (mut pause, mut left, mut watched) = (Pause::default(), 0, 0);
        pause.begin(5, || Err(ErrorKind::NotFound.into()));
        assert!(!pause.is_on(), "it could not be left alone");
        for now_ns in [10, 20] {
            pause.begin(now_ns, || {
                left += 1;
                Ok(())
            });
        }
        assert!(pause.is_on());
        assert_eq!(left, 1);
        pause.end_in_time(u64::MAX, || Err(ErrorKind::OutOfMemory.into()));
        assert!(pause.is_on(), "it is not looked at yet");
        for now_ns in [19 + PAUSE_NS, 20 + PAUSE_NS, u64::MAX] {
            pause.end_in_time(now_ns, || {
                watched += 1;
                Ok(())
            });
            assert_eq!(pause.is_on(), now_ns < 20 + PAUSE_NS);
        }
        assert_eq!(watched, 1);
    }
}
