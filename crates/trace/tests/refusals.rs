//! What goes wrong is said, and nothing stays behind.

#![allow(clippy::unwrap_used)] // a test that cannot start has failed

#[allow(dead_code)] // of it only: which clangs are here
#[path = "../clang.rs"]
mod clang;
mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{fs, thread};

use libbpf_rs::query::ProgInfoIter;
use sojourn_trace::{program, session};
use support::alone;

/// Exit code, standard output, standard error.
fn run(words: &str) -> (u8, String, String) {
    let (mut out, mut talk) = (Vec::new(), Vec::new());
    let words = std::iter::once("sojourn-trace").chain(words.split_whitespace()).map(Into::into);
    let exit = program::main(words, &AtomicBool::new(false), &mut out, &mut talk);
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(talk).unwrap())
}

fn echo() -> (Child, u16) {
    let path = std::env::current_exe().unwrap();
    let path = path.parent().unwrap().parent().unwrap().join("examples/echo");
    let mut child = Command::new(path).arg("1").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().unwrap())
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

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Our programs in the kernel, whoever loaded them.
fn loaded() -> usize {
    ProgInfoIter::default().filter(|info| info.name.to_string_lossy() == "on_sys_enter").count()
}

#[test]
fn a_wrong_pid_and_a_process_without_sockets_are_refused() {
    let Some(_alone) = alone() else { return };
    let (exit, _, talk) = run("--pid 4194304 --duration 1s");
    assert_eq!(exit, 2);
    assert!(talk.contains("no process") && talk.contains("fix:"), "{talk}");
    let sleep = Command::new("sleep").arg("20").spawn().unwrap();
    let (exit, _, talk) = run(&format!("--pid {} --duration 1s", sleep.id()));
    end(sleep);
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

#[test]
fn without_rights_the_missing_ones_are_named() {
    let Some(_alone) = alone() else { return };
    let (server, _) = echo();
    let program = Reachable::new();
    let out = Command::new(&program.0)
        .args(["--exact", "as_nobody", "--ignored", "--nocapture"])
        .env("TRACE_PID", server.id().to_string())
        .current_dir("/")
        .uid(65534)
        .gid(65534)
        .output();
    end(server);
    let text = String::from_utf8_lossy(&out.unwrap().stdout).into_owned();
    assert!(text.contains("CAP_BPF") && text.contains("exit 2"), "{text}");
}

#[test]
fn a_kernel_without_types_is_refused_with_the_option_it_lacks() {
    let Some(_alone) = alone() else { return };
    let (server, _) = echo();
    // Propagation is ended at /sys, a mount point everywhere: `unshare` would end it at the root, which
    // in a chroot is none. Were it not ended, the types would be hidden from the whole machine.
    let hidden =
        "mount --make-rprivate /sys && mount -t tmpfs none /sys/kernel/btf && exec \"$0\" \"$@\"";
    let out = Command::new("unshare")
        .args(["-m", "--propagation", "unchanged", "sh", "-c", hidden])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "as_nobody", "--ignored", "--nocapture"])
        .env("TRACE_PID", server.id().to_string())
        .output();
    end(server);
    let text = String::from_utf8_lossy(&out.unwrap().stdout).into_owned();
    assert!(text.contains("CONFIG_DEBUG_INFO_BTF") && text.contains("exit 2"), "{text}");
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
    let mut compiler = Command::new(clang)
        .args(["-g", "-O2", "-target", "bpf", "-mcpu=v3", "-x", "c", "-c", "-", "-o", "-"])
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
#[ignore = "run by another test, in a process without rights"]
fn as_nobody() {
    let Ok(pid) = std::env::var("TRACE_PID") else { return };
    let length = if std::env::var_os("TRACE_LONG").is_some() { "60s" } else { "1s" };
    let (exit, _, talk) = run(&format!("--pid {pid} --port 1 --duration {length}"));
    println!("{talk}exit {exit}");
}

#[test]
fn a_server_that_ends_makes_the_result_unknown() {
    let Some(_alone) = alone() else { return };
    let (server, port) = echo();
    let pid = server.id();
    let ender = thread::spawn(move || {
        while loaded() == 0 {
            thread::sleep(Duration::from_millis(20));
        }
        let _stream = TcpStream::connect(("127.0.0.1", port));
        thread::sleep(Duration::from_millis(1500));
        end(server);
    });
    let (exit, out, _) = run(&format!("--pid {pid} --duration 60s"));
    ender.join().unwrap();
    assert_eq!(exit, 3, "{out}");
    assert!(out.contains("ended after"), "{out}");
}

#[test]
fn two_tracers_at_once_know_of_each_other() {
    let Some(_alone) = alone() else { return };
    let (server, _) = echo();
    let words = format!("--pid {} --duration 4s", server.id());
    let outs: Vec<String> = thread::scope(|scope| {
        let both = [scope.spawn(|| run(&words).1), scope.spawn(|| run(&words).1)];
        both.map(|one| one.join().unwrap()).to_vec()
    });
    end(server);
    let told = outs.iter().filter(|out| out.contains("another sojourn-trace")).count();
    assert_eq!(told, 2, "{outs:?}");
}

#[test]
fn a_tracer_that_is_killed_leaves_nothing_attached() {
    let Some(_alone) = alone() else { return };
    let (server, _) = echo();
    let before = loaded();
    let mut tracer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "as_nobody", "--ignored"])
        .env("TRACE_PID", server.id().to_string())
        .env("TRACE_LONG", "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| loaded() > before);
    thread::sleep(Duration::from_millis(500));
    tracer.kill().unwrap(); // SIGKILL
    tracer.wait().unwrap();
    wait_until(|| loaded() == before);
    end(server);
}

fn wait_until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(20));
    }
}
