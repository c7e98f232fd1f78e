//! Which clang compiles the BPF objects, and how. Shared by `build.rs`, also that of crates/sched, and `tests/live/clangs.rs`.
//!
//! Those that were tested come first, best known first: a compiler that is new here may produce what
//! the kernel's verifier does not take. `scripts/setup` reads the same list, `clangs.txt`.

use std::process::{Command, Stdio};

/// Older ones lack instructions that the objects use.
pub const OLDEST: u32 = 16;
pub const NEWEST: u32 = 29;

/// Tested ones, then all others from the newest down.
pub fn versions() -> Vec<u32> {
    let tested: Vec<u32> = include_str!("clangs.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|word| word.parse().expect("clangs.txt holds versions"))
        .collect();
    let others = (OLDEST..=NEWEST).rev().filter(|version| !tested.contains(version));
    tested.iter().copied().chain(others).collect()
}

/// Those that run here, in the same order.
pub fn found() -> impl Iterator<Item = String> {
    versions().into_iter().map(|version| format!("clang-{version}")).filter(|name| runs(name))
}

/// The one to build with: what `CLANG` says, or the first found; `clang` last, as it may be anything.
#[allow(dead_code, reason = "tests take all of them")]
pub fn best() -> Option<String> {
    let plain = || runs("clang").then(|| "clang".to_owned());
    std::env::var("CLANG").ok().or_else(|| found().next()).or_else(plain)
}

pub fn runs(name: &str) -> bool {
    let quiet =
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// What every object is compiled with, beside what libbpf-cargo gives of itself.
pub fn flags(arch: &str) -> [String; 4] {
    let arch = match arch {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        other => panic!("no BPF build for {other}: src/bpf knows x86_64 and aarch64"),
    };
    ["-mcpu=v3".into(), "-Wall".into(), "-Werror".into(), format!("-D__TARGET_ARCH_{arch}")]
}
