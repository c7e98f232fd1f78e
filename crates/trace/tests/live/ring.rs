//! The black box on real servers: what is planted is in the dump with its cause, and restarts are followed.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_trace::blackbox::dump::{Dump, SlowRequest};

use crate::support::alone;
use crate::support::child::Held;
use crate::support::echo::{self, Ask};
use crate::support::ring::Ring;
use crate::support::server::Server;

const MS: u64 = 1_000_000;
fn call(ask: Ask, stream: &mut TcpStream, times: usize) {
    for _ in 0..times {
        ask.call(stream);
        thread::sleep(Duration::from_millis(1));
    }
}

/// One request that comes while the server is stopped, for 200 ms.
fn call_while_stopped(server: &Server, stream: &mut TcpStream) {
    server.stop();
    Ask::default().send(stream);
    thread::sleep(Duration::from_millis(200));
    server.go_on();
    Ask::default().receive(stream);
}

/// How many of the requests from `ns` on have a culprit of this kind in the first place.
fn first<'a>(dump: &'a Dump, ns: u64, kind: &str) -> (Vec<&'a SlowRequest>, usize) {
    let slow: Vec<&SlowRequest> = dump.slow.iter().filter(|it| it.total_ns >= ns).collect();
    let is_it = |request: &&&SlowRequest| {
        request.culprits.first().is_some_and(|(at, _)| dump.culprits[*at as usize].kind == kind)
    };
    let listed = slow.iter().filter(is_it).count();
    (slow, listed)
}

#[test]
fn a_stop_starts_a_dump_that_has_the_request_and_the_sender() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let pid = server.pid().to_string();
    let mut ring = Ring::start(&["--pid", &pid, "--over", "100ms"]);
    ring.wait_for("watching", 1);
    let mut stream = server.connect();
    call(Ask::default(), &mut stream, 50);
    call_while_stopped(&server, &mut stream);
    let dump = ring.dump("over");
    let (slow, stopped) = first(&dump, 190 * MS, "stopped");
    assert!(!slow.is_empty() && stopped == slow.len(), "{:?}", dump.culprits);
    let own = fs::read_to_string("/proc/thread-self/comm").unwrap();
    assert!(dump.culprits.iter().any(|it| it.kind == "stopped" && it.name == own.trim_end()));
    for request in &dump.slow {
        assert_eq!(request.stages.iter().map(|(_, ns)| ns).sum::<u64>(), request.total_ns);
        assert_eq!(request.culprits.iter().map(|(_, ns)| ns).sum::<u64>(), request.total_ns);
    }
    assert!(dump.requests >= 51 && dump.blind.share == 0.0, "{} {:?}", dump.requests, dump.blind);
    let names: Vec<String> = fs::read_dir(&ring.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for end in [".json", ".perfetto.json", ".otlp.jsonl"] {
        assert!(names.iter().any(|name| name.ends_with(end)), "{end}: {names:?}");
    }
    assert_eq!(ring.end(), 0, "stopped is its usual end");
}

/// What is slow beside a slow request may still end for a second: the end does not wait for it.
#[test]
fn a_dump_that_is_due_is_written_before_the_end() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let pid = server.pid().to_string();
    let mut ring = Ring::start(&["--pid", &pid, "--over", "100ms"]);
    ring.wait_for("watching", 1);
    let mut stream = server.connect();
    call(Ask::default(), &mut stream, 5);
    call_while_stopped(&server, &mut stream);
    assert_eq!(ring.end(), 0);
    let kinds: Vec<String> = ring.dumps().into_iter().map(|dump| dump.cause.kind).collect();
    assert_eq!(kinds, ["over"], "{}", ring.text());
}

/// A message that gets no reply, a second without anything, and then a request.
#[test]
fn silence_after_a_message_without_a_reply_is_in_no_request() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let pid = server.pid().to_string();
    let ring = Ring::start(&["--pid", &pid]);
    ring.wait_for("watching", 1);
    let mut stream = server.connect();
    // The server's time of a request lies within the client's, but for where a hook reads the clock late.
    let mut most_ns = 100 * MS;
    let mut timed = |stream: &mut TcpStream| {
        let begun = Instant::now();
        Ask::default().call(stream);
        most_ns = most_ns.max(100 * MS + begun.elapsed().as_nanos() as u64);
    };
    timed(&mut stream);
    stream.write_all(&Ask::without_reply()).unwrap();
    thread::sleep(Duration::from_secs(1));
    timed(&mut stream);
    timed(&mut stream);
    let dump = ring.ask();
    assert_eq!((dump.requests, dump.blind.lower_bounds), (3, 1), "{}", dump.answer);
    assert!(dump.totals.iter().all(|(from_ns, ..)| *from_ns <= most_ns), "{:?}", dump.totals);
    assert!(dump.slow.iter().all(|it| it.total_ns <= most_ns), "{most_ns}: {:?}", dump.slow);
}

#[test]
fn a_lock_is_put_down_to_whoever_held_it() {
    let Some(_alone) = alone() else { return };
    let server = Server::start("examples/planted", &["lock"], |line| line.trim().parse().unwrap());
    let pid = server.pid().to_string();
    let ring = Ring::start(&["--pid", &pid]);
    ring.wait_for("watching", 1);
    call(Ask::default(), &mut server.connect(), 400);
    let dump = ring.ask();
    let (slow, locked) = first(&dump, 4 * MS, "futex");
    assert!(slow.len() >= 3 && locked * 10 >= slow.len() * 6, "{locked}: {:?}", dump.culprits);
    let lock = dump.culprits.iter().find(|it| it.kind == "futex").unwrap();
    assert_eq!(lock.waker.as_deref(), Some("locker"), "{lock:?}");
    assert!(lock.stack.iter().any(|name| name.contains("futex")), "{:?}", lock.stack);
}

#[test]
fn a_neighbour_on_the_cpu_is_named() {
    let Some(_alone) = alone() else { return };
    let server = Server::start("examples/planted", &["burn"], |line| line.trim().parse().unwrap());
    let pin = ["-apc", "0", &server.pid().to_string()].map(str::to_owned);
    assert!(Command::new("taskset").args(pin).output().unwrap().status.success());
    let pid = server.pid().to_string();
    let ring = Ring::start(&["--pid", &pid]);
    ring.wait_for("watching", 1);
    let path = std::env::current_exe().unwrap();
    let planted = path.parent().unwrap().parent().unwrap().join("examples/planted");
    let mut hog = Command::new("taskset");
    hog.args(["-c", "0"]).arg(planted).arg("hog").stdout(Stdio::null());
    let _hog = Held::start(&mut hog);
    // Work that outlasts its slice, so that the hog comes in between.
    call(Ask { app_us: 20_000, ..Ask::default() }, &mut server.connect(), 60);
    let dump = ring.ask();
    let named = dump.culprits.iter().find(|it| it.kind == "task" && it.name == "planted-hog");
    let named = named.unwrap_or_else(|| panic!("{:?}", dump.culprits));
    assert!(named.share > 0.1, "{named:?}");
}

#[test]
fn a_service_that_dies_is_dumped_and_its_next_life_is_followed() {
    let Some(_alone) = alone() else { return };
    let exe = std::env::current_exe().unwrap();
    let echo = exe.parent().unwrap().parent().unwrap().join("examples/echo");
    let name = format!("ring{}", std::process::id());
    let copy = std::env::temp_dir().join(&name);
    fs::copy(echo, &copy).unwrap();
    let start = |path: &Path| Server::start_at(path, &["1"], |line| line.trim().parse().unwrap());
    let mut ring = Ring::start(&["--comm", &name]);
    ring.wait_for("waiting for", 1);
    let first = start(&copy);
    ring.wait_for("watching", 1);
    call(Ask::default(), &mut first.connect(), 30);
    let pid = first.pid();
    drop(first); // by SIGKILL
    let dump = ring.dump("ended");
    assert_eq!(dump.target.pid, pid);
    assert!(dump.requests >= 30, "{}", dump.answer);
    assert!(dump.cause.about.contains("signal 9"), "{}", dump.cause.about);
    assert!(dump.signals.iter().any(|it| it.number == 9 && it.pid == pid), "{:?}", dump.signals);
    let second = start(&copy);
    ring.wait_for("watching", 2);
    call(Ask { app_us: 0, ..Ask::default() }, &mut second.connect(), 30);
    let later = ring.ask();
    assert_eq!(later.target.pid, second.pid());
    assert!(later.requests >= 60, "both lives are in the last minute: {}", later.answer);
    assert!(later.blind.unwatched_ns > 0, "and the time between them is counted");
    assert_eq!(ring.end(), 0);
    fs::remove_file(&copy).unwrap();
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let Some(_alone) = alone() else { return };
    let own = std::process::id().to_string();
    for (words, wanted) in [
        (vec!["--pid", &own, "--trigger", "path=/cart"], "no contents of requests"),
        (vec!["--pid", &own, "--trigger", "p99"], "no rule to start a dump by"),
        (vec!["--pid", &own, "--over", "0s"], "not a time that a request may take"),
        (vec!["--pid", &own, "--last", "1ms"], "not a time from 1 s"),
        (vec!["--pid", &own, "--listen", "here"], "is no address"),
        (vec!["--pid", "999999999"], "there is no process"),
        (vec!["--pid", "1", "--comm", "x"], "needs one service"),
        (vec![], "needs one service"),
    ] {
        let mut ring = Ring::start(&words);
        let exit = ring.thread.take().unwrap().join().unwrap();
        assert!(exit == 2 && ring.text().contains(wanted), "{words:?}: {exit} {}", ring.text());
    }
}
