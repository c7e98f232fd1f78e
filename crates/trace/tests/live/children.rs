//! What tests start ends with them, however they end; and BPF programs are told apart by their numbers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::child::{Held, bound};
use crate::support::programs;

fn sleep() -> Command {
    let mut command = Command::new("sleep");
    command.arg("1000").stdout(Stdio::null()).stderr(Stdio::null()); // if it does outlive us
    command
}

/// Ended, and collected if that was its parent's to do.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.map_or(true, |stat| stat[stat.rfind(')').unwrap() + 2..].starts_with('Z'))
}

fn goes(pid: u32) -> bool {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_gone(pid) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    is_gone(pid)
}

#[test]
fn a_child_ends_with_a_failed_test() {
    let pid = thread::spawn(|| {
        let child = Held::start(&mut sleep());
        assert!(!is_gone(child.pid()));
        std::panic::resume_unwind(Box::new(child.pid()));
    });
    let pid = *pid.join().unwrap_err().downcast::<u32>().unwrap();
    assert!(goes(pid));
}

#[test]
fn a_child_that_no_one_ends_ends_with_the_thread_that_started_it() {
    let start = || bound(&mut sleep(), libc::SIGKILL).spawn().unwrap();
    let mut child = thread::spawn(start).join().unwrap();
    assert!(goes(child.id()));
    child.wait().unwrap();
}

#[test]
fn a_process_without_programs_holds_none() {
    // Not this process: other tests trace in it at the same time.
    assert!(programs::held_by(Held::start(&mut sleep()).pid()).is_empty());
    assert!(programs::loaded(&[u32::MAX].into()).is_empty());
}
