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

    /// `scripts/setup` looks for the same ones.
    const VERSIONS: std::ops::RangeInclusive<u32> = 16..=29;

    pub fn build() {
        let clang = std::env::var("CLANG").ok().or_else(find).unwrap_or_else(|| {
            panic!(
                "no clang found, and the feature `bpf` compiles a BPF object\n  at: clang-{} to clang-{}, clang\n  \
                 fix: apt-get install clang-19 libelf-dev zlib1g-dev pkg-config make (or another clang from {0} on), \
                 or build without `--features bpf`",
                VERSIONS.start(),
                VERSIONS.end()
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

    /// The newest; `clang` last, because it may be anything.
    fn find() -> Option<String> {
        let runs = |name: &String| {
            let quiet = Command::new(name)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            quiet.is_ok_and(|status| status.success())
        };
        let numbered = VERSIONS.rev().map(|version| format!("clang-{version}"));
        numbered.chain(["clang".to_owned()]).find(runs)
    }
}
