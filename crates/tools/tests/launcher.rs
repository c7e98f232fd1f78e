//! `sojourn` where its Python side is not: what it says, and that nobody takes it for a verdict.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
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
        command.env("PATH", self.folder.join("path"));
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
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(4), "{said}");
    let missing = format!("{} is not there", bare.launcher.with_file_name("python3").display());
    for part in ["error: ", &missing, "fix: run `make build`"] {
        assert!(said.contains(part), "{part} in {said}");
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
    let line = r#"PATH=$OLD_PATH exec python3 -S "$@""#; // the working folder is looked through first
    let bare = Bare::new("namesake", "sojourn/bin/launcher", line);
    assert_failed(&bare.run(), &bare);
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
