//! A small server of HTTP/2, as good or as bad as a test needs it: frames by hand, no crate between.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sojourn_base::clock::{Clock, Monotonic};

use crate::mirror::listen;

const PREFACE: usize = 24;
const HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200`, by its place in the table.
const OK: &[u8] = &[0x88];

/// What the server does with requests.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// Takes so many at a time, and answers all that are there together, the last one first.
    Takes(u32),
    /// Goes away after as many on a connection.
    GoesAway(u64),
    /// The same, and answers the last of them after a while.
    Drains(u64, Duration),
    /// The same, and says before that it will go away, and only at the end behind which request.
    Warns(u64, Duration),
    /// Goes away after as many, and ends the connection before it has answered the last.
    Leaves(u64),
    /// Ends a connection without a word when the next request after as many has come.
    Ends(u64),
    /// The same, but it ends it after a while.
    Dies(u64, Duration),
    /// Goes away at each first request, of which it takes none.
    TakesNone,
    /// Refuses every so-manieth.
    Refuses(u64),
    /// Never answers every so-manieth.
    Swallows(u64),
    /// Answers nothing for a while, once, after as many, on all connections.
    Stalls(u64, Duration),
    /// Takes so many bytes of a body before it asks for more.
    Sips(u32),
    /// Sends that many bytes as the body of each reply, as the client's windows let it.
    Pours(usize),
}

/// What it has seen.
#[derive(Default)]
pub struct Seen {
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    pub open_max: AtomicU64,
    pub cancelled: AtomicU64,
    /// Connections that owe their last reply, those that have sent it, and requests on others meanwhile.
    pub draining: AtomicU64,
    pub drained: AtomicU64,
    pub beside: AtomicU64,
    pub body_bytes: AtomicU64,
    /// Start and end of the stall, ns of the monotonic clock; who holds the lock stalls all.
    pub stall: Mutex<Option<(u64, u64)>>,
}

/// A server on a port of its own; ends with the process.
pub struct Peer {
    pub port: u16,
    pub seen: Arc<Seen>,
}

impl Peer {
    pub fn start(manner: Manner) -> Self {
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        let port = listen(move |stream| {
            shared.connections.fetch_add(1, SeqCst);
            let _ = Link::new(stream, manner, &shared).serve();
        });
        Self { port, seen }
    }
}

/// One connection.
struct Link<'a> {
    stream: TcpStream,
    manner: Manner,
    seen: &'a Seen,
    bytes: Vec<u8>,
    /// Requests that came in full and wait for their reply.
    open: Vec<u32>,
    count: u64,
    /// What is left of each reply's body, and the windows: of all, and of a new stream.
    pouring: Vec<(u32, usize, i64)>,
    window: i64,
    window_each: i64,
}

impl<'a> Link<'a> {
    fn new(stream: TcpStream, manner: Manner, seen: &'a Seen) -> Self {
        let (bytes, open, pouring) = (Vec::new(), Vec::new(), Vec::new());
        let (window, window_each) = (65_535, 65_535);
        Self { stream, manner, seen, bytes, open, count: 0, pouring, window, window_each }
    }

    fn serve(mut self) -> std::io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(Duration::from_millis(3)))?;
        let settings = match self.manner {
            Manner::Takes(most) => [&[0, 3][..], &most.to_be_bytes()].concat(),
            Manner::Sips(window) => [&[0, 4][..], &window.to_be_bytes()].concat(),
            _ => Vec::new(),
        };
        self.say(SETTINGS, 0, 0, &settings)?;
        self.fill(PREFACE)?;
        self.bytes.drain(..PREFACE);
        loop {
            self.fill(HEAD)?;
            let length =
                u32::from_be_bytes([0, self.bytes[0], self.bytes[1], self.bytes[2]]) as usize;
            self.fill(HEAD + length)?;
            let frame: Vec<u8> = self.bytes.drain(..HEAD + length).collect();
            let stream = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]);
            self.hear(frame[3], frame[4], stream, &frame[HEAD..])?;
        }
    }

    /// Reads until there are so many bytes; while it is quiet, those that wait are answered.
    fn fill(&mut self, most: usize) -> std::io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        while self.bytes.len() < most {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.bytes.extend_from_slice(&buffer[..read]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    while let Some(stream) = self.open.pop() {
                        self.answer(stream)?;
                    }
                }
                // A stop of this process interrupts a read with a time limit (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn hear(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        match kind {
            SETTINGS if flags == 0 => {
                for it in payload.chunks(6).filter(|it| it[1] == 4) {
                    self.window_each = u32::from_be_bytes([it[2], it[3], it[4], it[5]]).into();
                }
                self.say(SETTINGS, 1, 0, &[])?;
                self.say(PING, 0, 0, b"are you?")
            }
            DATA if !payload.is_empty() => {
                self.seen.body_bytes.fetch_add(payload.len() as u64, SeqCst);
                let by = (payload.len() as u32).to_be_bytes();
                self.say(WINDOW_UPDATE, 0, 0, &by)?;
                if flags & END_STREAM != 0 {
                    return self.asked(stream);
                }
                self.say(WINDOW_UPDATE, 0, stream, &by)
            }
            HEADERS if flags & END_STREAM != 0 => self.asked(stream),
            RST_STREAM => {
                self.seen.cancelled.fetch_add(1, SeqCst);
                Ok(())
            }
            WINDOW_UPDATE => {
                let by = i64::from(u32::from_be_bytes(payload.try_into().unwrap()));
                match self.pouring.iter_mut().find(|it| it.0 == stream) {
                    Some(it) => it.2 += by,
                    None if stream == 0 => self.window += by,
                    None => {}
                }
                self.pour()
            }
            _ => Ok(()),
        }
    }

    /// A whole request came.
    fn asked(&mut self, stream: u32) -> std::io::Result<()> {
        self.count += 1;
        let all = self.seen.requests.fetch_add(1, SeqCst) + 1;
        self.seen.beside.fetch_add(self.seen.draining.load(SeqCst).min(1), SeqCst);
        match self.manner {
            Manner::Takes(_) => {
                self.open.push(stream);
                self.seen.open_max.fetch_max(self.open.len() as u64, SeqCst);
                Ok(())
            }
            Manner::GoesAway(after)
            | Manner::Drains(after, _)
            | Manner::Warns(after, _)
            | Manner::Leaves(after)
                if self.count > after =>
            {
                Ok(())
            }
            Manner::GoesAway(after) if self.count == after => {
                self.go_away(stream).and_then(|()| self.answer(stream))
            }
            Manner::Drains(after, length) if self.count == after => {
                self.go_away(stream).and_then(|()| self.drain(stream, length))
            }
            Manner::Warns(after, length) if self.count == after => {
                self.go_away(u32::MAX >> 1)?;
                self.drain(stream, length)?;
                self.go_away(stream)
            }
            Manner::Leaves(after) if self.count == after => {
                self.go_away(stream).and(Err(ErrorKind::ConnectionAborted.into()))
            }
            Manner::Ends(after) if self.count > after => Err(ErrorKind::ConnectionAborted.into()),
            Manner::Dies(after, length) if self.count > after => {
                thread::sleep(length);
                Err(ErrorKind::ConnectionAborted.into())
            }
            Manner::TakesNone => self.say(GOAWAY, 0, 0, &[0; 8]),
            Manner::Refuses(every) if all.is_multiple_of(every) => {
                self.say(RST_STREAM, 0, stream, &7_u32.to_be_bytes())
            }
            Manner::Swallows(every) if all.is_multiple_of(every) => Ok(()),
            Manner::Stalls(after, length) => {
                let mut stall = self.seen.stall.lock().unwrap();
                if all >= after && stall.is_none() {
                    let from_ns = Monotonic.now_ns();
                    thread::sleep(length);
                    *stall = Some((from_ns, from_ns + length.as_nanos() as u64));
                }
                drop(stall);
                self.answer(stream)
            }
            Manner::Pours(bytes) => {
                self.say(HEADERS, END_HEADERS, stream, OK)?;
                self.pouring.push((stream, bytes, self.window_each));
                self.pour()
            }
            _ => self.answer(stream),
        }
    }

    fn go_away(&mut self, last: u32) -> std::io::Result<()> {
        self.say(GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())
    }

    /// Answers the last request late.
    fn drain(&mut self, stream: u32, length: Duration) -> std::io::Result<()> {
        self.seen.draining.fetch_add(1, SeqCst);
        thread::sleep(length);
        self.seen.draining.fetch_sub(1, SeqCst);
        self.answer(stream)?;
        self.seen.drained.fetch_add(1, SeqCst);
        Ok(())
    }

    fn answer(&mut self, stream: u32) -> std::io::Result<()> {
        self.say(HEADERS, END_HEADERS, stream, OK)?;
        self.say(DATA, END_STREAM, stream, b"hello")
    }

    fn pour(&mut self) -> std::io::Result<()> {
        let mut pouring = std::mem::take(&mut self.pouring);
        for (stream, left, window) in &mut pouring {
            while *left > 0 && *window > 0 && self.window > 0 {
                let most = (*left).min(*window as usize).min(self.window as usize).min(16_384);
                (*left, *window, self.window) =
                    (*left - most, *window - most as i64, self.window - most as i64);
                let end = if *left == 0 { END_STREAM } else { 0 };
                self.say(DATA, end, *stream, &vec![b'p'; most])?;
            }
        }
        pouring.retain(|it| it.1 > 0);
        self.pouring = pouring;
        Ok(())
    }

    fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let length = (payload.len() as u32).to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.stream.write_all(&[&head[..], payload].concat())
    }
}
