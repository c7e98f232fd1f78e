use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sojourn_workload::dist;

use super::*;
use crate::protocols;
use crate::stall::Stalls;

pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Arc<AtomicBool>,
    handle: thread::JoinHandle<Notes>,
}

fn start(protocol: &str, service: &str, servers: u32) -> Running {
    started(protocol, service, servers, None)
}

/// One server whose requests wait for calls.
pub(super) fn start_calling(
    protocol: &str,
    service: &str,
    target: Option<calls::Target>,
) -> Running {
    started(protocol, service, 1, target)
}

fn started(protocol: &str, service: &str, servers: u32, target: Option<calls::Target>) -> Running {
    let queue = Queue::new(dist::parse_ns(service).unwrap(), servers, Stalls::NONE, 1);
    let parse = protocols::find(protocol).unwrap().parse;
    let any = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind(any, parse, queue, true, false).unwrap().calling(target);
    let (address, stop) = (server.address().unwrap(), Arc::new(AtomicBool::new(false)));
    let flag = Arc::clone(&stop);
    Running { address, stop, handle: thread::spawn(move || server.run(&flag).unwrap()) }
}

impl Running {
    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    pub(super) fn end(self) -> Notes {
        self.stop.store(true, Relaxed);
        self.handle.join().unwrap()
    }
}

fn frame(id: u64, body: &[u8]) -> Vec<u8> {
    let mut frame = id.to_be_bytes().to_vec();
    frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

#[test]
fn a_reply_leaves_after_its_service_time_and_not_before() {
    let running = start("echo", "fixed:5ms", 1);
    let mut client = running.connect();
    let sent = Instant::now();
    client.write_all(&frame(1, b"hello")).unwrap();
    let mut reply = vec![0; 17];
    client.read_exact(&mut reply).unwrap();
    assert!(sent.elapsed() >= Duration::from_millis(5));
    assert_eq!(reply, frame(1, b"hello"));
    running.end();
}

#[test]
fn pipelined_replies_come_in_order_even_with_many_servers() {
    let running = start("echo", "uniform:2ms", 8);
    let mut client = running.connect();
    let frames: Vec<u8> = (0..100).flat_map(|id| frame(id, &[7; 33])).collect();
    client.write_all(&frames).unwrap();
    let mut replies = vec![0; frames.len()];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(replies, frames);
    let report = running.end().report(&crate::args::Settings::default(), 1e6);
    assert_eq!((report.requests, report.lateness_ns.count), (100, 100));
}

#[test]
fn a_reply_larger_than_the_socket_takes_arrives_whole() {
    let running = start("echo", "fixed:0", 1);
    let mut client = running.connect();
    let big = frame(9, &vec![3; 8 << 20]);
    let mut writer = client.try_clone().unwrap();
    let sent = big.clone();
    let writing = thread::spawn(move || writer.write_all(&sent).unwrap());
    let mut reply = vec![0; big.len()];
    client.read_exact(&mut reply).unwrap();
    writing.join().unwrap();
    assert!(reply == big);
    running.end();
}

#[test]
fn one_client_that_leaves_or_talks_nonsense_does_not_disturb_another() {
    let running = start("memcache", "fixed:1ms", 1);
    for _ in 0..20 {
        let mut rude = running.connect();
        rude.write_all(b"get a\r\nget b\r\nset a 0 0 999999999\r\n").unwrap();
    }
    let mut client = running.connect();
    client.write_all(b"set k 0 0 1\r\nv\r\nget k\r\n").unwrap();
    let mut reply = vec![0; "STORED\r\nVALUE k 0 1\r\nv\r\nEND\r\n".len()];
    client.read_exact(&mut reply).unwrap();
    assert!(reply.ends_with(b"v\r\nEND\r\n"));
    running.end();
}

/// The listener stays ready while somebody waits who cannot be accepted: to look at it takes a whole CPU.
#[test]
fn without_a_descriptor_the_listener_is_left_alone_until_a_connection_ends_or_for_a_while() {
    let queue = Queue::new(dist::parse_ns("0").unwrap(), 1, Stalls::NONE, 1);
    let parse = protocols::find("echo").unwrap().parse;
    let any = "127.0.0.1:0".parse().unwrap();
    let mut server = Server::bind(any, parse, queue, true, false).unwrap();
    let address = server.address().unwrap();
    let waits = |server: &mut Server| {
        let mut ready = Vec::new();
        for _ in 0..20 {
            server.poller.wait_until(0, &mut ready).unwrap(); // for 100 ms if nothing is
            if ready.iter().any(|it| it.token == LISTENER) {
                return true;
            }
        }
        false
    };
    let _first = TcpStream::connect(address).unwrap();
    assert!(waits(&mut server));
    server.accept(TcpListener::accept);
    assert_eq!(server.notes.report(&crate::args::Settings::default(), 1.0).connections, 1);
    let _second = TcpStream::connect(address).unwrap();
    assert!(waits(&mut server));
    let ends: [fn(&mut Server); 2] =
        [|server| server.close(0), |server| server.resume_in_time(u64::MAX)];
    for end in ends {
        server.accept(|_| Err(rustix::io::Errno::MFILE.into()));
        let mut ready = Vec::new();
        server.poller.look(&mut ready).unwrap();
        assert!(ready.is_empty(), "a full listener wakes it no more: {ready:?}");
        server.resume_in_time(0);
        server.poller.look(&mut ready).unwrap();
        assert!(ready.is_empty(), "not yet: {ready:?}");
        end(&mut server);
        assert!(waits(&mut server), "it is looked at again");
    }
    server.accept(TcpListener::accept);
    let report = server.notes.report(&crate::args::Settings::default(), 1.0);
    assert_eq!((report.connections, report.unaccepted), (2, 2));
}

#[test]
fn a_taken_port_is_refused_with_a_way_out() {
    let running = start("echo", "fixed:0", 1);
    let queue = Queue::new(dist::parse_ns("0").unwrap(), 1, Stalls::NONE, 1);
    let parse = protocols::find("echo").unwrap().parse;
    let fault = Server::bind(running.address, parse, queue, true, false).unwrap_err();
    assert!(fault.fix.contains("free port"), "{fault}");
    running.end();
}
