//! Whatever a program is given, nothing that it says controls the terminal.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

use std::process::Command;

const EVIL: &str = "\x1b]0;OWN\x07\x1b[2J\u{202e}\u{9b}31m";

#[test]
fn each_program_spells_out_what_would_control_a_terminal() {
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
    for program in programs {
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
