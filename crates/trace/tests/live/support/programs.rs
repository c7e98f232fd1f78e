//! BPF programs by their numbers, which the kernel gives once only: those of a tracer that has just
//! ended, or of another one on this machine, bear the same names and are not counted.

use std::collections::BTreeSet;
use std::fs;

use libbpf_rs::query::ProgInfoIter;

/// Numbers of the programs that a process holds, by itself or by what they are attached to.
pub fn held_by(pid: u32) -> BTreeSet<u32> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return BTreeSet::new() };
    let texts = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    texts.filter_map(|text| number(&text)).collect()
}

fn number(fdinfo: &str) -> Option<u32> {
    fdinfo.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok())
}

/// Those of `numbers` that are in the kernel; it frees them some time after no one holds them.
pub fn loaded(numbers: &BTreeSet<u32>) -> BTreeSet<u32> {
    ProgInfoIter::default().map(|info| info.id).filter(|id| numbers.contains(id)).collect()
}
