//! The reader: accepts connections and puts what they ask into the line.

use std::collections::HashMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use sojourn_base::accept::{self, Accept, Pause};
use sojourn_base::clock::{Clock, Monotonic};

use super::{Connection, Job, LOOK};
use crate::fifo::Fifo;

/// Token of the listening socket.
const LISTENER: u64 = 0;
/// Events taken at once.
const EVENTS: usize = 256;

/// See the module.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    listener: &'a TcpListener,
    line: &'a Fifo<Job>,
    epoll: OwnedFd,
    /// Connections by their tokens.
    known: HashMap<u64, Arc<Connection>>,
    next: u64,
    /// While the listener is left alone; its times are ns of the monotonic clock.
    pause: Pause,
    /// How often a connection could not be accepted.
    pub(super) unaccepted: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(listener: &'a TcpListener, line: &'a Fifo<Job>) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        let (known, next) = (HashMap::new(), LISTENER + 1);
        Ok(Self { listener, line, epoll, known, next, pause: Pause::default(), unaccepted: 0 })
    }

    /// Reads until `stop` is set.
    pub(super) fn run(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut tokens = Vec::with_capacity(EVENTS);
        while !stop.load(Relaxed) {
            self.look(&LOOK, &mut tokens)?;
            for &token in &tokens {
                self.handle(token);
            }
            if self.pause.is_on() {
                self.resume_in_time(Monotonic.now_ns());
            }
        }
        Ok(())
    }

    /// Puts into `tokens` what is ready, for which it waits at most `longest`.
    fn look(&self, longest: &Timespec, tokens: &mut Vec<u64>) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(longest)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        tokens.clear();
        tokens.extend(events.iter().map(|event| event.data.u64()));
        Ok(())
    }

    fn handle(&mut self, token: u64) {
        if token == LISTENER {
            return self.accept(TcpListener::accept);
        }
        if self.known.get(&token).is_some_and(|connection| !connection.take(self.line)) {
            // A worker may still hold it: then it is closed once that lets go.
            if let Some(gone) = self.known.remove(&token) {
                let _ = epoll::delete(&self.epoll, &gone.stream);
            }
            self.resume_in_time(u64::MAX); // there may be room for another
        }
    }

    /// Takes over everybody who waits; `by` accepts one.
    fn accept(&mut self, by: Accept) {
        while let Some(taken) = accept::next(self.listener, by).transpose() {
            if taken.and_then(|stream| self.welcome(stream)).is_err() {
                return self.pause();
            }
        }
    }

    /// Reads what `stream` says from now on; who cannot be read sees the end of it.
    fn welcome(&mut self, stream: TcpStream) -> io::Result<()> {
        if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
            return Ok(()); // it has ended already
        }
        epoll::add(&self.epoll, &stream, EventData::new_u64(self.next), EventFlags::IN)?;
        self.known.insert(self.next, Arc::new(Connection { stream, state: Mutex::default() }));
        self.next += 1;
        Ok(())
    }

    /// No client can be accepted now: the listener is left alone until a connection ends, or for a while.
    #[cold]
    fn pause(&mut self) {
        self.unaccepted += 1;
        let now_ns = Monotonic.now_ns();
        self.pause.begin(now_ns, || Ok(epoll::delete(&self.epoll, self.listener)?));
    }

    /// Looks at the listener again if it has been left alone for long enough at `now_ns`.
    fn resume_in_time(&mut self, now_ns: u64) {
        let data = EventData::new_u64(LISTENER);
        self.pause.end_in_time(now_ns, || {
            Ok(epoll::add(&self.epoll, self.listener, data, EventFlags::IN)?)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    /// Whether somebody waits to be accepted, and that is looked at.
    fn is_asked(reader: &Reader<'_>) -> bool {
        let mut tokens = Vec::new();
        (0..50).any(|_| {
            reader.look(&LOOK, &mut tokens).unwrap();
            tokens.contains(&LISTENER)
        })
    }

    /// The listener stays ready while somebody waits who cannot be accepted: to look at it takes a whole CPU.
    #[test]
    fn without_a_descriptor_the_listener_is_left_alone_until_it_is_resumed() {
        let (listener, line) = (TcpListener::bind("127.0.0.1:0").unwrap(), Fifo::default());
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let mut reader = Reader::new(&listener, &line).unwrap();
        let first = TcpStream::connect(address).unwrap();
        assert!(is_asked(&reader));
        reader.handle(LISTENER);
        assert_eq!((reader.known.len(), reader.unaccepted), (1, 0));
        let _second = TcpStream::connect(address).unwrap();
        assert!(is_asked(&reader));
        reader.accept(|_| Err(rustix::io::Errno::MFILE.into()));
        let mut tokens = Vec::new();
        reader.look(&AT_ONCE, &mut tokens).unwrap();
        assert!(tokens.is_empty(), "a full listener wakes it no more: {tokens:?}");
        drop(first);
        let first_token = LISTENER + 1;
        while !tokens.contains(&first_token) {
            reader.look(&LOOK, &mut tokens).unwrap();
            assert!(!tokens.contains(&LISTENER), "{tokens:?}");
        }
        reader.handle(first_token);
        assert!(is_asked(&reader), "a connection has ended");
        reader.handle(LISTENER);
        assert_eq!((reader.known.len(), reader.unaccepted), (1, 1));
    }

    /// As `nc -N` asks: what came before the end of a stream is answered.
    #[test]
    fn a_request_that_comes_with_the_end_of_its_stream_is_put_into_the_line() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for (sent, is_served) in [("GET /q/1 HTTP/1.1\r\n\r\n", true), ("GET /q/1", false)] {
            let line = Fifo::default();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            io::Write::write_all(&mut client, sent.as_bytes()).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let (stream, _) = listener.accept().unwrap();
            stream.set_nonblocking(true).unwrap();
            let epoll = epoll::create(CreateFlags::CLOEXEC).unwrap();
            epoll::add(&epoll, &stream, EventData::new_u64(0), EventFlags::RDHUP).unwrap();
            let mut events: Vec<Event> = Vec::with_capacity(1);
            epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
            let connection = Arc::new(Connection { stream, state: Mutex::default() });
            assert!(!connection.take(&line), "no more comes");
            assert_eq!(connection.state.lock().unwrap().is_served, is_served, "{sent}");
        }
    }
}
