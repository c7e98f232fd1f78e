//! Servers that do not read and write as others do: with the calls of a 32-bit process, and by `io_uring`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use sojourn_trace::attach::how::How;
use sojourn_trace::program;
use sojourn_trace::reconstruct::record::Record;
use sojourn_trace::session::Options;

use crate::support::calm::calmly;
use crate::support::echo::Ask;
use crate::support::server::Server;
use crate::support::{self, PAUSE_US, alone, index, pause_in, say, trace, trace_with};

const REQUESTS: usize = 20;
/// How such a server ends where the kernel cannot do it.
const CANNOT: i32 = 77;

/// A server of `tests/servers/NAME.c`; `None`, and it is reported, where it cannot run.
fn start(name: &str) -> Option<Server> {
    let program = compiled(name)?;
    let end = Command::new("timeout").args(["0.2"]).arg(&program).output().unwrap().status;
    if end.code() == Some(CANNOT) {
        say("skipped", &format!("this kernel has nothing for {name}"));
        return None;
    }
    Some(Server::start_at(&program, &[], |line| line.trim().parse().unwrap()))
}

/// `tests/servers/NAME.c` as a program; `None`, and it is reported, where this machine is of another kind.
pub fn compiled(name: &str) -> Option<PathBuf> {
    if name == "ia32" && !cfg!(target_arch = "x86_64") {
        say("skipped", "int 0x80 is of x86");
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let done = Command::new("cc")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-O1", "-Wall", "-o"])
        .arg(&program)
        .arg(format!("tests/servers/{name}.c"))
        .output()
        .expect("a C compiler, cc, is there: see scripts/setup");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

fn calls(server: &Server, ask: Ask) {
    let mut stream = server.connect();
    (0..REQUESTS).for_each(|_| ask.call(&mut stream));
}

#[test]
fn calls_of_a_32_bit_process_are_distinguished() {
    let Some(_alone) = alone() else { return };
    calmly(|| {
        let Some(server) = start("ia32") else { return Ok(()) };
        let ask = Ask { app_us: PAUSE_US, ..Ask::default() };
        let (outcome, records) = trace(server.pid(), || calls(&server, ask));
        assert_eq!(records.len(), REQUESTS, "{:?}", outcome.counts.reasons);
        for reason in ["read_exit_lost", "async_send"] {
            assert_eq!(outcome.counts.reason(reason), 0, "{reason}");
        }
        let has = |r: &Record, stage| r.stage_ns[index(stage)] > 0;
        assert!(records.iter().all(|r| has(r, "read") && has(r, "write")), "{records:?}");
        pause_in("wait_sleep", &records.iter().collect::<Vec<_>>())
    });
}

#[test]
fn a_server_by_io_uring_is_named_and_a_sample_tells_its_stages() {
    let Some(_alone) = alone() else { return };
    let Some(server) = start("ring") else { return };
    let (outcome, records) = trace(server.pid(), || calls(&server, Ask::default()));
    assert_eq!(records.len(), REQUESTS, "{:?}", outcome.counts.reasons);
    assert_eq!(outcome.counts.reason("io_uring"), REQUESTS as u64);
    let all = Options { how: How::Sample { one_in: 1, seed: 5 }, ..Options::default() };
    let (outcome, records) = trace_with(all, server.pid(), || calls(&server, Ask::default()));
    if !outcome.is_few {
        return say("skipped", "this kernel has no tcp_sendmsg_locked");
    }
    assert_eq!(outcome.counts.reason("io_uring"), 0);
    let residual: u64 = records.iter().skip(1).map(|r| r.stage_ns[index("residual")]).sum();
    assert_eq!(residual, 0, "{records:?}");
}

#[test]
fn the_verdict_on_io_uring_is_unknown_and_says_what_helps() {
    let Some(_alone) = alone() else { return };
    let Some(server) = start("ring") else { return };
    let words = format!("sojourn-trace --pid {} --all --duration 1s", server.pid());
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    let exit = thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = server.connect();
            for _ in 0..300 {
                Ask::default().call(&mut stream);
                thread::sleep(Duration::from_millis(3));
            }
        });
        let words = words.split(' ').map(Into::into);
        program::main(words, &AtomicBool::new(false), &mut out, &mut talk)
    });
    let text = String::from_utf8(out).unwrap();
    assert_eq!(exit, 3, "{text}");
    assert!(text.contains("io_uring") && text.contains("--sample"), "{text}");
}

/// Held together with the test above: a server that is right is not doubted for it.
#[test]
fn an_ordinary_server_is_not_taken_for_one_by_io_uring() {
    let Some(_alone) = alone() else { return };
    let server = support::echo::start(&["1"]);
    let (outcome, records) = trace(server.pid(), || calls(&server, Ask::default()));
    assert_eq!((records.len(), outcome.counts.reason("io_uring")), (REQUESTS, 0));
}
