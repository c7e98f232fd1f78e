//! Each program has a manual page with each of its options, and a completion that its shell reads.

#![allow(clippy::unwrap_used)] // a test that cannot be set up must say where

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "../examples/pages.rs"]
#[allow(dead_code, missing_docs)] // its `main` is for the example, which a test does not build
mod made;

/// What `--help` of a program names, such as `--rate`.
fn options(program: &str) -> BTreeSet<String> {
    let help = Command::new(program).arg("--help").output().unwrap().stdout;
    String::from_utf8(help)
        .unwrap()
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with('-'))
        .flat_map(|line| line.split([' ', ',', '=', '[']).take(3))
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(str::to_owned)
        .collect()
}

fn pages() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    let _ = fs::remove_dir_all(&folder);
    made::write_all(&folder).unwrap();
    folder
}

#[test]
fn every_option_is_in_manual_and_completion() {
    let folder = pages();
    for program in [
        env!("CARGO_BIN_EXE_sojourn-counters"),
        env!("CARGO_BIN_EXE_sojourn-load"),
        env!("CARGO_BIN_EXE_sojourn-noise"),
        env!("CARGO_BIN_EXE_sojourn-query"),
        env!("CARGO_BIN_EXE_sojourn-serve"),
        env!("CARGO_BIN_EXE_sojourn-sim"),
    ] {
        let name = Path::new(program).file_name().unwrap().to_str().unwrap();
        let text = |path: String| fs::read_to_string(folder.join(path)).unwrap();
        let manual = text(format!("man/man1/{name}.1")).replace('\\', "");
        let bash = text(format!("bash-completion/completions/{name}"));
        let zsh = text(format!("zsh/site-functions/_{name}"));
        let fish = text(format!("fish/vendor_completions.d/{name}.fish"));
        let asked = options(program);
        assert!(asked.contains("--version") && asked.len() > 2, "{name}: {asked:?}");
        for option in asked {
            let long = option.trim_start_matches('-');
            assert!(manual.contains(&option), "{name}: {option} is not in its manual");
            assert!(bash.contains(&option) && zsh.contains(&option), "{name}: {option}");
            assert!(fish.contains(&format!("-l {long}")), "{name}: {option}");
        }
        assert!(zsh.starts_with(&format!("#compdef {name}")));
        let script = folder.join(format!("bash-completion/completions/{name}"));
        assert!(Command::new("bash").arg("-n").arg(script).status().unwrap().success());
    }
    assert!(folder.join("man/man1/sojourn-sim-queue.1").exists());
}
