//! What is planted beside a server, or in it, is named with what it did; where nothing is, nobody is.
//!
//! The server is `examples/planted.rs`, its worker on CPU 0. Where other programs of the machine want
//! that CPU too they are named instead, and rightly: then it is tried again, and unknown at last.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sojourn_trace::attach::how::How;
use sojourn_trace::attach::target;
use sojourn_trace::culprit::result::{Blame, Blamed, SuspectShare};
use sojourn_trace::session::{self, Options};

use crate::support::child::Held;
use crate::support::echo::{self, Ask};
use crate::support::group::Group;
use crate::support::server::Server;
use crate::support::{Sets, Started, alone, say};

/// Every request, or those of windows: half of the time.
const WAYS: [How; 2] = [How::All, How::Windows { cost: 0.5, seed: 5 }];
/// Requests of a look, in windows so many times as many, and every how many one asks for more.
const REQUESTS: usize = 1000;
const IN_WINDOWS: usize = 3;
const EVERY: usize = 10;
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);

fn path(name: &str) -> PathBuf {
    let path = std::env::current_exe().unwrap();
    path.parent().unwrap().parent().unwrap().join(name)
}

/// The server, on CPU 0 with all its threads.
fn start(words: &[&str]) -> Server {
    let server = Server::start("examples/planted", words, |line| line.trim().parse().unwrap());
    thread::sleep(Duration::from_millis(20)); // its worker begins
    pin(server.pid(), 0);
    server
}

fn pin(pid: u32, cpu: u32) {
    let words = ["-apc", &cpu.to_string(), &pid.to_string()];
    assert!(Command::new("taskset").args(words).output().unwrap().status.success());
}

/// A task that says nothing.
fn task(command: &mut Command) -> Held {
    Held::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

fn hog(nice: &str) -> Held {
    let mut command = Command::new("nice");
    command.args(["-n", nice, "taskset", "-c", "0"]).arg(path("examples/planted")).arg("hog");
    let hog = task(&mut command);
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_to_string(format!("/proc/{}/comm", hog.pid())).unwrap() != "planted-hog\n" {
        assert!(Instant::now() < deadline, "no hog");
        thread::sleep(Duration::from_millis(1));
    }
    hog
}

/// One request after the other while the server is looked at; every tenth is `ask`.
fn look(server: &Server, how: How, q: f64, ask: Ask) -> Blamed {
    look_at(server, how, q, |is_tenth| if is_tenth { ask } else { Ask::default() }.bytes())
}

/// The same with requests of other bytes, whose reply is one byte.
fn look_at(server: &Server, how: How, q: f64, bytes: impl Fn(bool) -> [u8; 32] + Sync) -> Blamed {
    let requests = if how == How::All { REQUESTS } else { IN_WINDOWS * REQUESTS };
    let target = target::find(Path::new("/proc"), server.pid(), &[]).unwrap();
    let options = Options {
        duration_ns: 120_000_000_000,
        ring_bytes: 16 << 20,
        blame: Some(q),
        how,
        ..Options::default()
    };
    let (stop, started) = (AtomicBool::new(false), Started::default());
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let _ends = Sets(&stop);
            if !started.in_time() {
                return;
            }
            let mut stream = server.connect();
            for i in 0..requests {
                stream.write_all(&bytes(i % EVERY == 0)).unwrap();
                Ask::default().receive(&mut stream);
                thread::sleep(PAUSE);
            }
        });
        let _over = Sets(&started.over);
        let mut begun = || started.begun.store(true, Ordering::Relaxed);
        session::run(&target, options, &stop, &mut begun, &mut |_| ())
    });
    let outcome = outcome.unwrap();
    let counted: u64 = outcome.counts.totals.iter().sum();
    let share = counted as f64 / requests as f64; // one whose parts were not seen is told elsewhere
    assert_eq!(how == How::All, share > 0.98, "{counted} of {requests}: {how:?}");
    let blamed = outcome.blamed.unwrap();
    check(&blamed.blame);
    blamed
}

/// Holds of every answer, whoever is in it.
fn check(blame: &Blame) {
    assert!(blame.tail_requests >= 20 && blame.body_requests > 500, "{blame:?}");
    assert_eq!((blame.lost, &blame.reasons[..]), (0, &[][..]), "{blame:?}");
    let sum: f64 = blame.suspects.iter().map(|suspect| suspect.share).sum();
    assert!((sum - 1.0).abs() < 0.2, "shares add to {sum}: {blame:?}");
    for suspect in blame.suspects.iter().filter(|suspect| suspect.is_named).take(3) {
        assert!(suspect.share >= 0.1 && blame.answer.contains(&suspect.about), "{blame:?}");
    }
}

fn named<'a>(blame: &'a Blame, kind: &str, name: &str) -> Option<&'a SuspectShare> {
    blame.suspects.iter().find(|s| s.is_named && s.kind == kind && s.name == name)
}

/// Other programs that this machine runs on the server's CPU: what they took of the excess is true too.
fn strangers(blame: &Blame) -> Vec<String> {
    let is_one = |s: &&SuspectShare| {
        s.kind == "task" && !s.is_own && s.name != "planted-hog" && s.share >= 0.1
    };
    blame.suspects.iter().filter(is_one).map(|s| format!("{} ({:.2})", s.name, s.share)).collect()
}

/// Tries again where others have taken the CPU; says that nothing is known if they always had.
///
/// # Panics
/// If it was wrong while no one else was there.
fn among_ourselves(mut attempt: impl FnMut() -> Result<(), Box<Blame>>) {
    let mut others = Vec::new();
    for _ in 0..ATTEMPTS {
        let Err(blame) = attempt() else { return };
        others = strangers(&blame);
        assert!(!others.is_empty(), "{blame:#?}");
    }
    say("unknown", &format!("others had the CPU in {ATTEMPTS} attempts, at last {others:?}"));
}

#[test]
fn a_hog_in_a_control_group_is_named_with_it() {
    let Some(_alone) = alone() else { return };
    for how in WAYS {
        hog_in_a_group(how);
    }
}

fn hog_in_a_group(how: How) {
    among_ourselves(|| {
        let server = start(&["burn"]);
        let group; // goes after the task in it
        let hog = hog("0");
        group = Group::new(hog.pid());
        let blame = look(&server, how, 0.91, Ask { app_us: 20_000, ..Ask::default() }).blame;
        let planted =
            named(&blame, "task", "planted-hog").ok_or_else(|| Box::new(blame.clone()))?;
        assert_eq!(planted.tids, [hog.pid()]);
        assert!(!planted.is_kernel && !planted.is_own);
        drop(hog);
        match &group {
            Some(group) => assert_eq!(planted.cgroup.as_deref(), Some(group.name())),
            None => say("skipped", "no control group can be made: only the hog was looked for"),
        }
        Ok(())
    });
}

#[test]
fn a_hog_of_higher_priority_takes_more() {
    let Some(_alone) = alone() else { return };
    among_ourselves(|| {
        let server = start(&["burn"]);
        let _hog = hog("-5");
        let blame = look(&server, How::All, 0.91, Ask { app_us: 12_000, ..Ask::default() }).blame;
        // Three times the worker's weight: three quarters, if no one else runs there.
        let takes_more = named(&blame, "task", "planted-hog").is_some_and(|s| s.share > 0.5);
        if takes_more { Ok(()) } else { Err(Box::new(blame)) }
    });
}

#[test]
fn a_lock_is_named_with_its_holder_and_what_that_did() {
    let Some(_alone) = alone() else { return };
    for how in WAYS {
        lock(how);
    }
}

fn lock(how: How) {
    let server = start(&["lock"]);
    let blamed = look(&server, how, 0.97, Ask::default());
    let blame = &blamed.blame;
    let planted = blame.suspects.iter().find(|s| s.is_named && s.kind == "futex");
    let planted = planted.unwrap_or_else(|| panic!("{blame:#?}"));
    assert_eq!(planted.waker.as_deref(), Some("locker"));
    assert!(planted.waker_did[0].0.contains("sleep"), "it held the lock asleep: {planted:?}");
    // The program has no frame pointers: of its functions only the innermost is sure to be there.
    let has = |path: &String| path.contains(";syscall;") && path.contains(";futex_wait_[k];");
    assert!(blamed.tail.keys().any(has), "{:#?}", blamed.tail);
}

#[test]
fn a_slow_disk_is_named_with_the_file() {
    let Some(_alone) = alone() else { return };
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("planted-{}", std::process::id()));
    fs::write(&file, vec![7; 16 << 20]).unwrap();
    assert!(Command::new("sync").arg(&file).status().unwrap().success());
    let server = start(&["disk", file.to_str().unwrap()]);
    let blamed = look(&server, How::All, 0.91, Ask { app_us: 1, ..Ask::default() });
    fs::remove_file(&file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let blame = &blamed.blame;
    assert!(named(blame, "block_io", name).is_some(), "{blame:#?}");
    let folded = blamed.tail.keys().any(|path| path.contains("io_schedule"));
    assert!(folded, "{:#?}", blamed.tail);
}

/// Packets to a port that nothing listens on, in a network of their own, handed to CPU 0 by RPS.
#[test]
fn packets_to_another_port_are_soft_irq_time() {
    let Some(_alone) = alone() else { return };
    let script = "mount -t sysfs sysfs /sys && ip link set lo up && \
                  echo 1 > /sys/class/net/lo/queues/rx-0/rps_cpus && exec taskset -c 1 \"$0\" flood";
    among_ourselves(|| {
        let server = start(&["burn"]);
        let mut command = Command::new("unshare");
        command.args(["-n", "-m", "sh", "-c", script]).arg(path("examples/planted"));
        let mut flood = task(&mut command);
        thread::sleep(Duration::from_millis(300));
        if flood.child().try_wait().unwrap().is_some() {
            say("skipped", "no network namespace with RPS and two CPUs can be had");
            return Ok(());
        }
        let blame = look(&server, How::All, 0.91, Ask { app_us: 3000, ..Ask::default() }).blame;
        // What holds up every request for a third as long as the slowest is everybody's lot, and is not
        // named: how much of CPU 0 the packets take is the machine's to decide.
        let is_reported = |s: &SuspectShare| {
            let is_lot = s.tail_mean_ns < 3.0 * s.body_mean_ns && s.share > 0.1;
            s.kind == "softirq" && s.name == "NET_RX" && (s.is_named || is_lot)
        };
        if blame.suspects.iter().any(is_reported) { Ok(()) } else { Err(Box::new(blame)) }
    });
}

/// The thread that reads has nothing to do while the one that answers sleeps: that one is followed.
#[test]
fn a_request_that_is_handed_over_waits_where_its_writer_does() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1", "handover"]);
    let blamed = look(&server, How::All, 0.91, Ask { app_us: 5000, ..Ask::default() });
    let blame = &blamed.blame;
    let slept = named(blame, "sleep", "").unwrap_or_else(|| panic!("{blame:#?}"));
    assert!(slept.tail_mean_ns > 4.5e6, "{slept:?}");
}

/// The server takes no notice of how a request begins; the tracer does.
#[test]
fn slow_requests_are_told_by_what_they_ask_for() {
    let Some(_alone) = alone() else { return };
    let server = start(&["burn"]);
    let blamed = look_at(&server, How::All, 0.91, |is_tenth| {
        let (word, app_us) = if is_tenth { (b"set k\r\n\0", 5000) } else { (b"get k\r\n\0", 0) };
        let mut bytes = Ask { app_us, ..Ask::default() }.bytes();
        bytes[..8].copy_from_slice(word);
        bytes
    });
    let slow = &blamed.blame.endpoints[0];
    assert_eq!(slow.name, "set", "{:?}", blamed.blame.endpoints);
    assert!(slow.tail_share > 0.5 && slow.body_share < 0.2, "{slow:?}");
}

#[test]
fn where_nothing_is_planted_no_one_is_named() {
    let Some(_alone) = alone() else { return };
    for how in WAYS {
        nothing(how);
    }
}

fn nothing(how: How) {
    among_ourselves(|| {
        let server = start(&["burn"]);
        let blame = look(&server, how, 0.91, Ask { app_us: 2000, ..Ask::default() }).blame;
        if blame.suspects.iter().any(|suspect| suspect.is_named) {
            Err(Box::new(blame))
        } else {
            Ok(())
        }
    });
}
