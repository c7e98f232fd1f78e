//! Whatever a program is given, nothing that it says controls the terminal.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

use std::fs::File;
use std::process::Command;

const EVIL: &str = "\x1b]0;OWN\x07\x1b[2J\u{202e}\u{9b}31m";

fn programs() -> Vec<&'static str> {
    let mut programs = vec![
        env!("CARGO_BIN_EXE_sojourn-counters"),
        env!("CARGO_BIN_EXE_sojourn-load"),
        env!("CARGO_BIN_EXE_sojourn-noise"),
        env!("CARGO_BIN_EXE_sojourn-query"),
        env!("CARGO_BIN_EXE_sojourn-serve"),
        env!("CARGO_BIN_EXE_sojourn-sim"),
    ];
    let with_bpf =
        [option_env!("CARGO_BIN_EXE_sojourn-trace"), option_env!("CARGO_BIN_EXE_sojourn-sched")];
    // They have names here also where they are not built.
    programs.extend(with_bpf.into_iter().flatten().filter(|_| cfg!(feature = "bpf")));
    programs
}

#[test]
fn each_program_spells_out_what_would_control_a_terminal() {
    for program in programs() {
        for words in [&[EVIL][..], &["--job", EVIL], &["--check", EVIL]] {
            let done = Command::new(program).args(words).output().unwrap();
            let text = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
            let is_control = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
            assert!(
                !text.contains(is_control) && !text.contains('\u{202e}'),
                "{program}: {text:?}"
            );
        }
    }
}

#[test]
fn what_was_not_understood_is_shown_as_letters() {
    let words = [EVIL, "--rate", "1", "--duration", "1s"];
    let done = Command::new(env!("CARGO_BIN_EXE_sojourn-load")).args(words).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(text.contains("\\x1b]0;OWN\\x07\\x1b[2J\\u202e\\u009b31m"), "{text:?}");
}

#[test]
fn no_program_dies_because_its_words_cannot_be_written() {
    for program in programs() {
        for words in ["--help", "--nonsense"] {
            let full = || File::options().write(true).open("/dev/full").unwrap();
            let done = Command::new(program).arg(words).stdout(full()).stderr(full()).status();
            assert!(done.unwrap().code().is_some(), "{program} {words}: ended by a signal");
        }
    }
}

#[test]
fn a_simulation_that_cannot_be_written_is_a_failure() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let words = ["queue", "--requests", "1k", "--json", "-"];
    let mut simulator = Command::new(env!("CARGO_BIN_EXE_sojourn-sim"));
    let done = simulator.args(words).stdout(full).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(4), "{text}");
    assert!(text.contains("stdout cannot be written"), "{text}");
}

#[test]
fn a_terminal_shows_what_a_load_does_before_and_after_it_sends() {
    let words = ["null:", "--rate", "100", "--duration", "100ms", "--warmup", "0s"];
    let mut load = Command::new(env!("CARGO_BIN_EXE_sojourn-load"));
    let done = load.args(words).args(["--progress", "text"]).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    let lines: Vec<&str> = text.split("\r\x1b[K").collect();
    assert_eq!(lines[1], "  drawing the plan", "{text:?}");
    assert_eq!(lines[lines.len() - 2..], ["  working out the result", ""], "{text:?}");
}
