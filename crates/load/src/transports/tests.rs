//! One suite over every transport that reaches a server: the same semantics, whatever the kernel
//! interface.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::transports::hello::Greeting;

mod broken;
mod broken_tls;
mod greeting;
mod long;
mod spare;

const DEADLINE: Duration = Duration::from_secs(20);

/// Transports with sockets that this kernel offers.
fn usable() -> impl Iterator<Item = &'static TransportKind> {
    KINDS.iter().filter(|entry| entry.kind.name != "null" && (entry.works)())
}

fn ends(address: SocketAddr, connections: u32, request_bytes_max: usize) -> Ends {
    let sockets = sockets::connect(
        &mut [vec![address.into()]],
        false,
        &[],
        connections,
        &Greeting::default(),
    )
    .unwrap();
    Ends {
        says_more: false,
        addresses: vec![address.into()],
        sources: vec![],
        sockets,
        connections,
        spares: 0,
        datagrams: false,
        request_bytes_max,
        depth: 4,
        greeting: Greeting::default(),
    }
}

/// A server that hands each connection to `serve` on a thread of its own.
fn server(serve: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

/// What polls found, by connection.
#[derive(Debug, Default, PartialEq)]
struct Received {
    bytes: Vec<Vec<u8>>,
    ended: Vec<u32>,
    closed: Vec<u32>,
}

impl Received {
    fn of(connections: usize) -> Self {
        Self { bytes: vec![Vec::new(); connections], ended: Vec::new(), closed: Vec::new() }
    }

    /// Polls until `is_enough`, or panics at the deadline.
    fn until(&mut self, transport: &mut dyn Transport, is_enough: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !is_enough(self) {
            assert!(Instant::now() < deadline, "nothing more comes: {} bytes", self.bytes[0].len());
            transport.poll(Patience::for_first(1_000_000), &mut |event| match event {
                Event::Bytes(connection, bytes) => {
                    self.bytes[connection as usize].extend_from_slice(bytes);
                }
                Event::Ended(connection) | Event::Torn(connection) => self.ended.push(connection),
                Event::Closed(connection) => self.closed.push(connection),
            });
        }
    }
}

#[test]
fn the_table_names_every_file() {
    const PARTS: [&str; 9] =
        ["mod", "tests", "sockets", "buffers", "outbox", "ring", "tls", "greeted", "hello"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/transports");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().replace(".rs", ""))
        .filter(|name| !PARTS.contains(&name.as_str()))
        .map(|name| name.replace("uring", "io_uring"))
        .collect();
    let mut names: Vec<String> = KINDS.iter().map(|entry| entry.kind.name.into()).collect();
    files.sort();
    files.dedup(); // one may have a folder beside its file
    names.sort();
    assert_eq!(files, names);
}

#[test]
fn bytes_come_back_on_their_connection_and_in_order() {
    let address = server(echo);
    for entry in usable() {
        let mut transport = (entry.open)(ends(address, 5, 64)).unwrap();
        let mut result = Received::of(5);
        let mut sent = vec![Vec::new(); 5];
        for round in 0..200_u32 {
            let connection = round * 7 % 5;
            let request = format!("{round} on {connection};");
            transport.send(connection, request.as_bytes());
            sent[connection as usize].extend_from_slice(request.as_bytes());
            result.until(transport.as_mut(), |result| result.bytes == sent || round % 3 > 0);
        }
        result.until(transport.as_mut(), |result| result.bytes == sent);
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
        assert!(transport.syscalls() > 0);
    }
}

#[test]
fn large_requests_are_sent_whole_although_the_kernel_takes_them_in_parts() {
    let address = server(|mut stream| {
        thread::sleep(Duration::from_millis(30)); // let the socket's buffers fill
        echo(stream.try_clone().unwrap());
        let _ = stream.flush();
    });
    for entry in usable() {
        let size = 3_000_000;
        let mut transport = (entry.open)(ends(address, 1, size)).unwrap();
        let request: Vec<u8> = (0..size).map(|i| (i * 31 / 7) as u8).collect();
        let mut result = Received::of(1);
        for _ in 0..3 {
            transport.send(0, &request);
        }
        result.until(transport.as_mut(), |result| result.bytes[0].len() == 3 * size);
        let expected = request.repeat(3);
        assert!(result.bytes[0] == expected, "{}: order was broken", entry.kind.name);
    }
}

#[test]
fn a_closed_connection_is_reported_once_and_opens_again() {
    let address = server(|mut stream| {
        let mut one = [0];
        while stream.read_exact(&mut one).is_ok() && one[0] != b'q' {
            if stream.write_all(&one).is_err() {
                return;
            }
        }
    });
    for entry in usable() {
        let mut transport = (entry.open)(ends(address, 2, 64)).unwrap();
        let mut result = Received::of(2);
        transport.send(0, b"abq");
        result.until(transport.as_mut(), |result| !result.closed.is_empty());
        assert_eq!((result.bytes[0].as_slice(), &result.closed), (&b"ab"[..], &vec![0]));
        reopen(transport.as_mut(), 0);
        transport.send(0, b"c");
        transport.send(1, b"d");
        result.until(transport.as_mut(), |result| result.bytes == [b"abc".to_vec(), b"d".to_vec()]);
        assert_eq!((result.ended, result.closed), (vec![0], vec![0]), "{}", entry.kind.name);
    }
}

#[test]
fn a_connection_dropped_by_us_is_silent_and_opens_again() {
    let address = server(echo);
    for entry in usable() {
        let mut transport = (entry.open)(ends(address, 1, 64)).unwrap();
        let mut result = Received::of(1);
        transport.send(0, b"old");
        transport.close(0);
        reopen(transport.as_mut(), 0);
        transport.send(0, b"new");
        result.until(transport.as_mut(), |result| result.bytes[0] == b"new");
        assert!(result.closed.is_empty(), "{}", entry.kind.name);
    }
}

fn reopen(transport: &mut dyn Transport, connection: u32) {
    let deadline = Instant::now() + DEADLINE;
    while transport.reopen(connection) != Reopen::Open {
        assert!(Instant::now() < deadline, "it never opens");
    }
}

#[test]
fn a_server_that_is_gone_refuses() {
    for entry in usable() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut transport = (entry.open)(ends(address, 1, 64)).unwrap();
        drop(listener);
        let mut result = Received::of(1);
        result.until(transport.as_mut(), |result| result.closed == [0]);
        let deadline = Instant::now() + DEADLINE;
        while transport.reopen(0) != Reopen::Refused {
            assert!(Instant::now() < deadline, "{}", entry.kind.name);
        }
    }
}

#[test]
fn more_arrives_at_once_than_there_are_buffers() {
    let address = server(|mut stream| {
        let mut one = [0];
        while stream.read_exact(&mut one).is_ok() {
            if stream.write_all(&vec![one[0]; 4_000_000]).is_err() {
                return;
            }
        }
    });
    for entry in usable() {
        let mut transport = (entry.open)(ends(address, 3, 64)).unwrap();
        (0..3).for_each(|connection| transport.send(connection, &[connection as u8]));
        let mut result = Received::of(3);
        result.until(transport.as_mut(), |result| {
            result.bytes.iter().all(|bytes| bytes.len() == 4_000_000)
        });
        for (connection, bytes) in result.bytes.iter().enumerate() {
            assert!(bytes.iter().all(|&byte| byte == connection as u8), "{}", entry.kind.name);
        }
    }
}

#[test]
fn each_datagram_comes_alone() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((len, from)) = server.recv_from(&mut buffer) {
            let _ = server.send_to(&buffer[..len], from);
            let _ = server.send_to(b"again", from);
        }
    });
    for entry in usable() {
        let sockets =
            sockets::connect(&mut [vec![address.into()]], true, &[], 2, &Greeting::default())
                .unwrap();
        let ends =
            Ends { sockets, connections: 2, datagrams: true, depth: 1, ..ends(address, 0, 64) };
        let mut transport = (entry.open)(ends).unwrap();
        transport.send(1, b"hello");
        let mut seen = Vec::new();
        let deadline = Instant::now() + DEADLINE;
        while seen.len() < 2 {
            assert!(Instant::now() < deadline, "{}", entry.kind.name);
            transport.poll(Patience::for_first(1_000_000), &mut |event| match event {
                Event::Bytes(1, bytes) => seen.push(bytes.to_vec()),
                other => panic!("{}: {other:?}", entry.kind.name),
            });
        }
        assert_eq!(seen, [b"hello".to_vec(), b"again".to_vec()]);
    }
}

#[test]
fn a_poll_waits_as_long_as_told_and_no_less() {
    let address = server(echo);
    for entry in usable() {
        let mut transport = (entry.open)(ends(address, 1, 64)).unwrap();
        transport.poll(Patience::for_first(1), &mut |_| ());
        let mut waited = || {
            let start = Instant::now();
            transport.poll(Patience::for_first(20_000_000), &mut |event| panic!("{event:?}"));
            start.elapsed()
        };
        // A signal or a debugger may end one wait early, not every one.
        let waits = [waited(), waited(), waited()];
        let is_whole = waits.iter().any(|&wait| wait >= Duration::from_millis(20));
        assert!(is_whole, "{}: {waits:?}", entry.kind.name);
    }
}

#[test]
fn a_reset_is_no_end_in_order() {
    let address = server(|mut stream| {
        let mut one = [0];
        let _ = stream.read_exact(&mut one);
        let _ = stream.write_all(b"half");
        let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)); // close resets
    });
    for entry in usable() {
        let mut transport = (entry.open)(ends(address, 1, 64)).unwrap();
        let mut result = Received::of(1);
        transport.send(0, b"q");
        result.until(transport.as_mut(), |result| result.closed == [0]);
        assert_eq!(result.ended, [0; 0], "{}", entry.kind.name);
    }
}

#[test]
fn connections_come_from_the_sources_in_turn_and_so_do_later_ones() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sources: Vec<IpAddr> = ["127.0.0.2", "127.0.0.3"].map(|it| it.parse().unwrap()).to_vec();
    for entry in usable() {
        let sockets =
            sockets::connect(&mut [vec![address.into()]], false, &sources, 3, &Greeting::default())
                .unwrap();
        let peer = || listener.accept().unwrap().1.ip();
        let peers = [peer(), peer(), peer()];
        assert_eq!(peers, [sources[0], sources[1], sources[0]]);
        let ends = Ends { sources: sources.clone(), sockets, ..ends(address, 0, 64) };
        let mut transport = (entry.open)(Ends { connections: 3, ..ends }).unwrap();
        transport.close(1);
        reopen(transport.as_mut(), 1);
        assert_eq!(peer(), sources[1], "{}", entry.kind.name);
    }
}

/// Lets the calling thread, and it alone, find `call` missing (ENOSYS), as on an older kernel.
fn forbid(call: libc::c_long) {
    let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let number = std::mem::offset_of!(libc::seccomp_data, nr) as u32;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, number, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 1),
        step(answer, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0),
        step(answer, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter outlives the calls, which copy it.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) != 0
    };
    assert!(!failed, "{}", std::io::Error::last_os_error());
}

#[test]
fn epoll_reads_and_waits_on_a_kernel_without_epoll_pwait2() {
    let address = server(echo);
    let entry = KINDS.iter().find(|entry| entry.kind.name == "epoll").unwrap();
    let old = thread::spawn(move || {
        forbid(libc::SYS_epoll_pwait2);
        let mut transport = (entry.open)(ends(address, 2, 64)).unwrap();
        let mut result = Received::of(2);
        for _ in 0..50 {
            transport.send(0, b"a");
            transport.send(1, b"b");
        }
        result.until(transport.as_mut(), |result| result.bytes == [[b'a'; 50], [b'b'; 50]]);
        let waits: Vec<Duration> = (0..3)
            .map(|_| {
                let start = Instant::now();
                transport.poll(Patience::for_first(20_000_000), &mut |event| panic!("{event:?}"));
                start.elapsed()
            })
            .collect();
        assert!(waits.iter().any(|&wait| wait >= Duration::from_millis(20)), "{waits:?}");
    });
    old.join().unwrap();
}
