//! One thread reads requests into the line; workers take them from it, answer, and write.
//!
//! A connection has at most one request in the line or in service: the next one that has already been
//! read goes to the end of the line when its reply is written. So replies of a connection keep their
//! order, as HTTP/1.1 demands, and workers need not know of each other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sojourn_base::clock::thread_cpu_ns;
use sojourn_base::{Fault, accept};

use crate::fifo::Fifo;
use crate::http::{self, Asked, Parsed, Status};
use crate::report::Notes;
use crate::work::{Desk, Work};

mod reader;

use reader::Reader;

/// Bytes read ahead on one connection; who sends more without reading replies is closed.
const INPUT_BYTES_MAX: usize = 1 << 16;
/// How long the reader waits before it looks whether it is to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// How long a worker waits for a client that does not take its reply.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection, known to the reader and to the worker that serves it.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Read and not yet parsed.
    input: Vec<u8>,
    /// A request of it is in the line or in service.
    is_served: bool,
    /// The last reply was written: what else was asked is not answered.
    is_over: bool,
}

/// A request in the line.
#[derive(Debug)]
struct Job {
    connection: Arc<Connection>,
    asked: Asked,
    is_last: bool,
}

/// A service that listens on one port, with its workers.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    threads: u32,
    queries: u64,
}

impl Server {
    /// Listens at `address`; port 0 lets the kernel choose.
    pub fn bind(address: SocketAddr, threads: u32, queries: u64) -> Result<Self, Fault> {
        Ok(Self { listener: accept::bind(address)?, threads, queries })
    }

    /// The address and port on which it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set; what its workers noted is the answer.
    pub fn run(&self, work: &dyn Work, stop: &AtomicBool) -> Result<Vec<Notes>, Fault> {
        let line = Fifo::default();
        thread::scope(|scope| {
            let begin = |nth| {
                let name = format!("worker-{nth}");
                let (line, queries) = (&line, self.queries);
                thread::Builder::new()
                    .name(name)
                    .spawn_scoped(scope, move || serve(line, work, queries))
            };
            let workers: Result<Vec<_>, _> = (0..self.threads).map(begin).collect();
            let read = workers.as_ref().map_or(Ok(0), |_| self.read(&line, stop));
            line.close();
            let fault = |what: String| Fault::failed(what, "threads", "see the kernel's log");
            let workers =
                workers.map_err(|error| fault(format!("cannot start workers: {error}")))?;
            let unaccepted =
                read.map_err(|error| fault(format!("cannot wait for requests: {error}")))?;
            let noted = workers.into_iter().map(thread::ScopedJoinHandle::join);
            let noted = noted.map(|notes| notes.map_err(|_| fault("a worker broke down".into())));
            let mut noted = noted.collect::<Result<Vec<Notes>, Fault>>()?;
            noted.iter_mut().take(1).for_each(|notes| notes.unaccepted(unaccepted));
            Ok(noted)
        })
    }

    /// Reads until `stop` is set; how often a connection could not be accepted.
    fn read(&self, line: &Fifo<Job>, stop: &AtomicBool) -> io::Result<u64> {
        let mut reader = Reader::new(&self.listener, line)?;
        reader.run(stop)?;
        Ok(reader.unaccepted)
    }
}

impl Connection {
    /// Reads what has come; `false` if there will be no more. What came before the end is answered.
    fn take(self: &Arc<Self>, line: &Fifo<Job>) -> bool {
        let mut room = [0; 4096];
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return false;
        }
        let has_ended = loop {
            match (&self.stream).read(&mut room) {
                Ok(0) => break true,
                Ok(bytes) => state.input.extend_from_slice(&room[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            if state.input.len() > INPUT_BYTES_MAX {
                return false;
            }
        };
        (state.is_served || self.advance(&mut state, line)) && !has_ended
    }

    /// Puts the next request that was read into the line; `false` if it cannot be understood.
    fn advance(self: &Arc<Self>, state: &mut State, line: &Fifo<Job>) -> bool {
        match http::parse(&state.input) {
            Parsed::More => true,
            Parsed::Broken => false,
            Parsed::Request { used, asked, is_last } => {
                state.input.drain(..used);
                state.is_served = true;
                line.push(Job { connection: Arc::clone(self), asked, is_last });
                true
            }
        }
    }

    /// After a reply: the next request of it, if one was read, goes to the end of the line.
    fn done(self: &Arc<Self>, is_last: bool, line: &Fifo<Job>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_served = false;
        if is_last || !self.advance(&mut state, line) {
            state.is_over = true;
            let _ = self.stream.shutdown(std::net::Shutdown::Both); // the reader sees the end of it
        }
    }

    /// Writes all of a reply; `false` if the client does not take it.
    fn put(&self, mut reply: &[u8]) -> bool {
        let began = Instant::now();
        while !reply.is_empty() {
            match (&self.stream).write(reply) {
                Ok(bytes) => reply = &reply[bytes..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if began.elapsed() > PATIENCE {
                        return false;
                    }
                    let _ = poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], Some(&LOOK));
                }
                Err(_) => return false,
            }
        }
        true
    }
}

/// A worker: takes the first of the line, answers, writes, until it is sent home.
fn serve(line: &Fifo<Job>, work: &dyn Work, queries: u64) -> Notes {
    let mut desk = work.desk();
    let (mut notes, mut body, mut reply) = (Notes::default(), String::new(), Vec::new());
    while let Some(job) = line.pop() {
        body.clear();
        reply.clear();
        match job.asked {
            Asked::Query(query) if query < queries => {
                if answer(&mut *desk, query, &mut body, &mut notes) {
                    http::answer(&body, &mut reply);
                } else {
                    let why = format!("query {query} has no answer: the data are broken\n");
                    http::refuse(Status::Failed, &why, &mut reply);
                }
            }
            Asked::Query(query) => {
                notes.refused();
                let why = format!("there is no query {query}, only 0 to {}\n", queries - 1);
                http::refuse(Status::NotFound, &why, &mut reply);
            }
            Asked::Check => match work.check() {
                Some(text) => http::answer(&format!("{text}\n"), &mut reply),
                None => http::refuse(Status::NotFound, "its data never change\n", &mut reply),
            },
            Asked::Other(status) => {
                notes.refused();
                http::refuse(status, "ask GET /q/{n}\n", &mut reply);
            }
        }
        let is_taken = job.connection.put(&reply);
        job.connection.done(job.is_last || !is_taken, line);
    }
    notes
}

/// Answers one query and notes how long that took; `false` if there is no answer.
pub fn answer(desk: &mut dyn Desk, query: u64, body: &mut String, notes: &mut Notes) -> bool {
    let (began, cpu_ns) = (Instant::now(), thread_cpu_ns());
    desk.answer(query, body);
    if body.is_empty() {
        notes.refused();
        return false;
    }
    notes.answered(began.elapsed().as_nanos() as u64, thread_cpu_ns() - cpu_ns);
    true
}

#[cfg(test)]
mod tests;
