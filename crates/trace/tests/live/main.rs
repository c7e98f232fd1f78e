//! Real kernels and real servers: what is traced, who is blamed, what is refused, and what stays behind.
//!
//! One program, because each further one would be linked with the tracer, libbpf and Parquet once more.
//! Tests that trace, or look at what the machine does, take [`support::alone`] and run one after another.

#![allow(clippy::unwrap_used)] // a test that cannot start has failed
#![allow(clippy::print_stdout)] // counts, for whoever asks with --nocapture

#[path = "../../clang.rs"]
mod clang;
#[path = "../../layout.rs"]
mod layout_text;
mod support;

mod children;
mod clangs;
mod containers;
mod culprit;
mod few;
mod foreign;
mod framing;
mod hogs;
mod layout;
mod namespaces;
mod refusals;
mod ring;
mod ring_follow;
mod served;
mod shapes;
mod shims;
mod skips;
mod times;
mod truth;
mod verifier;
mod waits;
mod who;
mod windows;
