//! Memcached, NGINX and Redis as they are installed, in processes of their own, and a client of each.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use sojourn_trace::attach::target;

use super::child::bound;
use super::say;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Memcached { threads: u32 },
    Nginx { workers: u32, is_corked: bool },
    Redis,
}

pub struct Real {
    kind: Kind,
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Real {
    /// Starts it and waits until all of it is there; `None`, and it is said, if it is not installed.
    pub fn start(kind: Kind, environment: &[(&str, String)]) -> Option<Self> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let program = installed(kind)?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("sojourn-trace-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(folder.join("files")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(words(kind, port, &folder)).current_dir(&folder);
        command.envs(environment.iter().cloned()).stdout(Stdio::null()).stderr(Stdio::null());
        // Not killed: NGINX ends its workers when it is told to end itself.
        let child = bound(&mut command, libc::SIGTERM).spawn().unwrap();
        let real = Self { kind, child, port, folder };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !real.is_whole() {
            assert!(Instant::now() < deadline, "{kind:?} does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        Some(real)
    }

    /// It listens; NGINX does so before its workers are there.
    fn is_whole(&self) -> bool {
        let Ok(target) = target::find(Path::new("/proc"), self.pid(), &[]) else { return false };
        let processes = match self.kind {
            Kind::Nginx { workers, .. } => 1 + workers as usize,
            _ => 1,
        };
        target.pids.len() == processes && TcpStream::connect(("127.0.0.1", self.port)).is_ok()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Keeps `bytes` bytes under the name `name`.
    pub fn keep(&self, name: &str, bytes: usize) {
        let value = "v".repeat(bytes);
        let (ask, answer) = match self.kind {
            Kind::Memcached { .. } => {
                (format!("set {name} 0 0 {bytes}\r\n{value}\r\n"), "STORED\r\n")
            }
            Kind::Redis => (resp(&["SET", name, &value]), "+OK\r\n"),
            Kind::Nginx { .. } => {
                fs::write(self.folder.join("files").join(name), value).unwrap();
                return;
            }
        };
        let mut stream = self.connect();
        stream.write_all(ask.as_bytes()).unwrap();
        let mut answered = vec![0; answer.len()];
        stream.read_exact(&mut answered).unwrap();
        assert_eq!(answered, answer.as_bytes());
    }

    /// The bytes that ask for `name`.
    pub fn get(&self, name: &str) -> Vec<u8> {
        match self.kind {
            Kind::Memcached { .. } => format!("get {name}\r\n").into_bytes(),
            Kind::Redis => resp(&["GET", name]).into_bytes(),
            Kind::Nginx { .. } => format!("GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes(),
        }
    }

    /// The same request with `more` bytes that the server has to read: a value, or headers.
    pub fn long(&self, name: &str, more: usize) -> Vec<u8> {
        let value = "v".repeat(more);
        match self.kind {
            Kind::Memcached { .. } => format!("set {name} 0 0 {more}\r\n{value}\r\n").into_bytes(),
            Kind::Redis => resp(&["SET", name, &value]).into_bytes(),
            Kind::Nginx { .. } => {
                format!("GET /{name} HTTP/1.1\r\nHost: a\r\nX-More: {value}\r\n\r\n").into_bytes()
            }
        }
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        // SAFETY: a child of ours that has not been waited for. NGINX ends its workers then.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.child.try_wait().is_ok_and(|it| it.is_none()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Where the server's program is.
fn installed(kind: Kind) -> Option<PathBuf> {
    let name = match kind {
        Kind::Memcached { .. } => "memcached",
        Kind::Nginx { .. } => "nginx",
        Kind::Redis => "redis-server",
    };
    let path = env::var("PATH").unwrap_or_default() + ":/usr/sbin:/usr/local/sbin";
    let result = env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.exists());
    if result.is_none() {
        say("skipped", &format!("{name} is not installed"));
    }
    result
}

fn words(kind: Kind, port: u16, folder: &Path) -> Vec<String> {
    let line = match kind {
        Kind::Memcached { threads } => {
            format!("-u root -l 127.0.0.1 -p {port} -U 0 -t {threads} -m 64 -I 2m -c 1024")
        }
        Kind::Redis => format!("--bind 127.0.0.1 --port {port} --appendonly no --save"),
        Kind::Nginx { workers, is_corked } => {
            let conf = folder.join("nginx.conf");
            fs::write(&conf, nginx(workers, is_corked, port)).unwrap();
            format!("-p {} -c {}", folder.display(), conf.display())
        }
    };
    let mut words: Vec<String> = line.split(' ').map(Into::into).collect();
    if kind == Kind::Redis {
        words.push(String::new()); // nothing is saved
    }
    words
}

fn nginx(workers: u32, is_corked: bool, port: u16) -> String {
    let nopush = if is_corked { "on" } else { "off" };
    format!(
        "daemon off; user root root; worker_processes {workers}; pid nginx.pid; error_log stderr crit;
         events {{ worker_connections 1024; }}
         http {{
           access_log off; sendfile on; tcp_nopush {nopush}; keepalive_requests 1000000000;
           large_client_header_buffers 4 64k;
           client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
           uwsgi_temp_path t4; scgi_temp_path t5;
           server {{ listen 127.0.0.1:{port}; root files; }}
         }}"
    )
}

fn resp(words: &[&str]) -> String {
    let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    format!("*{}\r\n", words.len()) + &words.iter().map(bulk).collect::<String>()
}

/// Whether `reply` is a whole one.
fn is_whole(kind: Kind, reply: &[u8]) -> bool {
    let text = String::from_utf8_lossy(reply);
    let number = |text: &str| text.split("\r\n").next().unwrap().trim().parse::<usize>().unwrap();
    match kind {
        Kind::Memcached { .. } => text.ends_with("END\r\n") || text.ends_with("STORED\r\n"),
        Kind::Redis => match text.split_once("\r\n") {
            Some((head, rest)) if head.starts_with('$') => rest.len() >= number(&head[1..]) + 2,
            Some(_) => true,
            None => false,
        },
        Kind::Nginx { .. } => text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            body.len() >= number(head.split_once("Content-Length:").unwrap().1)
        }),
    }
}

/// What clients do: `connections` in all, each with one request under way.
pub struct Load {
    pub connections: usize,
    pub ask: Vec<u8>,
    /// Segments that a request comes in.
    pub parts: usize,
}

/// What came of it.
pub struct Driven {
    pub requests: u64,
    pub reply_bytes: usize,
}

/// Threads of the client; each asks on all of its connections, then reads all replies.
const CLIENTS: usize = 2;

/// Of each client, at least: where a CPU is translated, one takes seconds.
const ROUNDS: usize = 3;

/// Drives `real` until `is_enough`, and for some rounds at least. Every reply is as long as the first one.
pub fn drive(real: &Real, load: &Load, is_enough: &(dyn Fn() -> bool + Sync)) -> Driven {
    let reply_bytes = first_reply(real, &load.ask);
    let client = || {
        let each = load.connections.div_ceil(CLIENTS);
        let mut streams: Vec<TcpStream> = (0..each).map(|_| real.connect()).collect();
        let (mut requests, mut reply) = (0, vec![0; reply_bytes]);
        while requests < (ROUNDS * each) as u64 || !is_enough() {
            for part in load.ask.chunks(load.ask.len().div_ceil(load.parts)) {
                for stream in &mut streams {
                    stream.write_all(part).unwrap();
                }
            }
            for stream in &mut streams {
                stream.read_exact(&mut reply).unwrap();
            }
            requests += streams.len() as u64;
        }
        requests
    };
    let requests = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().map(|it| it.join().unwrap()).sum::<u64>()
    });
    Driven { requests: requests + 1, reply_bytes }
}

/// Its length.
fn first_reply(real: &Real, ask: &[u8]) -> usize {
    let mut stream = real.connect();
    stream.write_all(ask).unwrap();
    let (mut reply, mut bytes) = (Vec::new(), vec![0; 1 << 16]);
    while !is_whole(real.kind, &reply) {
        let n = stream.read(&mut bytes).unwrap();
        assert!(n > 0, "the server ends the connection: {}", String::from_utf8_lossy(&reply));
        reply.extend_from_slice(&bytes[..n]);
    }
    reply.len()
}
