//! The black box follows a service: under load, in a control group, and its log through a rotation.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_trace::blackbox::hooks::Hooks;
use sojourn_trace::judge::result::TargetFacts;

use crate::support::echo::{self, Ask};
use crate::support::group::Group;
use crate::support::ring::Ring;
use crate::support::server::Server;
use crate::support::{Sets, alone, say};

const PATIENCE: Duration = Duration::from_secs(60);

/// Asks one request after the other, of whatever service runs, until `over`; counts replies.
fn load(at: &Mutex<SocketAddr>, over: &AtomicBool, replies: &AtomicU64) {
    let mut stream = None;
    let bytes = Ask::default().bytes();
    while !over.load(Ordering::Relaxed) {
        let address = *at.lock().unwrap();
        if stream.is_none() {
            stream = TcpStream::connect(address).ok();
        }
        let Some(open) = stream.as_mut() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let _ = open.set_read_timeout(Some(Duration::from_secs(5)));
        let is_answered = open.write_all(&bytes).is_ok() && open.read_exact(&mut [0; 1]).is_ok();
        if is_answered {
            replies.fetch_add(1, Ordering::Relaxed);
        } else {
            stream = None;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn address(server: &Server) -> SocketAddr {
    server.connect().peer_addr().unwrap()
}

fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "never {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_service_that_restarts_under_load_is_followed_each_time() {
    let Some(_alone) = alone() else { return };
    let exe = std::env::current_exe().unwrap();
    let echo = exe.parent().unwrap().parent().unwrap().join("examples/echo");
    let name = format!("again{}", std::process::id());
    let copy = std::env::temp_dir().join(&name);
    fs::copy(echo, &copy).unwrap();
    let start = || Server::start_at(Path::new(&copy), &["1"], |line| line.trim().parse().unwrap());
    let mut ring = Ring::start(&["--comm", &name]);
    ring.wait_for("waiting for", 1);
    let mut server = Some(start());
    let first = address(server.as_ref().unwrap());
    let (at, over, replies) = (Mutex::new(first), AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| load(&at, &over, &replies));
        let _over = Sets(&over);
        for life in 1..=3 {
            ring.wait_for("watching", life);
            let before = replies.load(Ordering::Relaxed);
            until("20 replies", || replies.load(Ordering::Relaxed) >= before + 20);
            if life < 3 {
                drop(server.take());
                until("a dump of its end", || {
                    ring.dumps().iter().filter(|dump| dump.cause.kind == "ended").count() == life
                });
                *at.lock().unwrap() = address(server.insert(start()));
            }
        }
    });
    let dump = ring.ask();
    assert_eq!(Some(dump.target.pid), server.map(|it| it.pid()), "{:?}", dump.target);
    assert!(dump.requests >= 60, "all three lives are in it: {}", dump.answer);
    let nameless: Vec<_> = dump.slow.iter().filter(|it| it.thread.is_empty()).collect();
    assert!(nameless.is_empty(), "those of lives that ended have names, too: {nameless:?}");
    assert_eq!(ring.end(), 0);
    fs::remove_file(&copy).unwrap();
}

/// Its number may be another process's from then on.
#[test]
fn a_process_is_watched_until_its_end_and_one_that_has_ended_is_not() {
    let Some(_alone) = alone() else { return };
    let hooks = Hooks::load().unwrap();
    let sleeper = || Command::new("sleep").arg("60").spawn().unwrap();
    let (mut first, mut second) = (sleeper(), sleeper());
    let facts = |pids: &[u32]| TargetFacts { pids: pids.to_vec(), ..TargetFacts::default() };
    hooks.follow(&facts(&[first.id(), second.id()])).unwrap();
    assert!(hooks.watches(first.id()) && hooks.watches(second.id()));
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(hooks.pids().unwrap(), [second.id()]);
    second.kill().unwrap();
    second.wait().unwrap();
    hooks.follow(&facts(&[second.id()])).unwrap();
    assert!(hooks.pids().unwrap().is_empty(), "it had been listed before its end");
}

#[test]
fn a_control_group_is_followed_and_others_of_the_same_name_are_not() {
    let Some(_alone) = alone() else { return };
    let (inside, outside) = (echo::start(&["1"]), echo::start(&["1"]));
    let Some(group) = Group::new(inside.pid()) else {
        say("skipped", "no control group can be made");
        return;
    };
    let mut ring = Ring::start(&["--cgroup", group.name(), "--dumps-max", "1000"]);
    ring.wait_for("watching", 1);
    for server in [&inside, &outside] {
        let mut stream = server.connect();
        (0..40).for_each(|_| Ask::default().call(&mut stream));
    }
    let dump = ring.ask();
    assert_eq!((dump.target.pid, dump.target.pids), (inside.pid(), vec![inside.pid()]));
    assert_eq!(dump.requests, 40, "the server outside is none of it: {}", dump.answer);
    let later = echo::start(&["1"]);
    assert!(group.add(later.pid()));
    // A process that came into the group is found within some seconds.
    let mut stream = later.connect();
    until("a request of the new process", || {
        thread::sleep(Duration::from_millis(500));
        Ask::default().call(&mut stream);
        ring.ask_anew().target.pids.contains(&later.pid())
    });
    (0..40).for_each(|_| Ask::default().call(&mut stream));
    assert!(ring.ask_anew().requests >= 80);
    assert_eq!(ring.end(), 0);
    drop((inside, later)); // before the group
}

#[test]
fn a_log_that_was_rotated_goes_on_in_a_new_file() {
    let Some(_alone) = alone() else { return };
    let folder = std::env::temp_dir().join(format!("sojourn-ring-rotated-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let (path, moved) = (folder.join("ring.log"), folder.join("ring.log.1"));
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let server = echo::start(&["1"]);
    let pid = server.pid().to_string();
    let mut ring = Ring::start(&["--pid", &pid, "--log", path.to_str().unwrap()]);
    until("a log", || read(&path).contains("watching"));
    fs::rename(&path, &moved).unwrap();
    // SAFETY: this process has a handler by now, because the service is watched.
    unsafe { libc::kill(libc::getpid(), libc::SIGHUP) };
    until("a new file", || path.exists());
    Ask::default().call(&mut server.connect());
    drop(server);
    until("what came later", || read(&path).contains("signal 9"));
    assert!(!read(&moved).contains("signal 9") && !read(&path).contains("watching"));
    ring.end();
    fs::remove_dir_all(&folder).unwrap();
}
