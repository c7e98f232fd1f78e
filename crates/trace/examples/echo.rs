//! An epoll echo server that pauses where it is told to: the ground truth for the stages.
//!
//! `echo THREADS [handover|cork|blocking]` prints its port. A request is 32 bytes: see [`Request`].
//! Each connection belongs to one thread. With `handover`, requests are read there and answered by
//! another thread; with `cork`, a reply is written under `TCP_CORK` and leaves when that is lifted;
//! with `blocking` each connection has a thread that sleeps in `read`, and THREADS means nothing.
//! Every read asks for exactly one request, so pipelined requests are read one by one.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};

/// What a client asks for: little-endian numbers in this order.
struct Request {
    _id: u64,
    /// Sleep between read and write, µs.
    app_us: u32,
    /// Before the *next* request of this connection is read, sleep this long, µs.
    next_us: u32,
    /// Length of the reply; 0: there is none.
    reply_bytes: u32,
    /// Number of writes it is sent in.
    writes: u32,
    /// After the reply, compute for this much CPU time, µs.
    after_us: u32,
}

const REQUEST: usize = 32;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Plain,
    Handover,
    Cork,
    Blocking,
}

impl Request {
    fn decode(b: &[u8; REQUEST]) -> Self {
        let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        Self {
            _id: u64::from(word(0)) | u64::from(word(4)) << 32,
            app_us: word(8),
            next_us: word(12),
            reply_bytes: word(16),
            writes: word(20),
            after_us: word(24),
        }
    }
}

struct Connection {
    stream: TcpStream,
    bytes: [u8; REQUEST],
    filled: usize,
    next_us: u32,
}

fn sleep_us(us: u32) {
    if us > 0 {
        thread::sleep(Duration::from_micros(u64::from(us)));
    }
}

fn compute_us(us: u32) {
    let now_ns = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    let end_ns = now_ns() + i64::from(us) * 1000;
    while us > 0 && now_ns() < end_ns {}
}

fn answer(mut stream: &TcpStream, request: &Request, is_corked: bool) {
    sleep_us(request.app_us);
    let cork = |stream: &TcpStream, is_on| {
        if is_corked {
            rustix::net::sockopt::set_tcp_cork(stream, is_on).expect("Linux has it");
        }
    };
    cork(stream, true);
    let each = (request.reply_bytes / request.writes.max(1)).max(1) as usize;
    let reply = vec![b'r'; request.reply_bytes as usize];
    for part in reply.chunks(each) {
        let mut left = part;
        while !left.is_empty() {
            match stream.write(left) {
                Ok(n) => left = &left[n..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
                Err(_) => return,
            }
        }
    }
    cork(stream, false);
    compute_us(request.after_us);
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, bytes: [0; REQUEST], filled: 0, next_us: 0 }
    }

    /// Reads and answers what is there; false if the client has gone.
    fn serve(&mut self, hand: Option<&Sender<(TcpStream, Request)>>, is_corked: bool) -> bool {
        sleep_us(std::mem::take(&mut self.next_us));
        loop {
            match self.stream.read(&mut self.bytes[self.filled..]) {
                Ok(0) => return false,
                Ok(n) => self.filled += n,
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if self.filled < REQUEST {
                continue;
            }
            self.filled = 0;
            let request = Request::decode(&self.bytes);
            self.next_us = request.next_us;
            match hand {
                Some(hand) => {
                    let stream = self.stream.try_clone().expect("file descriptors are left");
                    hand.send((stream, request)).expect("the other thread lives");
                }
                None => answer(&self.stream, &request, is_corked),
            }
        }
    }
}

fn worker(incoming: &Receiver<TcpStream>, epoll: &std::os::fd::OwnedFd, mode: Mode) {
    let is_corked = mode == Mode::Cork;
    let hand = (mode == Mode::Handover).then(|| {
        let (hand, taken) = channel::<(TcpStream, Request)>();
        thread::spawn(move || {
            for (stream, request) in &taken {
                answer(&stream, &request, false);
            }
        });
        hand
    });
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events = Vec::with_capacity(64);
    loop {
        events.clear();
        let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let _ = epoll::wait(epoll, spare_capacity(&mut events), Some(&timeout));
        for event in &events {
            let index = event.data.u64() as usize;
            let slot = &mut connections[index];
            if slot.as_mut().is_some_and(|connection| !connection.serve(hand.as_ref(), is_corked)) {
                *slot = None;
            }
        }
        while let Ok(stream) = incoming.try_recv() {
            let data = epoll::EventData::new_u64(connections.len() as u64);
            epoll::add(epoll, &stream, data, epoll::EventFlags::IN).expect("a fresh socket");
            connections.push(Some(Connection::new(stream)));
        }
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let threads: usize = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let mode = match words.next().as_deref() {
        None => Mode::Plain,
        Some("handover") => Mode::Handover,
        Some("cork") => Mode::Cork,
        Some("blocking") => Mode::Blocking,
        Some(word) => panic!("{word} is none of handover, cork, blocking"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    writeln!(std::io::stdout(), "{port}").expect("somebody reads the port");
    let senders: Vec<Sender<TcpStream>> = (0..threads)
        .map(|_| {
            let (sender, receiver) = channel();
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll exists");
            thread::spawn(move || worker(&receiver, &epoll, mode));
            sender
        })
        .collect();
    for (number, stream) in listener.incoming().flatten().enumerate() {
        stream.set_nodelay(true).expect("a socket");
        if mode == Mode::Blocking {
            let mut connection = Connection::new(stream);
            thread::spawn(move || connection.serve(None, false));
            continue;
        }
        stream.set_nonblocking(true).expect("a socket");
        senders[number % threads].send(stream).expect("workers live");
    }
}
