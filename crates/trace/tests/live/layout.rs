//! `src/reconstruct/layout.rs` is what every clang says, and a struct that changes does not go unseen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libbpf_rs::libbpf_sys::API_HEADERS;

use crate::{clang, layout_text};

const KEPT: &str = include_str!("../../src/reconstruct/layout.rs");

#[test]
fn every_clang_lays_structs_out_as_it_is_written() {
    let folder = Folder::new("every-layout");
    for name in clang::found() {
        assert_eq!(layout_text::text(&folder.compiled(&name)), KEPT, "{name}");
    }
}

#[test]
fn a_field_that_changes_is_noticed() {
    let Some(name) = clang::found().next() else { return };
    for (was, is) in [
        ("u32 is_corked;", "u32 is_corked; u64 one_more;"),
        ("u64 total_sum_ns;\n\tu64 queue_sum_ns;", "u64 queue_sum_ns;\n\tu64 total_sum_ns;"),
        ("u16 peer_port;\n\tu16 why;", "u32 peer_port;\n\tu32 why;"),
    ] {
        let folder = Folder::new("changed-layout");
        let shapes = folder.0.join("shapes.h");
        let text = fs::read_to_string(&shapes).unwrap();
        assert_eq!(text.matches(was).count(), 1, "{was}");
        fs::write(&shapes, text.replace(was, is)).unwrap();
        assert_ne!(layout_text::text(&folder.compiled(&name)), KEPT, "{is}");
    }
}

/// The kernel side's sources and libbpf's headers, in a folder that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("bpf")).unwrap();
        for (name, text) in API_HEADERS {
            fs::write(folder.join("bpf").join(name), text).unwrap();
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bpf");
        for file in fs::read_dir(source).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
        Self(folder)
    }

    fn compiled(&self, clang: &str) -> PathBuf {
        let object = self.0.join(format!("{clang}.o"));
        let done = Command::new(clang)
            .args(["-g", "-O2", "-target", "bpf", "-I", ".", "-c", "layout.bpf.c", "-o"])
            .arg(&object)
            .args(clang::flags(std::env::consts::ARCH))
            .current_dir(&self.0)
            .output()
            .unwrap();
        assert!(done.status.success(), "{clang}: {}", String::from_utf8_lossy(&done.stderr));
        object
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
