//! A server with one thing wrong in it, and what disturbs one: the ground truth for culprits.
//!
//! `planted burn|lock|disk FILE` is an echo server of one worker that prints its port; a request is that
//! of `echo.rs`. What `app_us` asks for it spends computing (`burn`) or reading FILE past the page cache
//! (`disk`). With `lock` it takes a lock for every request, which another thread, `locker`, holds for
//! 10 ms of every 50 while it sleeps. `planted hog` computes for ever; `planted flood` sends packets to
//! a port that nothing listens on.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};

const REQUEST: usize = 32;
/// Bytes of one read, and what its memory must be aligned to.
const READ: usize = 1 << 20;
const ALIGNED: usize = 4096;
/// Packets of a flood at once, and then a rest: a CPU's backlog holds 1000, and drops what is more, the
/// packets of others too.
const BURST: usize = 100;
const REST: Duration = Duration::from_micros(300);

enum Work {
    Burn,
    Lock(Arc<Mutex<u64>>),
    Disk(File, Vec<u8>),
}

impl Work {
    fn of(mode: &str, file: Option<&str>) -> Self {
        match mode {
            "lock" => {
                let lock = Arc::new(Mutex::new(0));
                let held = Arc::clone(&lock);
                let locker = move || loop {
                    thread::sleep(Duration::from_millis(40));
                    let mut count = held.lock().expect("nobody panics");
                    thread::sleep(Duration::from_millis(10));
                    *count += 1;
                };
                thread::Builder::new().name("locker".into()).spawn(locker).expect("a thread");
                Self::Lock(lock)
            }
            "disk" => {
                let path = file.expect("disk takes a FILE");
                let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
                Self::Disk(file.expect("FILE can be read past the cache"), vec![0; READ + ALIGNED])
            }
            _ => Self::Burn,
        }
    }

    fn run(&mut self, app_us: u32) {
        match self {
            Self::Burn => burn(u64::from(app_us) * 1000),
            Self::Lock(lock) => *lock.lock().expect("nobody panics") += 1,
            Self::Disk(file, buffer) if app_us > 0 => {
                let first = buffer.as_ptr().align_offset(ALIGNED);
                let whole = file.metadata().expect("it is open").len();
                for at in (0..whole).step_by(READ) {
                    let part = &mut buffer[first..first + READ];
                    file.read_at(part, at).expect("FILE is there");
                }
            }
            Self::Disk(..) => {}
        }
    }
}

/// Computes until this thread has had so much CPU time.
fn burn(ns: u64) {
    let now_ns = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    let end_ns = now_ns().saturating_add(ns);
    while now_ns() < end_ns {}
}

/// Serves what connects, in one thread, until the process ends.
fn serve(listener: &TcpListener, mut work: Work) {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll exists");
    let add = |socket: &dyn std::os::fd::AsFd, number: u64| {
        let data = epoll::EventData::new_u64(number);
        epoll::add(&epoll, socket.as_fd(), data, epoll::EventFlags::IN).expect("a fresh socket");
    };
    add(listener, 0);
    let mut streams: Vec<Option<TcpStream>> = vec![None];
    let mut events = Vec::with_capacity(64);
    loop {
        events.clear();
        let _ = epoll::wait(&epoll, spare_capacity(&mut events), None);
        for event in &events {
            let number = event.data.u64() as usize;
            if number == 0 {
                let (stream, _) = listener.accept().expect("somebody connects");
                stream.set_nodelay(true).expect("a socket");
                add(&stream, streams.len() as u64);
                streams.push(Some(stream));
            } else if streams[number].as_mut().is_some_and(|stream| !answer(stream, &mut work)) {
                streams[number] = None;
            }
        }
    }
}

/// One request; false if the client has gone.
fn answer(stream: &mut TcpStream, work: &mut Work) -> bool {
    let mut request = [0; REQUEST];
    if stream.read_exact(&mut request).is_err() {
        return false;
    }
    let word = |at: usize| u32::from_le_bytes(request[at..at + 4].try_into().expect("four"));
    work.run(word(8));
    stream.write_all(&vec![b'r'; word(16) as usize]).is_ok()
}

fn flood() -> ! {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    socket.connect("127.0.0.1:9").expect("an address");
    loop {
        for _ in 0..BURST {
            let _ = socket.send(&[0; 64]); // refused: nobody listens there
        }
        thread::sleep(REST);
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mode = words.first().map_or("burn", String::as_str);
    if mode == "hog" {
        rustix::thread::set_name(c"planted-hog").expect("a short name");
        burn(u64::MAX);
    }
    if mode == "flood" {
        flood();
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    writeln!(std::io::stdout(), "{port}").expect("somebody reads the port");
    let work = Work::of(mode, words.get(1).map(String::as_str));
    let worker = move || serve(&listener, work);
    let worker = thread::Builder::new().name("worker".into()).spawn(worker).expect("a thread");
    worker.join().expect("it serves for ever");
}
