//! The disk: blocks of a file of its own, read or written, in order or not.
//!
//! The file has no name: it is unlinked as soon as it is open, so nothing is left however the
//! program ends.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};

use super::spread::spread;
use crate::antagonist::{Antagonist, Entry, Made, Most};
use crate::intensity::Intensity;
use crate::map::{Map, PAGE};
use crate::words::Words;

const FREE_PART: u64 = 4; // at most this part of what is free on the disk
const FILL_BYTES: usize = 1 << 20;

struct OwnFile {
    file: File,
    folder: PathBuf,
    block: Map,
    bytes: usize,
    blocks: u64,
    next: u64,
    step: u64,
    is_write: bool,
    is_direct: bool,
}

impl Antagonist for OwnFile {
    fn work(&mut self, units: u64) -> Result<u64, Fault> {
        let mut moved = 0;
        while moved < units {
            let at = self.next * self.bytes as u64;
            let block = &mut self.block.bytes()[..self.bytes];
            let done = if self.is_write {
                let synced = |file: &File| if self.is_direct { Ok(()) } else { file.sync_data() };
                self.file.write_all_at(block, at).and_then(|()| synced(&self.file))
            } else {
                self.file.read_exact_at(block, at)
            };
            done.map_err(|error| {
                let fix = "see the folder's disk: full, read-only, or gone?";
                Fault::failed(
                    format!("the disk fails: {error}"),
                    self.folder.display().to_string(),
                    fix,
                )
            })?;
            self.next = (self.next + self.step) % self.blocks;
            moved += self.bytes as u64;
        }
        Ok(moved)
    }
}

fn build(words: &Words, _asked: Intensity) -> Result<Made, Fault> {
    let is_random = words.choice("access", &["sequential", "random"])? == 1;
    let is_write = words.choice("op", &["read", "write"])? == 1;
    let is_direct = words.choice("direct", &["false", "true"])? == 1;
    let block = words.bytes("block")?.unwrap_or(64 << 10);
    if block % PAGE as u64 != 0 || block > 64 << 20 {
        let what = format!("a block has {block} bytes");
        return Err(Fault::usage(what, "params.block", "give a multiple of 4KiB, 64MiB at most"));
    }
    let folder = words.folder("folder");
    let file = open(&folder, is_direct)?;
    let size = room(&folder, words.bytes("size")?.unwrap_or(256 << 20))?;
    let blocks = (size / block).max(1);
    fill(&file, &folder, blocks * block)?;
    let step = if is_random { spread(blocks as usize) as u64 } else { 1 };
    let reported = format!("{} MiB in {}", (blocks * block) >> 20, folder.display());
    let worker = OwnFile {
        file,
        folder,
        block: Map::new(block, false)?,
        bytes: block as usize,
        blocks,
        next: 0,
        step,
        is_write,
        is_direct,
    };
    Ok(Made::new(worker, reported))
}

/// A file without a name.
fn open(folder: &Path, is_direct: bool) -> Result<File, Fault> {
    let path = folder.join(format!(".sojourn-noise-{}-{}", std::process::id(), unique()));
    let flags = if is_direct { libc::O_DIRECT } else { 0 };
    let mut how = OpenOptions::new();
    how.read(true).write(true).create_new(true).mode(0o600).custom_flags(flags);
    let opened = how.open(&path);
    let _ = fs::remove_file(&path); // made or not, also where direct access was refused after that
    opened.map_err(|error| {
        let is_refused = is_direct && error.raw_os_error() == Some(libc::EINVAL);
        let (how, fix) = if is_refused {
            (" with direct access", "give folder= on a disk, or direct=false")
        } else {
            ("", "give folder= that exists and may be written")
        };
        let what = format!("a file{how} cannot be made in {}: {error}", folder.display());
        Fault::usage(what, "params.folder", fix)
    })
}

fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// `size`, if a quarter of what is free takes it; the usual one is cut to that.
fn room(folder: &Path, size: u64) -> Result<u64, Fault> {
    let free = rustix::fs::statvfs(folder).map_or(u64::MAX, |it| it.f_bavail * it.f_frsize);
    if size > free / FREE_PART {
        let what = format!(
            "{} MiB are asked, {} MiB are free, a quarter may be taken",
            size >> 20,
            free >> 20
        );
        return Err(Fault::usage(
            what,
            "params.size",
            format!("give at most {}MiB, or another folder", (free / FREE_PART) >> 20),
        ));
    }
    Ok(size)
}

/// Writes the whole file once, so that reading it is reading a disk.
fn fill(file: &File, folder: &Path, bytes: u64) -> Result<(), Fault> {
    let mut map = Map::new(FILL_BYTES as u64, false)?;
    map.words().fill(0x5a5a_5a5a_a5a5_a5a5);
    let mut at = 0;
    while at < bytes {
        let part = (bytes - at).min(FILL_BYTES as u64) as usize;
        let written = file.write_all_at(&map.bytes()[..part], at);
        written.map_err(|error| {
            let fix = "give a smaller size, or another folder";
            Fault::failed(
                format!("the file cannot be filled: {error}"),
                folder.display().to_string(),
                fix,
            )
        })?;
        at += part as u64;
    }
    Ok(())
}

const fn param(
    name: &'static str,
    about: &'static str,
    default: &'static str,
    range: &'static str,
) -> Param {
    Param { name, unit: "", about, default, range }
}

/// Its line in the table.
pub const ENTRY: Entry = Entry {
    kind: Kind {
        name: "disk",
        about: "reads or writes blocks of a file of its own, past the page cache",
        usage: "disk (-p access=random -p op=write --intensity 50MB/s)",
        params: &[
            param("access", "order of the blocks", "sequential", "sequential | random"),
            param("op", "what is done", "write", "read | write"),
            param("block", "bytes of a block", "64KiB", "a multiple of 4KiB"),
            super::size("of the file; a quarter of what is free at most", "256MiB"),
            param(
                "folder",
                "where the file lies; by default that of temporary files",
                "",
                "a folder",
            ),
            param(
                "direct",
                "past the page cache; false: by it, each write synced",
                "true",
                "true | false",
            ),
        ],
        needs: &["a disk that takes direct access (O_DIRECT), or direct=false"],
        source: "P20; open(2)",
    },
    unit: "bytes",
    most: Most::PerSecond,
    build,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_name_and_too_large_a_one_is_refused() {
        let folder = std::env::temp_dir().join(format!("noise-disk-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = open(&folder, false).unwrap();
        fill(&file, &folder, 3 << 19).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 3 << 19);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
        let fault = room(&std::env::temp_dir(), u64::MAX).unwrap_err();
        assert!(fault.what.contains("are free") && fault.fix.contains("at most"), "{fault}");
    }
}
