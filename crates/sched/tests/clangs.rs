//! The object compiles with every clang that is installed; what comes of it is kept for
//! `tests/privileged/sched_vm_test.py`, which loads them on a kernel with `sched_ext`.

#![allow(clippy::unwrap_used)] // a test that cannot start has failed

#[path = "../../trace/clang.rs"]
mod clang;

use std::fs;
use std::path::Path;
use std::process::Command;

use libbpf_rs::libbpf_sys::API_HEADERS;

#[test]
fn every_clang_compiles_it() {
    // Of its own: two of these may run at once.
    let name = format!("sched-clangs-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("bpf")).unwrap();
    for (name, text) in API_HEADERS {
        fs::write(folder.join("bpf").join(name), text).unwrap();
    }
    for name in clang::found() {
        // As `build.rs` does it: the same flags.
        let status = Command::new(&name)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["-g", "-O2", "-target", "bpf", "-c", "-fno-stack-protector", "-I"])
            .arg(&folder)
            .args(clang::flags(std::env::consts::ARCH))
            .args(["src/bpf/bvt.bpf.c", "-o"])
            .arg(folder.join(format!("{name}.o")))
            .status();
        assert!(status.unwrap().success(), "{name} cannot compile bvt.bpf.c");
    }
    fs::remove_dir_all(&folder).unwrap();
}
