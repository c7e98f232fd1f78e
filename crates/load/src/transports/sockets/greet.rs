//! A greeting on a socket that is waited for, within a time for all of it.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::transports::hello::Talk;

/// Greets on a connected socket, waiting for the server `within` so long, however little it says at a time.
pub(super) fn all(mut talk: Talk, socket: &Socket, within: Duration) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    talk.go_on(Timed { socket, until: Instant::now() + within })?;
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    socket.set_nonblocking(true)
}

/// A socket that reads and writes until then.
struct Timed<'a> {
    socket: &'a Socket,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        (&mut &*self.socket).read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        (&mut &*self.socket).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;
    use crate::transports::hello::Greeting;
    use crate::transports::hello::testing::Patient;

    /// Each of its words comes in time.
    #[test]
    fn a_server_that_talks_on_and_on_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for _ in 0..300 {
                thread::sleep(Duration::from_millis(10));
                if stream.write_all(b"N").is_err() {
                    return;
                }
            }
        });
        let talk = Greeting::new(|| Box::new(Patient)).begin().unwrap();
        let error = all(talk, &stream.into(), Duration::from_millis(500)).unwrap_err();
        let is_late = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&error.kind());
        assert!(is_late, "{error:?}");
        server.join().unwrap();
    }
}
