//! `sojourn`: starts the Python package with the interpreter that lies beside this program.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sojourn_base::visible::visible;
use sojourn_base::{Exit, Fault};

const FIX: &str =
    "run `make build` in the checkout and start .venv/bin/sojourn, or install the wheel with pip";

/// What the interpreter does: as `-m sojourn`, but an interpreter without the package ends like
/// everything else that fails outside. Its own exit code for that is 1, which means "QoS violated".
/// `-P` goes before it, because `-c` alone looks for every module in the working folder first: a
/// `json.py` that lies there would run, with the rights of the caller.
/// A ^C that came before anybody could obey it has waited until here (see `hold_back`).
const START: &str = r#"
import sys
looked, exit_code, fix = sys.argv.pop(1), int(sys.argv.pop(1)), sys.argv.pop(1)
is_held = sys.argv.pop(1) == "held"
sys.argv[0] = "sojourn"
try:
    if is_held:
        import _signal
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])
    from sojourn.__main__ import start
    sys.exit(start())
except (ImportError, SyntaxError) as trouble:
    print(f"error: the sojourn package cannot be used: {trouble}", file=sys.stderr)
    print(f"  at: {sys.executable}{looked}\n  fix: {fix}", file=sys.stderr)
    sys.exit(exit_code)
except KeyboardInterrupt:
    sys.stderr.write("stopped\n")
    sys.exit(130)
"#;

fn main() -> ExitCode {
    let beside = beside("python3");
    let is_there = beside.as_deref().is_some_and(Path::exists);
    let looked = match &beside {
        Some(path) if !is_there => format!(" ({} is not there)", path.display()),
        _ => String::new(),
    };
    let python = beside.filter(|_| is_there).unwrap_or_else(|| PathBuf::from("python3"));
    let held = if hold_back(libc::SIGINT) { "held" } else { "" };
    let error = Command::new(&python)
        .env("PATH", absolute(&std::env::var_os("PATH").unwrap_or_default()))
        .args(["-P", "-c", START, &looked, &(Exit::Failed as u8).to_string(), FIX, held])
        .args(std::env::args_os().skip(1))
        .exec();
    let what = format!("cannot start the interpreter: {error}");
    let fault = Fault::failed(what, format!("{}{looked}", python.display()), FIX);
    eprintln!("{}", visible(&fault.to_string()));
    ExitCode::from(fault.exit)
}

/// Blocks `signal` over `exec`: the interpreter would answer it with a traceback until it has come
/// to [`START`], which lets it through. False if it was blocked before and is to stay so.
fn hold_back(signal: libc::c_int) -> bool {
    // SAFETY: both sets are this function's own, and `sigset_t` is plain data.
    unsafe {
        let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) == 0
            && libc::sigismember(&raw const before, signal) == 0
    }
}

/// The folders of a `PATH` but those by relative names, among them the working folder: what lies there would be
/// started with the rights of the caller. The system's own if none is left.
fn absolute(path: &OsStr) -> OsString {
    let result = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let result = std::env::join_paths(result).unwrap_or_default();
    if result.is_empty() { "/usr/local/bin:/usr/bin:/bin".into() } else { result }
}

fn beside(name: &str) -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.with_file_name(name))
}
