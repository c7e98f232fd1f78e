//! One file of a dump: written beside its place under a name of its own, then renamed into it.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::Part;

/// What the name of an unfinished file ends in; before it are a dot and 16 hexadecimal digits.
const END: &str = ".part";
const DIGITS: usize = 16;
/// A file takes whole blocks of a disk, bytes.
const BLOCK: u64 = 4096;

/// Writes a new file that only its owner reads, and gives it its name. It is locked meanwhile, so that a `sweep` of
/// another black box leaves it alone.
pub fn one(
    inside: &Path,
    name: &str,
    fill: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let beside = inside.join(format!(".{:016x}{END}", RandomState::new().hash_one(name)));
    let flags = libc::O_NOFOLLOW;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(&beside)?;
    is_locked(&file); // a file system without locks is no reason to lose a dump
    let mut out = BufWriter::new(file);
    let filled = fill(&mut out)
        .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all().map(|()| file))
        .and_then(|_locked| fs::rename(&beside, inside.join(name)));
    if filled.is_err() {
        let _ = fs::remove_file(&beside); // what cannot be removed now, the next start removes
    }
    filled
}

/// Removes what starts before this one had begun and not finished; how many files.
pub fn sweep(inside: &Path) -> usize {
    let entries = fs::read_dir(inside).into_iter().flatten().flatten();
    let unfinished = entries.filter(|entry| is_unfinished(&entry.file_name().to_string_lossy()));
    unfinished
        .filter(|entry| is_left(&entry.path()) && fs::remove_file(entry.path()).is_ok())
        .count()
}

fn is_unfinished(name: &str) -> bool {
    let digits = name.strip_prefix('.').and_then(|name| name.strip_suffix(END));
    digits.is_some_and(|it| it.len() == DIGITS && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Locks a file until it is closed; false where another has it locked.
pub fn is_locked(file: &File) -> bool {
    // SAFETY: the file is open; nothing of memory is touched.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Whether it is a file that no black box writes.
fn is_left(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
    is_file && File::open(path).is_ok_and(|file| is_locked(&file))
}

/// What the files of a dump take on a disk, bytes.
pub fn size(parts: &[Part<'_>]) -> u64 {
    let one = |fill: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let mut count = Count(0);
        let _ = fill(&mut count);
        count.0.next_multiple_of(BLOCK)
    };
    parts.iter().map(|(_, fill)| one(fill)).sum()
}

/// Counts the bytes that are written into it.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
