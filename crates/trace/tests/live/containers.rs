//! In a PID namespace, as in a container, processes have other numbers than in the kernel's count.
//!
//! Each test runs again as the first process of a namespace of its own (`unshare -pf --mount-proc`).

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sojourn_base::schedstat::Schedstat;
use sojourn_trace::attach::pidns;
use sojourn_trace::attach::target;
use sojourn_trace::session::{self, Options};
use sojourn_trace::who::watch;

use crate::support::child::bound;
use crate::support::echo::{self, Ask};
use crate::support::server::Server;
use crate::support::{Sets, Started, alone, say, trace};

const INSIDE: &str = "SOJOURN_INSIDE";

/// Runs the test of that name as process 1 of a namespace, or does nothing if this is it.
fn is_inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new("unshare");
    command.args(["-pf", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("containers::{name}"), "--nocapture"]).env(INSIDE, "1");
    let done = bound(&mut command, libc::SIGKILL).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    if text.contains("unshare failed") {
        say("skipped", "no PID namespace can be had");
        return false;
    }
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
    false
}

fn is_thread_of(server: &Server, tid: u32) -> bool {
    Path::new(&format!("/proc/{}/task/{tid}", server.pid())).exists()
}

#[test]
fn requests_are_matched_and_threads_have_the_numbers_of_the_namespace() {
    let Some(_alone) = alone() else { return };
    if !is_inside("requests_are_matched_and_threads_have_the_numbers_of_the_namespace") {
        return;
    }
    assert_eq!(std::process::id(), 1);
    assert_ne!(pidns::of(Path::new("/proc")).unwrap(), 0);
    let server = echo::start(&["2"]);
    let (outcome, records) = trace(server.pid(), || {
        let mut streams = [server.connect(), server.connect()];
        for n in 0..40 {
            Ask { app_us: 1000, ..Ask::default() }.call(&mut streams[n % 2]);
        }
    });
    assert_eq!(records.len(), 40, "{:?}", outcome.counts.reasons);
    let served = outcome.counts.threads.iter().filter(|thread| thread.requests > 0);
    let served: Vec<u32> = served.map(|thread| thread.tid).collect();
    assert_eq!(served.len(), 2);
    assert!(served.iter().all(|&tid| is_thread_of(&server, tid)), "{served:?}");
}

/// Keeps the server busy until it is dropped, and for a while at least.
fn busy(server: &Server, over: &AtomicBool) {
    let mut stream = server.connect();
    while !over.load(Ordering::Relaxed) {
        Ask { after_us: 2000, ..Ask::default() }.call(&mut stream);
    }
}

#[test]
fn a_process_that_is_left_out_is_left_out_and_others_have_numbers_or_none() {
    let Some(_alone) = alone() else { return };
    if !is_inside("a_process_that_is_left_out_is_left_out_and_others_have_numbers_or_none") {
        return;
    }
    let server = echo::start(&["1"]);
    let cpus: Vec<u32> = (0..sojourn_trace::attach::kernel::cpus() as u32).collect();
    let over = AtomicBool::new(false);
    let before = Schedstat::of_process(server.pid()).unwrap();
    let seen = thread::scope(|scope| {
        scope.spawn(|| busy(&server, &over));
        let _over = Sets(&over);
        let never = AtomicBool::new(false);
        watch::run(&cpus, &[server.pid()], 1_000_000_000, &never, &mut || ()).unwrap()
    });
    let ran_ns = Schedstat::of_process(server.pid()).unwrap().since(before).ran_ns;
    assert!(seen.left_out_ns > ran_ns / 2, "{} of {ran_ns} ns left out", seen.left_out_ns);
    for task in &seen.tasks {
        assert!(!is_thread_of(&server, task.tid), "the server is no other: {task:?}");
        let is_here = Path::new(&format!("/proc/{}", task.pid)).exists();
        assert!(task.tid == 0 || is_here || task.pid == 0, "{task:?}");
    }
}

/// The numbers of this process's threads, in its namespace.
fn own_threads() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn culprits_have_the_numbers_of_the_namespace_or_none() {
    let Some(_alone) = alone() else { return };
    if !is_inside("culprits_have_the_numbers_of_the_namespace_or_none") {
        return;
    }
    let server = echo::start(&["1"]);
    let target = target::find(Path::new("/proc"), server.pid(), &[]).unwrap();
    let options = Options {
        duration_ns: 60_000_000_000,
        ring_bytes: 16 << 20,
        blame: Some(0.9),
        ..Options::default()
    };
    let (stop, started) = (AtomicBool::new(false), Started::default());
    let (outcome, ran_here) = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let _ends = Sets(&stop);
            if !started.in_time() {
                return Vec::new();
            }
            let mut stream = server.connect();
            for n in 0..400 {
                let app_us = if n % 10 == 0 { 4000 } else { 0 };
                Ask { app_us, ..Ask::default() }.call(&mut stream);
                thread::sleep(Duration::from_millis(1));
            }
            own_threads()
        });
        let _over = Sets(&started.over);
        let mut begun = || started.begun.store(true, Ordering::Relaxed);
        let outcome = session::run(&target, options, &stop, &mut begun, &mut |_| ()).unwrap();
        (outcome, asking.join().unwrap())
    });
    let blame = outcome.blamed.unwrap().blame;
    assert!(blame.tail_requests >= 20, "{blame:?}");
    let sleep = blame.suspects.iter().find(|suspect| suspect.kind == "sleep");
    assert!(sleep.is_some_and(|suspect| suspect.tail_mean_ns > 1e6), "{blame:?}");
    // Threads of this test that have ended by now can be suspects, because they shared its CPUs.
    let is_here = |tid: u32| ran_here.contains(&tid) || Path::new(&format!("/proc/{tid}")).exists();
    let tids = blame.suspects.iter().flat_map(|suspect| &suspect.tids);
    tids.for_each(|&tid| assert!(is_here(tid), "{tid}: {blame:?}"));
}
