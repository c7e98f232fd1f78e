//! Compiles the BPF object, if the feature `bpf` asks for it; needs clang at build time only.

fn main() {
    let shared = ["clang.rs", "clangs.txt", "src/bpf/bounds.h", "src/bpf/types.h"];
    println!("cargo:rerun-if-changed=src/bpf");
    for path in shared.map(|path| format!("../trace/{path}")) {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
#[path = "../trace/clang.rs"]
mod clang;

#[cfg(feature = "bpf")]
mod bpf {
    use std::path::PathBuf;

    use crate::clang;

    const SOURCE: &str = "src/bpf/bvt.bpf.c";

    pub fn build() {
        let clang = clang::best().unwrap_or_else(|| {
            panic!(
                "no clang from {0} to {1} found, and the feature `bpf` compiles a BPF object\n  at: {SOURCE}\n  \
                 fix: scripts/setup --bpf names the packages; or build without `--features bpf`",
                clang::OLDEST,
                clang::NEWEST
            )
        });
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
        let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
        libbpf_cargo::SkeletonBuilder::new()
            .source(SOURCE)
            .clang(&clang)
            .clang_args(clang::flags(&arch))
            .obj(out.join("bvt.bpf.o"))
            .build()
            .unwrap_or_else(|error| panic!("{clang} cannot compile {SOURCE}: {error:?}"));
    }
}
