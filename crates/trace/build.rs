//! Compiles the BPF objects, if the feature `bpf` asks for them; needs clang at build time only.

fn main() {
    for path in ["src/bpf", "src/reconstruct/layout.rs", "clang.rs", "clangs.txt", "layout.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
#[path = "clang.rs"]
mod clang;

#[cfg(feature = "bpf")]
#[path = "layout.rs"]
mod layout;

#[cfg(feature = "bpf")]
mod bpf {
    use std::path::{Path, PathBuf};

    use crate::{clang, layout};

    /// The last one is not loaded: it says where fields lie.
    const OBJECTS: [&str; 5] = ["breakdown", "who", "culprit", "slow", "layout"];

    pub fn build() {
        let clang = clang::best().unwrap_or_else(|| {
            panic!(
                "no clang found, and the feature `bpf` compiles a BPF object\n  at: clang-{} to clang-{}, clang\n  \
                 fix: apt-get install clang-19 libelf-dev zlib1g-dev pkg-config make (or another clang from {0} on), \
                 or build without `--features bpf`",
                clang::OLDEST, clang::NEWEST
            )
        });
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
        let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
        for name in OBJECTS {
            let source = format!("src/bpf/{name}.bpf.c");
            libbpf_cargo::SkeletonBuilder::new()
                .source(&source)
                .clang(&clang)
                .clang_args(clang::flags(&arch))
                .obj(out.join(format!("{name}.bpf.o")))
                .build()
                .unwrap_or_else(|error| panic!("{clang} cannot compile {source}: {error:?}"));
        }
        check_layout(&out);
    }

    /// `src/reconstruct/layout.rs` is also read where there is no clang, so it is kept, and must be what is built.
    fn check_layout(out: &Path) {
        let made = layout::text(&out.join("layout.bpf.o"));
        if made == include_str!("src/reconstruct/layout.rs") {
            return;
        }
        let file = out.join("layout.rs");
        std::fs::write(&file, made).expect("cargo's own folder can be written to");
        panic!(
            "src/reconstruct/layout.rs does not say where fields lie in src/bpf\n  fix: cp {} crates/trace/src/reconstruct/layout.rs",
            file.display()
        );
    }
}
