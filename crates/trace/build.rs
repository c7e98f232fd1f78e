//! Compiles the BPF object, if the feature `bpf` asks for it; needs clang at build time only.

fn main() {
    println!("cargo:rerun-if-changed=src/bpf");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
mod bpf {
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    /// Newest first; `clang` last, because it may be anything.
    const CLANGS: &[&str] =
        &["clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16", "clang"];

    pub fn build() {
        let clang = std::env::var("CLANG").ok().or_else(find).unwrap_or_else(|| {
            panic!(
                "no clang found, and the feature `bpf` compiles a BPF object\n  at: {}\n  fix: apt-get install \
                 clang-19 libelf-dev zlib1g-dev pkg-config make (or clang, from version 16 on), or build without \
                 `--features bpf`",
                CLANGS.join(", ")
            )
        });
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
        let arch = match std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it").as_str() {
            "x86_64" => "x86",
            "aarch64" => "arm64",
            other => panic!("no BPF build for {other}: src/bpf knows x86_64 and aarch64"),
        };
        libbpf_cargo::SkeletonBuilder::new()
            .source("src/bpf/breakdown.bpf.c")
            .clang(&clang)
            .clang_args(["-mcpu=v3", "-Wall", "-Werror", &format!("-D__TARGET_ARCH_{arch}")])
            .obj(out.join("breakdown.bpf.o"))
            .build()
            .unwrap_or_else(|error| {
                panic!("{clang} cannot compile src/bpf/breakdown.bpf.c: {error:?}")
            });
    }

    fn find() -> Option<String> {
        let runs = |name: &&&str| {
            let quiet = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            quiet.is_ok_and(|status| status.success())
        };
        CLANGS.iter().find(runs).map(ToString::to_string)
    }
}
