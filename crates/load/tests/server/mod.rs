//! A small memcached, as good or as bad as a test needs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_base::clock::{Clock, Monotonic};
use sojourn_load::job::Job;
use sojourn_load::protocols::content::Content;

/// What the server does to its clients.
#[derive(Clone, Copy, Debug)]
pub enum Behaviour {
    /// Answers.
    Good,
    /// Answers nothing for a while, from the given request on, on all connections.
    Stall { after: u64, length: Duration },
    /// Closes each connection after as many requests.
    CloseAfter(u64),
    /// Ends after as many requests.
    DieAfter(u64),
    /// Every so-manieth reply is noise.
    GarbageEvery(u64),
    /// Reads and says nothing.
    Mute,
    /// Never answers every so-manieth request.
    SwallowEvery(u64),
    /// Has not got every so-manieth item.
    Forgets(u64),
}

struct State {
    behaviour: Behaviour,
    content: Content,
    requests: AtomicU64,
    /// When the first GET came, ns of the monotonic clock; 0: none did.
    first_ns: AtomicU64,
    sets: AtomicU64,
    is_over: AtomicBool,
    /// Start and end of the stall, ns of the monotonic clock; who holds the lock stalls all.
    stall: Mutex<Option<(u64, u64)>>,
    streams: Mutex<Vec<TcpStream>>,
}

/// A server on a port of its own; ends when dropped.
pub struct Server {
    state: Arc<State>,
    port: u16,
}

impl Server {
    pub fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            behaviour,
            content: Content::new(100, "30", "200").unwrap(),
            requests: AtomicU64::new(0),
            first_ns: AtomicU64::new(0),
            sets: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            stall: Mutex::new(None),
            streams: Mutex::new(Vec::new()),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(SeqCst) {
                    return; // closes the listener
                }
                shared.streams.lock().unwrap().push(stream.try_clone().unwrap());
                let shared = Arc::clone(&shared);
                thread::spawn(move || serve(&stream, &shared));
            }
        });
        Self { state, port }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where the connections came from, in order; those that are gone have none.
    pub fn peers(&self) -> Vec<IpAddr> {
        let streams = self.state.streams.lock().unwrap();
        streams.iter().filter_map(|stream| Some(stream.peer_addr().ok()?.ip())).collect()
    }

    /// GETs seen.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(SeqCst)
    }

    /// Sets the flag that is answered when it has seen so many GETs, or half a minute has gone by.
    pub fn flag_after(&self, requests: u64) -> Arc<AtomicBool> {
        let (flag, state) = (Arc::new(AtomicBool::new(false)), Arc::clone(&self.state));
        let set = Arc::clone(&flag);
        let deadline = Instant::now() + Duration::from_secs(30);
        thread::spawn(move || {
            while state.requests.load(SeqCst) < requests && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
            set.store(true, SeqCst);
        });
        flag
    }

    /// When the first of them came, ns of the monotonic clock.
    pub fn first_ns(&self) -> Option<u64> {
        Some(self.state.first_ns.load(SeqCst)).filter(|&ns| ns > 0)
    }

    pub fn sets(&self) -> u64 {
        self.state.sets.load(SeqCst)
    }

    pub fn stall(&self) -> Option<(u64, u64)> {
        *self.state.stall.lock().unwrap()
    }

    /// Ends the server; its port, on which nothing listens any more.
    pub fn port_after_end(self) -> u16 {
        let port = self.port;
        end(&self.state, port);
        let quiet = || TcpStream::connect(("127.0.0.1", port)).is_err();
        while !quiet() {
            thread::sleep(Duration::from_millis(1));
        }
        port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&self.state, self.port);
    }
}

/// Closes everything and wakes the listener, so that it goes too.
fn end(state: &State, port: u16) {
    state.is_over.store(true, SeqCst);
    for stream in state.streams.lock().unwrap().drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
    let _ = TcpStream::connect(("127.0.0.1", port));
}

fn serve(stream: &TcpStream, state: &State) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let mut on_this = 0;
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        on_this += 1;
        let reply = match words.as_slice() {
            ["set", _, _, _, len] => {
                let mut body = vec![0; len.parse::<usize>().unwrap() + 2];
                if reader.read_exact(&mut body).is_err() {
                    return;
                }
                state.sets.fetch_add(1, SeqCst);
                b"STORED\r\n".to_vec()
            }
            ["get", keys @ ..] => match get(keys, on_this, state, stream) {
                Some(reply) => reply,
                None => return,
            },
            _ => b"ERROR\r\n".to_vec(),
        };
        if (&*stream).write_all(&reply).is_err() {
            return;
        }
    }
}

/// The reply to a GET; `None`: the connection is closed instead.
fn get(keys: &[&str], on_this: u64, state: &State, stream: &TcpStream) -> Option<Vec<u8>> {
    let nth = state.requests.fetch_add(1, SeqCst) + 1;
    let _ = state.first_ns.compare_exchange(0, Monotonic.now_ns(), SeqCst, SeqCst);
    match state.behaviour {
        Behaviour::Stall { after, length } => {
            let mut stall = state.stall.lock().unwrap();
            if nth >= after && stall.is_none() {
                let start = Monotonic.now_ns();
                thread::sleep(length);
                *stall = Some((start, Monotonic.now_ns()));
            }
        }
        Behaviour::CloseAfter(most) if on_this > most => {
            let _ = stream.shutdown(Shutdown::Both);
            return None;
        }
        Behaviour::DieAfter(most) if nth > most => {
            let port = stream.local_addr().unwrap().port();
            end(state, port);
            return None;
        }
        Behaviour::GarbageEvery(every) if nth.is_multiple_of(every) => {
            return Some(b"?!\r\n\0".to_vec());
        }
        Behaviour::SwallowEvery(every) if nth.is_multiple_of(every) => return Some(Vec::new()),
        Behaviour::Mute => return Some(Vec::new()),
        _ => {}
    }
    let mut reply = Vec::new();
    for key in keys {
        let item: u32 = key.parse().unwrap();
        if matches!(state.behaviour, Behaviour::Forgets(every) if u64::from(item).is_multiple_of(every))
        {
            continue;
        }
        reply.extend_from_slice(format!("VALUE {key} 0 200\r\n").as_bytes());
        state.content.push_value(item, &mut reply);
        reply.extend_from_slice(b"\r\n");
    }
    reply.extend_from_slice(b"END\r\n");
    Some(reply)
}

/// 2000 requests a second on eight connections to a server of these, for 0.6 s.
pub fn job(server: &Server, transport: &str) -> Job {
    Job {
        target: format!("memcache://127.0.0.1:{}", server.port()),
        rate: "2k".into(),
        duration: "600ms".into(),
        warmup: "100ms".into(),
        drain: "3s".into(),
        connections: 8,
        depth: 64,
        items: 100,
        wait: "sleep".into(),
        transport: transport.into(),
        seed: 7,
        ..Job::default()
    }
}
