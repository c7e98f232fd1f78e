//! `sojourn` where its Python side is not: what it says, and that no one takes it for a verdict.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

/// The launcher alone in a folder of its own, with an interpreter as `python3` on the only `PATH`.
struct Bare {
    folder: PathBuf,
    launcher: PathBuf,
}

impl Bare {
    /// `launcher` is its place in the folder; `python` is a line of shell, "" for no interpreter.
    fn new(name: &str, launcher: &str, python: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let launcher = folder.join(launcher);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("path")).unwrap();
        fs::create_dir_all(launcher.parent().unwrap()).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_sojourn"), &launcher).unwrap();
        if !python.is_empty() {
            let at = folder.join("path/python3");
            fs::write(&at, format!("#!/bin/sh\n{python}\n")).unwrap();
            fs::set_permissions(at, Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder, launcher }
    }

    fn run(&self) -> Output {
        let mut command = Command::new(&self.launcher);
        command.args(["run", "latency_vs_load"]).current_dir(&self.folder);
        command.env("OLD_PATH", std::env::var_os("PATH").unwrap());
        command.env("PATH", format!(".::planted:{}", self.folder.join("path").display()));
        // SAFETY: `signal` is async-signal-safe. Where the tests run in the background SIGINT is ignored,
        // which an interpreter obeys and a shell cannot undo.
        unsafe {
            command.pre_exec(|| match libc::signal(libc::SIGINT, libc::SIG_DFL) {
                libc::SIG_ERR => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match command.output() {
                // A child that another test forked meanwhile still holds the copy open for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    assert!(Instant::now() < deadline, "{error}");
                    thread::sleep(Duration::from_millis(5));
                }
                done => return done.unwrap(),
            }
        }
    }
}

fn assert_failed(done: &Output, bare: &Bare) {
    let text = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{text}");
    let missing = format!("{} is not there", bare.launcher.with_file_name("python3").display());
    for part in ["error: ", &missing, "fix: run `make build`"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// The machine's interpreter without what is installed beside it: it knows no package of ours.
const WITHOUT_PACKAGES: &str = r#"PATH=$OLD_PATH exec python3 -I -S "$@""#;

#[test]
fn an_interpreter_without_the_package_is_a_failure_that_names_what_was_looked_at() {
    let bare = Bare::new("without-package", "sojourn", WITHOUT_PACKAGES);
    let done = bare.run();
    assert_failed(&done, &bare);
    assert!(String::from_utf8_lossy(&done.stderr).contains("No module named 'sojourn'"));
}

#[test]
fn a_folder_that_happens_to_have_the_name_is_not_the_package() {
    // The user's own PYTHONPATH is looked through first.
    let line = r#"PATH=$OLD_PATH PYTHONPATH=$PWD exec python3 -S "$@""#;
    let bare = Bare::new("namesake", "sojourn/bin/launcher", line);
    assert_failed(&bare.run(), &bare);
}

/// What the package imports: two modules of the standard library, one that is installed beside it.
const PACKAGE: &str = "import json, tomllib, typer
def start():
    print(json.loads('1'), tomllib.loads(''), typer.WHAT)
    return 0
";

/// A colleague's folder, a checkout, /tmp: what lies there is not asked, the user's PYTHONPATH is.
#[test]
fn modules_in_the_working_folder_are_not_imported() {
    let line = r#"PATH=$OLD_PATH PYTHONPATH=$PWD/package exec python3 -S "$@""#;
    let bare = Bare::new("planted", "bin/sojourn", line);
    let write = |name: &str, text: &str| {
        let at = bare.folder.join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    };
    write("package/sojourn/__init__.py", "");
    write("package/sojourn/__main__.py", PACKAGE);
    write("package/typer.py", "WHAT = 'installed'");
    for name in ["json.py", "tomllib.py", "typer.py", "sojourn.py", "sojourn/__init__.py"] {
        write(name, "print('planted', __file__)\nraise SystemExit(0)");
    }
    let done = bare.run();
    let stdout = String::from_utf8_lossy(&done.stdout);
    assert_eq!(stdout, "1 {} installed\n", "{}", String::from_utf8_lossy(&done.stderr));
}

/// A `PATH` with `.`, with an empty part or with a relative folder in it leads to what lies there.
#[test]
fn programs_in_the_working_folder_are_not_started() {
    let bare = Bare::new("planted-program", "bin/sojourn", "echo \"installed $PATH\"");
    fs::create_dir(bare.folder.join("planted")).unwrap();
    for name in ["python3", "planted/python3"] {
        fs::write(bare.folder.join(name), "#!/bin/sh\necho planted\n").unwrap();
        fs::set_permissions(bare.folder.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    let done = bare.run();
    let wanted = format!("installed {}\n", bare.folder.join("path").display());
    assert_eq!(String::from_utf8_lossy(&done.stdout), wanted);
}

/// The interpreter's first 60 ms: the signal is there before a line of Python has run.
#[test]
fn stopped_before_the_interpreter_is_up_it_says_so_and_no_more() {
    let line = r#"kill -INT $$; PATH=$OLD_PATH exec python3 -I -S "$@""#;
    let done = Bare::new("stopped", "sojourn", line).run();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "stopped\n");
    assert_eq!(done.status.code(), Some(130));
}

#[test]
fn no_interpreter_at_all_is_a_failure_too() {
    let bare = Bare::new("without-python", "sojourn", "");
    assert_failed(&bare.run(), &bare);
}
