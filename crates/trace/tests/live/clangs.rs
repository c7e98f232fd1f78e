//! The objects pass the verifier whichever clang compiled them: those that are installed here.
//!
//! A compiler that proves a bound drops the check that shows it to the verifier. Which bounds it
//! proves changes with every version, so that one version says nothing of the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::libbpf_sys::API_HEADERS;
use sojourn_trace::blackbox::hooks;
use sojourn_trace::culprit;
use sojourn_trace::session;
use sojourn_trace::who::watch;

use crate::clang;
use crate::support;

#[test]
fn objects_of_every_clang_load() {
    let Some(_alone) = support::alone() else { return };
    let folder = Folder::new();
    let names: Vec<String> = clang::found().collect();
    if names.is_empty() {
        support::say("skipped", "no clang from 16 on is installed; scripts/clangs installs some");
    }
    for name in &names {
        let object = compile(name, "breakdown", &folder.0);
        let costs = session::verifier_costs(Some(&object))
            .unwrap_or_else(|fault| panic!("{name}: breakdown.bpf.c\n{fault}"));
        assert!(costs.len() > 10, "{name}: only {} programs were loaded", costs.len());
        let sum: u32 = costs.iter().map(|(_, cost)| cost).sum();
        let object = compile(name, "who", &folder.0);
        watch::check_loads(&object).unwrap_or_else(|fault| panic!("{name}: who.bpf.c\n{fault}"));
        let object = compile(name, "culprit", &folder.0);
        let costs = culprit::watch::verifier_costs(Some(&object))
            .unwrap_or_else(|fault| panic!("{name}: culprit.bpf.c\n{fault}"));
        assert_eq!(costs.len(), 8, "{name}: {costs:?}");
        let sum = sum + costs.iter().map(|(_, cost)| cost).sum::<u32>();
        let object = compile(name, "slow", &folder.0);
        match hooks::verifier_costs(Some(&object)) {
            Ok(costs) => assert_eq!(costs.len(), 5, "{name}: {costs:?}"),
            Err(fault) if fault.exit == 2 => support::say("skipped", &fault.what), // an old kernel
            Err(fault) => panic!("{name}: slow.bpf.c\n{fault}"),
        }
        support::say(
            "loaded",
            &format!("who, culprit and breakdown by {name}: {sum} instructions verified"),
        );
    }
}

/// The order is the written one, and holds every version once.
#[test]
fn tested_versions_are_preferred() {
    let versions = clang::versions();
    assert_eq!(versions[..3], [19, 16, 22]);
    let mut sorted = versions.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (clang::OLDEST..=clang::NEWEST).collect::<Vec<u32>>());
}

/// As `build.rs` does it: the same flags, with libbpf's headers.
fn compile(clang: &str, name: &str, folder: &Path) -> Vec<u8> {
    let object = folder.join(format!("{name}.{clang}.o"));
    let status = Command::new(clang)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-g", "-O2", "-target", "bpf", "-c", "-fno-stack-protector", "-I"])
        .arg(folder)
        .args(clang::flags(std::env::consts::ARCH))
        .args([format!("src/bpf/{name}.bpf.c").as_str(), "-o"])
        .arg(&object)
        .status();
    assert!(status.unwrap().success(), "{clang} cannot compile {name}.bpf.c");
    fs::read(object).unwrap()
}

/// A folder for headers and objects, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("sojourn-clangs-{}", std::process::id()));
        fs::create_dir_all(path.join("bpf")).unwrap();
        for (name, text) in API_HEADERS {
            fs::write(path.join("bpf").join(name), text).unwrap();
        }
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
