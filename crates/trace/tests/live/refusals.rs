//! What goes wrong is reported, and nothing stays behind.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use sojourn_trace::program;
use sojourn_trace::session;

use crate::clang;
use crate::support::child::{Held, bound};
use crate::support::server::Server;
use crate::support::{self, Sets, alone, echo, programs};

/// A line that begins so is reported when the trace has begun.
const BEGUN: &str = "tracing ";
const PATIENCE: Duration = Duration::from_secs(60);
/// What `in_a_process` traces, and how it is run.
const WORDS: &str = "TRACE_WORDS";
const IN_A_PROCESS: [&str; 4] = ["--exact", "refusals::in_a_process", "--ignored", "--nocapture"];

fn words(line: &str) -> impl Iterator<Item = OsString> {
    std::iter::once("sojourn-trace").chain(line.split_whitespace()).map(Into::into)
}

/// Exit code, standard output, standard error.
fn run(line: &str) -> (u8, String, String) {
    run_until(line, &AtomicBool::new(false), &AtomicBool::new(false))
}

/// The same; `begun` is set when the trace has begun, or is over.
fn run_until(line: &str, stop: &AtomicBool, begun: &AtomicBool) -> (u8, String, String) {
    let (mut out, mut talk) = (Vec::new(), Talk { said: String::new(), begun });
    let _over = Sets(begun);
    let exit = program::main(words(line), stop, &mut out, &mut talk);
    (exit, String::from_utf8(out).unwrap(), talk.said)
}

/// What the program says, and that it has begun.
struct Talk<'a> {
    said: String,
    begun: &'a AtomicBool,
}

impl io::Write for Talk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.said += str::from_utf8(bytes).unwrap();
        self.begun.fetch_or(self.said.contains(BEGUN), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// This test program where anybody can start it: the folder it was built in may be root's own.
struct Reachable(PathBuf);

impl Reachable {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("sojourn-refusals-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let program = Self(folder.join("program"));
        fs::copy(std::env::current_exe().unwrap(), &program.0).unwrap();
        program
    }
}

impl Drop for Reachable {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}

#[test]
fn a_wrong_pid_and_a_process_without_sockets_are_refused() {
    let Some(_alone) = alone() else { return };
    let (exit, _, talk) = run("--pid 4194304 --duration 1s");
    assert_eq!(exit, 2);
    assert!(talk.contains("no process") && talk.contains("fix:"), "{talk}");
    let sleep = Held::start(Command::new("sleep").arg("1000"));
    let (exit, _, talk) = run(&format!("--pid {} --duration 1s", sleep.pid()));
    assert_eq!(exit, 2);
    assert!(talk.contains("no TCP port"), "{talk}");
}

#[test]
fn a_result_that_cannot_be_written_is_refused_before_the_trace() {
    let began = Instant::now();
    let (exit, _, talk) = run("--pid 1 --duration 1h --json /nowhere/out.json");
    assert_eq!(exit, 2);
    assert!(talk.contains("/nowhere/out.json") && began.elapsed() < Duration::from_secs(60));
}

/// What `command`, this program in some other place or role, says of a trace of `server`.
fn traced_by(command: &mut Command, server: &Server) -> String {
    said_by(command, &format!("--pid {} --port 1 --duration 1s", server.pid()))
}

/// The same of a black box, for which there is no folder either.
fn watched_by(command: &mut Command, server: &Server) -> String {
    said_by(command, &format!("--ring --pid {} --dumps /nowhere/dumps", server.pid()))
}

fn said_by(command: &mut Command, words: &str) -> String {
    command.args(IN_A_PROCESS).env(WORDS, words);
    let out = bound(command, libc::SIGKILL).output().unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn without_rights_the_missing_ones_are_named() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let program = Reachable::new();
    let mut command = Command::new(&program.0);
    command.current_dir("/").uid(65534).gid(65534);
    let text = traced_by(&mut command, &server);
    assert!(text.contains("CAP_BPF") && text.contains("exit 2"), "{text}");
    let mut command = Command::new(&program.0);
    command.current_dir("/").uid(65534).gid(65534);
    let text = watched_by(&mut command, &server);
    assert!(text.contains("CAP_BPF") && text.contains("exit 2"), "{text}");
}

/// Root of a user namespace may list the server's open files, and read none.
#[test]
fn in_a_user_namespace_a_server_is_not_said_to_have_no_port() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let mut command = Command::new("unshare");
    let text = traced_by(command.arg("-Ur").arg(std::env::current_exe().unwrap()), &server);
    if text.is_empty() {
        return support::say("skipped", "no user namespace can be had");
    }
    assert!(text.contains("no right to see the open files") && text.contains("exit 2"), "{text}");
    assert!(!text.contains("no TCP port"), "{text}");
}

#[test]
fn a_kernel_without_types_is_refused_with_the_option_it_lacks() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    // Propagation is ended at /sys, a mount point everywhere: `unshare` would end it at the root, which
    // in a chroot is none. Were it not ended, the types would be hidden from the whole machine.
    let hidden =
        "mount --make-rprivate /sys && mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\"";
    for says in [traced_by, watched_by] {
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "unchanged", "sh", "-c", hidden]);
        let text = says(command.arg(std::env::current_exe().unwrap()), &server);
        assert!(text.contains("CONFIG_DEBUG_INFO_BTF") && text.contains("exit 2"), "{text}");
    }
}

/// It takes a number for an address, which the verifier sees; it refuses with "permission denied".
const REFUSED: &str = r#"
#define SEC(name) __attribute__((section(name), used))
SEC("tp_btf/sys_enter") int on_refused(unsigned long long *ctx) { return *(int *)ctx[1]; }
char licence[] SEC("license") = "GPL";
"#;

#[test]
fn a_program_that_the_verifier_refuses_is_named_with_its_reason() {
    let Some(_alone) = alone() else { return };
    let Some(clang) = clang::found().next() else {
        return support::say("skipped", "no clang from 16 on is installed");
    };
    let mut compiler = Command::new(clang);
    compiler.args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-x", "c", "-c", "-", "-o", "-"]);
    let mut compiler = bound(&mut compiler, libc::SIGKILL)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(REFUSED.as_bytes()).unwrap();
    let object = compiler.wait_with_output().unwrap();
    assert!(object.status.success());
    let text = session::verifier_costs(Some(&object.stdout)).unwrap_err().to_string();
    for part in
        ["verifier refuses", "on_refused", "invalid mem access", "report it with the kernel"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("container") && !text.contains("lockdown"), "{text}");
    assert!(session::verifier_costs(None).is_ok(), "what was said of another object is forgotten");
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn in_a_process() {
    let Ok(line) = std::env::var(WORDS) else { return };
    let never = AtomicBool::new(false);
    let exit = program::main(words(&line), &never, &mut io::sink(), &mut io::stdout());
    println!("exit {exit}");
}

#[test]
fn a_server_that_ends_makes_the_result_unknown() {
    let Some(_alone) = alone() else { return };
    let mut server = Some(echo::start(&["1"]));
    let line = format!("--pid {} --duration 60s", server.as_ref().unwrap().pid());
    let (never, begun) = (AtomicBool::new(false), AtomicBool::new(false));
    let (exit, out, talk) = thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&begun);
            let _stream = server.as_ref().unwrap().connect();
            thread::sleep(Duration::from_millis(1500));
            server = None;
        });
        run_until(&line, &never, &begun)
    });
    assert_eq!(exit, 3, "{out}{talk}");
    assert!(out.contains("ended after"), "{out}");
}

#[test]
fn a_way_that_users_notice_says_so_before_it_begins_and_in_its_result() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let line = |words| format!("--pid {} --duration 300ms {words}", server.pid());
    for words in ["--all", "--sample 1/2", "--cost 10%"] {
        let (_, out, talk) = run(&line(words));
        let [note, begun] = ["users", BEGUN].map(|word| talk.find(word));
        assert!(note.is_some() && note < begun, "{words}: {talk}");
        assert!(out.contains("users"), "{words}: {out}");
    }
    let (_, _, talk) = run(&line(""));
    assert!(talk.contains(BEGUN) && !talk.contains("users"), "{talk}");
}

/// A third one, of somebody else on this machine, may hide them from each other as it ends.
#[test]
fn two_tracers_at_once_know_of_each_other() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let line = format!("--pid {} --duration 60s", server.pid());
    let reported = |outs: &[String]| outs.iter().all(|out| out.contains("another sojourn-trace"));
    let mut outs = Vec::new();
    for _ in 0..5 {
        outs = both(&line);
        if reported(&outs) {
            return;
        }
    }
    panic!("{outs:?}");
}

/// What two tracers print which end when both have begun.
fn both(line: &str) -> Vec<String> {
    let (stop, begun) = (AtomicBool::new(false), [const { AtomicBool::new(false) }; 2]);
    thread::scope(|scope| {
        let each = begun.each_ref().map(|begun| scope.spawn(|| run_until(line, &stop, begun).1));
        begun.iter().for_each(wait_for);
        stop.store(true, Ordering::Relaxed);
        each.map(|one| one.join().unwrap()).to_vec()
    })
}

#[test]
fn a_tracer_that_is_killed_leaves_nothing_attached() {
    let Some(_alone) = alone() else { return };
    let server = echo::start(&["1"]);
    let mut tracer = Held::start(
        Command::new(std::env::current_exe().unwrap())
            .args(IN_A_PROCESS)
            .env(WORDS, format!("--pid {} --all --duration 1h", server.pid()))
            .stdout(Stdio::piped()),
    );
    let lines = BufReader::new(tracer.child().stdout.take().unwrap()).lines();
    lines.map(Result::unwrap).find(|line| line.contains(BEGUN)).expect("it traces");
    let numbers = programs::held_by(tracer.pid());
    assert!(numbers.len() > 5 && programs::loaded(&numbers) == numbers, "{numbers:?}");
    tracer.end(); // SIGKILL
    wait_until(|| programs::loaded(&numbers).is_empty());
}

fn wait_for(flag: &AtomicBool) {
    wait_until(|| flag.load(Ordering::Relaxed));
}

fn wait_until(holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain");
        thread::sleep(Duration::from_millis(20));
    }
}
