//! Hooks that are attached and do nothing: what the least price of a set of hooks is, for benchmarks.
//!
//! `idle PID all|few|sample` attaches what `--all`, `--sample 1/64` and `--sample 1/64 --all-stages` attach, says
//! so, and waits until a signal ends it.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for benchmarks: what fails, ends it

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sojourn_trace::attach::how::How;
use sojourn_trace::attach::target;
use sojourn_trace::session::{self, Options};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pid, which] = &words[..] else { panic!("PID all|few|sample") };
    let how = match which.as_str() {
        "all" => How::All,
        "few" | "sample" => How::Sample { one_in: 64, seed: 0 },
        other => panic!("{other}: all, few or sample"),
    };
    let options =
        Options { how, all_stages: which == "sample", ring_bytes: 1 << 20, ..Options::default() };
    let target = target::find(Path::new("/proc"), pid.parse().unwrap(), &[]).unwrap();
    let mut begun = || println!("tracing nothing");
    session::idle(&target, options, &AtomicBool::new(false), &mut begun).unwrap();
}
