//! A server whose threads sleep between a request and its reply: the ground truth for waiting.
//!
//! `waits KIND [WHAT]` prints its port. A request is 32 bytes, those of `echo.rs`; its `app_us` says how long
//! the wait is. By KIND it waits for
//!
//! - `call UPSTREAM`: the service on that port, in a thread of each connection, which sleeps in `recv`;
//! - `poll UPSTREAM`: the same, asleep in `poll`;
//! - `loop UPSTREAM`: the same, in one thread that serves all connections (a proxy), asleep in `epoll_wait`;
//! - `pool UPSTREAM`: the same, in two workers to which one thread hands the requests that it reads;
//! - `lock`: a lock that another thread holds for so long;
//! - `timer`: the time that its loop gives `epoll_wait`;
//! - `fault FILE`: pages of FILE that are in memory no more, whatever the length. The reply is for how
//!   many of them the thread slept, by the kernel's count of its switches: at most 255.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

const REQUEST: usize = 32;
const PAGE: usize = 4096;
const WORKERS: usize = 2;
type Bytes = [u8; REQUEST];

fn length(request: &Bytes) -> Duration {
    let us = u32::from_le_bytes(request[8..12].try_into().expect("four"));
    Duration::from_micros(u64::from(us))
}

fn connect(port: &str) -> TcpStream {
    let port: u16 = port.parse().expect("UPSTREAM is a port");
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    stream
}

/// What a thread does for one request before it answers, and the answer.
type Wait = Box<dyn FnMut(&Bytes) -> u8 + Send>;

fn ask(port: &str, polls: bool) -> Wait {
    let mut upstream = connect(port);
    Box::new(move |request| {
        upstream.write_all(request).expect("it reads");
        if polls {
            let mut watched = [PollFd::new(&upstream, PollFlags::IN)];
            poll(&mut watched, None).expect("poll exists");
        }
        upstream.read_exact(&mut [0]).expect("it answers");
        b'r'
    })
}

/// The other thread has the lock before this one asks for it.
fn lock() -> Wait {
    let lock = Arc::new(Mutex::new(0_u64));
    let (hold, held) = channel::<Duration>();
    let (tell, reported) = channel::<()>();
    let its_lock = Arc::clone(&lock);
    let holder = move || {
        for length in held {
            let mut count = its_lock.lock().expect("nobody panics");
            tell.send(()).expect("it lives");
            thread::sleep(length);
            *count += 1;
        }
    };
    thread::Builder::new().name("holder".into()).spawn(holder).expect("a thread");
    Box::new(move |request| {
        hold.send(length(request)).expect("it lives");
        reported.recv().expect("it lives"); // asleep on a futex, as in the lock
        *lock.lock().expect("nobody panics") += 1;
        b'r'
    })
}

/// How often this thread left its CPU in order to sleep.
fn sleeps() -> i64 {
    // SAFETY: zeroes are a valid `rusage`, which the call fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_nvcsw
    }
}

/// Every page of the file, from the disk.
fn fault(path: &str) -> Wait {
    let file = File::open(path).expect("FILE can be read");
    let bytes = file.metadata().expect("it is open").len() as usize;
    let fd = file.as_raw_fd();
    // SAFETY: a mapping of a file that stays open, read within its length.
    let at = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
    };
    assert_ne!(at, libc::MAP_FAILED);
    let at = at as usize;
    Box::new(move |request| {
        if length(request).is_zero() {
            return 0;
        }
        // SAFETY: advice for all of the mapping above, which `file` keeps.
        unsafe {
            libc::madvise(at as *mut libc::c_void, bytes, libc::MADV_DONTNEED);
            libc::madvise(at as *mut libc::c_void, bytes, libc::MADV_RANDOM);
            libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED);
        }
        let before = sleeps();
        for page in (0..bytes).step_by(PAGE) {
            // SAFETY: within the mapping; volatile, so that it is read.
            let _ = unsafe { std::ptr::read_volatile((at + page) as *const u8) };
        }
        u8::try_from(sleeps() - before).unwrap_or(u8::MAX)
    })
}

/// A thread of its own, which reads, waits and answers.
fn serve(mut stream: TcpStream, mut wait: Wait) {
    let mut request = [0; REQUEST];
    while stream.read_exact(&mut request).is_ok() {
        let answer = wait(&request);
        if stream.write_all(&[answer]).is_err() {
            return;
        }
    }
}

/// Sockets of a loop: what comes on the first goes to the second, and back.
struct Pair(TcpStream, TcpStream);

fn watch(epoll: &OwnedFd, source: &impl AsFd, number: usize) {
    let data = epoll::EventData::new_u64(number as u64);
    epoll::add(epoll, source, data, epoll::EventFlags::IN).expect("a fresh socket");
}

/// What has come, until then at most.
fn events(epoll: &OwnedFd, until: Option<Instant>) -> Vec<usize> {
    let mut events = Vec::with_capacity(64);
    let timeout = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec { tv_sec: 0, tv_nsec: left.as_nanos() as i64 }
    });
    let _ = epoll::wait(epoll, spare_capacity(&mut events), timeout.as_ref());
    events.iter().map(|event: &epoll::Event| event.data.u64() as usize).collect()
}

/// One thread for all connections.
fn proxy(listener: &TcpListener, port: &str) {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll exists");
    watch(&epoll, listener, 0);
    let mut pairs: Vec<Pair> = Vec::new();
    loop {
        for number in events(&epoll, None) {
            if number == 0 {
                let pair = Pair(listener.accept().expect("somebody connects").0, connect(port));
                pair.0.set_nodelay(true).expect("a socket");
                watch(&epoll, &pair.0, 2 + 2 * pairs.len());
                watch(&epoll, &pair.1, 3 + 2 * pairs.len());
                pairs.push(pair);
                continue;
            }
            let Pair(client, upstream) = &mut pairs[number / 2 - 1];
            let mut bytes = [0; REQUEST];
            let (from, to) = if number % 2 == 0 { (client, upstream) } else { (upstream, client) };
            match from.read(&mut bytes) {
                Ok(0) | Err(_) => epoll::delete(&epoll, &*from).expect("it was added"),
                Ok(n) => to.write_all(&bytes[..n]).expect("it reads"),
            }
        }
    }
}

/// One thread reads of all connections, others wait and answer.
fn hand_over(listener: &TcpListener, port: &str) {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll exists");
    watch(&epoll, listener, 0);
    let (hand, taken) = channel::<(TcpStream, Bytes)>();
    let taken = Arc::new(Mutex::new(taken));
    for _ in 0..WORKERS {
        let (taken, mut wait) = (Arc::clone(&taken), ask(port, false));
        thread::spawn(move || {
            loop {
                let (mut stream, request) =
                    taken.lock().expect("nobody panics").recv().expect("a request");
                let answer = wait(&request);
                stream.write_all(&[answer]).expect("it reads");
            }
        });
    }
    read_for(&epoll, listener, &hand);
}

fn read_for(epoll: &OwnedFd, listener: &TcpListener, hand: &Sender<(TcpStream, Bytes)>) {
    let mut streams: Vec<TcpStream> = Vec::new();
    loop {
        for number in events(epoll, None) {
            if number == 0 {
                let (stream, _) = listener.accept().expect("somebody connects");
                stream.set_nodelay(true).expect("a socket");
                watch(epoll, &stream, 1 + streams.len());
                streams.push(stream);
                continue;
            }
            let mut bytes = [0; REQUEST];
            let stream = &mut streams[number - 1];
            if stream.read_exact(&mut bytes).is_err() {
                epoll::delete(epoll, &*stream).expect("it was added");
                continue;
            }
            let copy = stream.try_clone().expect("file descriptors are left");
            hand.send((copy, bytes)).expect("the workers live");
        }
    }
}

/// A loop that gives `epoll_wait` a time; one request at a time.
fn time_out(listener: &TcpListener) {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll exists");
    watch(&epoll, listener, 0);
    let (mut client, mut until) = (None::<TcpStream>, None::<Instant>);
    loop {
        for number in events(&epoll, until) {
            if number == 0 {
                let (stream, _) = listener.accept().expect("somebody connects");
                watch(&epoll, &stream, 1);
                client = Some(stream);
                continue;
            }
            let mut bytes = [0; REQUEST];
            let stream = client.as_mut().expect("it is there");
            match stream.read_exact(&mut bytes) {
                Ok(()) => until = Some(Instant::now() + length(&bytes)),
                Err(_) => epoll::delete(&epoll, &*stream).expect("it was added"),
            }
        }
        if until.is_some_and(|until| until <= Instant::now()) {
            until = None;
            client.as_mut().expect("it asked").write_all(b"r").expect("it reads");
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let what = words.get(1).map_or("", String::as_str);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    writeln!(std::io::stdout(), "{port}").expect("somebody reads the port");
    let wait_of: Box<dyn Fn() -> Wait> = match words[0].as_str() {
        "loop" => return proxy(&listener, what),
        "pool" => return hand_over(&listener, what),
        "timer" => return time_out(&listener),
        "call" => Box::new(|| ask(what, false)),
        "poll" => Box::new(|| ask(what, true)),
        "lock" => Box::new(lock),
        "fault" => Box::new(|| fault(what)),
        word => panic!("{word} is none of call, poll, loop, pool, lock, timer, fault"),
    };
    for stream in listener.incoming().flatten() {
        stream.set_nodelay(true).expect("a socket");
        let wait = wait_of();
        thread::spawn(move || serve(stream, wait));
    }
}
