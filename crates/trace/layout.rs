//! Where the fields of the structs lie that both sides share, as Rust: from an object's BTF.
//! Shared by `build.rs` and `tests/live/layout.rs`.

use std::fmt::Write as _;
use std::path::Path;

use libbpf_rs::HasSize as _;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};

/// Structs of `src/bpf/layout.bpf.c`, in its order.
const STRUCTS: [&str; 17] = [
    "row",
    "thread",
    "tally",
    "peek",
    "conn_line",
    "settings",
    "control",
    "record",
    "told",
    "culprit_control",
    "culprit_counts",
    "who_cpu",
    "who_task",
    "slow",
    "timed",
    "slow_control",
    "slow_counts",
];

const HEAD: &str = "\
//! Made by `build.rs` from `bpf/layout.bpf.c`, which says which structs; not written by hand.
//!
//! Offsets of fields and sizes of the structs that the hooks write and this side reads, bytes. A build
//! with the feature `bpf` fails where this is not what the compiler says; one without needs no clang.

#![allow(dead_code, reason = \"not every field is read here\")]
#![allow(clippy::unreadable_literal, reason = \"numbers for machines\")]
";

/// `src/reconstruct/layout.rs`, as the object at `path` has it.
pub fn text(path: &Path) -> String {
    let btf = Btf::from_path(path).expect("the object has BTF");
    STRUCTS.iter().fold(HEAD.to_owned(), |text, name| text + &of_struct(&btf, name))
}

fn of_struct(btf: &Btf<'_>, name: &str) -> String {
    let result: Struct<'_> =
        btf.type_by_name(name).unwrap_or_else(|| panic!("struct {name} is not in the object"));
    let mut text = format!("\n/// `struct {name}`.\npub mod {name} {{\n");
    for member in result.iter() {
        let field = member.name.map(|name| name.to_string_lossy().to_uppercase());
        if let (Some(field), MemberAttr::Normal { offset }) = (field, member.attr) {
            writeln!(text, "    pub const {field}: usize = {};", offset / 8).expect("into memory");
        }
    }
    text + &format!("    pub const SIZE: usize = {};\n}}\n", result.size())
}
