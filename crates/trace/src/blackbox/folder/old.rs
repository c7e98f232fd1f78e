//! The dumps that are in the folder: which ones go when there are too many, or when the disk is full.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::BEGIN;

/// Of `st_blocks`, bytes.
const BLOCK: u64 = 512;

/// A dump in the folder.
#[derive(Debug, Default)]
struct Old {
    /// Its contents, bytes.
    len: u64,
    /// What it takes on the disk, bytes.
    room: u64,
    files: Vec<PathBuf>,
}

impl Old {
    /// Whether all of its files are gone.
    fn remove(&self) -> bool {
        let refused = self.files.iter().filter(|file| fs::remove_file(file).is_err());
        refused.count() == 0
    }
}

/// By stem, oldest first.
fn dumps(inside: &Path) -> BTreeMap<String, Old> {
    let mut dumps = BTreeMap::<String, Old>::new();
    for entry in fs::read_dir(inside).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(about) = entry.path().symlink_metadata() else { continue };
        if name.starts_with(BEGIN) && about.is_file() {
            let stem = name.split('.').next().unwrap_or_default().to_owned();
            let dump = dumps.entry(stem).or_default();
            dump.len += about.len();
            dump.room += about.blocks() * BLOCK;
            dump.files.push(entry.path());
        }
    }
    dumps
}

/// The oldest dumps go while there are more than `count` or they have more than `bytes`; the one of `newest` stays.
pub fn rotate(inside: &Path, newest: &str, (count, bytes): (usize, u64)) {
    let dumps = dumps(inside);
    let mut len: u64 = dumps.values().map(|dump| dump.len).sum();
    let mut left = dumps.len();
    for (stem, dump) in dumps {
        if left <= count && len <= bytes || stem == newest {
            break;
        }
        dump.remove();
        (left, len) = (left - 1, len - dump.len);
    }
}

/// Whether a disk, or a user's part of it, has no more room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Room that can be had without removing, bytes. Of a quota it is not known, and 0 is returned.
pub fn available(handle: &File, error: &io::Error) -> u64 {
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the handle is open, and there is room for what the kernel writes.
    let refused = unsafe { libc::fstatvfs(handle.as_raw_fd(), about.as_mut_ptr()) } != 0;
    if refused || error.kind() == io::ErrorKind::QuotaExceeded {
        return 0;
    }
    // SAFETY: zeros are such a struct, and the kernel has filled it.
    let about = unsafe { about.assume_init() };
    about.f_bavail.saturating_mul(about.f_frsize)
}

/// Removes as many of the oldest dumps as `needed` bytes take; how many are gone. Where all of them together are too
/// small, none goes, because then the new one would be lost, and the old ones as well.
pub fn make_room(inside: &Path, needed: u64, available: u64) -> u64 {
    let dumps: Vec<Old> = dumps(inside).into_values().collect();
    let rooms: Vec<u64> = dumps.iter().map(|dump| dump.room).collect();
    let oldest = enough(&rooms, needed, available);
    dumps[..oldest].iter().filter(|dump| dump.remove()).count() as u64
}

/// How many of the first `rooms` have to go until `needed` bytes are free: at least one, for the disk is full although
/// something may be `available`. 0 if all together are not enough.
fn enough(rooms: &[u64], needed: u64, available: u64) -> usize {
    let free = rooms.iter().scan(available, |free, room| {
        *free = free.saturating_add(*room);
        Some(*free)
    });
    free.take(rooms.len()).position(|free| free >= needed).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::enough;

    #[test]
    fn as_many_go_as_it_takes_and_none_if_all_are_not_enough() {
        assert_eq!(enough(&[10, 20, 30], 25, 0), 2);
        assert_eq!(enough(&[10, 20, 30], 60, 0), 3);
        assert_eq!(enough(&[10, 20, 30], 61, 0), 0, "all would be lost for nothing");
        assert_eq!(enough(&[10, 20, 30], 61, 5), 3);
        assert_eq!(enough(&[10, 20, 30], 5, u64::MAX), 1, "the disk says it is full");
        assert_eq!(enough(&[], 0, 9), 0);
    }
}
