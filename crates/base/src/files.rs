//! Files that appear whole or not at all: written beside their place, then renamed into it.
//!
//! What is beside has a random name and is new (`O_EXCL`, `O_NOFOLLOW`), because others may be
//! able to write into the folder: a link that they put there is never followed.
//!
//! Only a regular file is replaced. A device or a pipe is written into, for root could otherwise
//! turn `/dev/null` into a file; of a symbolic link the target is replaced and not the link. A link that
//! another user has made is refused: in a folder of theirs it may lead to a file of root's.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Fault;

/// Lets `fill` write the file at `path`; `what` names it in faults ("the interval log").
pub fn write_whole(
    path: &Path,
    what: &str,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Fault> {
    let written = place_of(path).and_then(|(place, is_special)| {
        if is_special {
            open(&place).and_then(|file| finish(file, fill)).map(drop)
        } else {
            replace(&place, fill)
        }
    });
    written.map_err(|error| {
        let fix =
            "free space on the disk, or name a file in a folder that exists and may be written";
        Fault::failed(format!("{what} cannot be written: {error}"), path.display().to_string(), fix)
    })
}

/// Opens an empty file at `path` for what is written while a run goes on. What was there before is
/// replaced, a device or a pipe is written into.
pub fn begin(path: &Path) -> io::Result<File> {
    let (place, is_special) = place_of(path)?;
    if is_special {
        return open(&place);
    }
    match fs::remove_file(&place) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fresh(&place),
    }
}

/// Writes a new file, brings it to the disk, and gives it the name `place`.
fn replace(
    place: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let beside = folder.join(format!(".{:016x}.part", unguessable()));
    let written = fresh(&beside)
        .and_then(|file| finish(file, fill))
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&beside, place));
    if written.is_err() {
        // What was written of it is of no use; the fault matters more than this.
        let _ = fs::remove_file(&beside);
    }
    written?;
    match File::open(folder) {
        Ok(folder) => folder.sync_all(),
        Err(_) => Ok(()), // it may be written but not be read: then the kernel syncs it in its time
    }
}

/// A file that was not there.
fn fresh(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// A number that others cannot foresee: the standard library draws the keys of its hashes so.
fn unguessable() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Writes `text` to standard output, or what represents it, at once.
pub fn say(out: &mut dyn Write, text: &str) -> Result<(), Fault> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| {
        Fault::failed(format!("stdout cannot be written: {error}"), "stdout", "see where it leads")
    })
}

/// A result that cannot be written is found before the run, not after it. `-` is standard output. A
/// file that is there stays as it is; of one that is not, nothing is left.
pub fn check_writable(path: &Path) -> Result<(), Fault> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let is_new = !path.exists();
    let opened = not_laid_by_others(path)
        .and_then(|()| open(path))
        .and_then(|_| if is_new { remove(path) } else { Ok(()) });
    opened.map_err(|error| {
        let fix = "name a file in a folder that exists and may be written";
        Fault::usage(
            format!("the result cannot be written: {error}"),
            path.display().to_string(),
            fix,
        )
    })
}

/// Removes the file at `path`; of a link, what it leads to.
fn remove(path: &Path) -> io::Result<()> {
    fs::canonicalize(path).and_then(fs::remove_file)
}

/// Where the bytes of `path` go, and whether that is something else than a regular file.
fn place_of(path: &Path) -> io::Result<(PathBuf, bool)> {
    not_laid_by_others(path)?;
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let is_special = fs::metadata(&place).is_ok_and(|it| !it.is_file());
    Ok((place, is_special))
}

/// Refuses a link that belongs to neither this user nor the superuser.
fn not_laid_by_others(path: &Path) -> io::Result<()> {
    let Ok(result) = fs::symlink_metadata(path) else { return Ok(()) };
    // SAFETY: it takes nothing and cannot fail.
    let own = unsafe { libc::geteuid() };
    if !result.is_symlink() || [own, 0].contains(&result.uid()) {
        return Ok(());
    }
    let what = format!("it is a link that user {} has made", result.uid());
    Err(io::Error::new(ErrorKind::PermissionDenied, what))
}

/// Never waits: a pipe that no one reads is refused (ENXIO).
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).custom_flags(libc::O_NONBLOCK).open(path)
}

fn finish(
    file: File,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sojourn-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_cannot_be_finished_leaves_nothing_behind() {
        let folder = folder("files");
        let path = folder.join("out");
        let full = |out: &mut BufWriter<File>| {
            out.write_all(b"some")?;
            Err(io::Error::from_raw_os_error(28)) // ENOSPC
        };
        let fault = write_whole(&path, "the log", full).unwrap_err();
        assert!(fault.what.contains("the log cannot be written: No space left"), "{fault}");
        assert!(fault.fix.contains("free space"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        write_whole(&path, "the log", |out| out.write_all(b"all")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn to_ask_whether_a_file_can_be_written_leaves_nothing_and_changes_nothing() {
        let folder = folder("asked");
        let (old, new) = (folder.join("old"), folder.join("new"));
        fs::write(&old, "kept").unwrap();
        let link = folder.join("link");
        std::os::unix::fs::symlink(folder.join("nowhere"), &link).unwrap();
        for path in [&old, &new, &link] {
            check_writable(path).unwrap();
        }
        assert_eq!(fs::read(&old).unwrap(), b"kept");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "the old file and the link");
        assert!(check_writable(&folder.join("no folder/file")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_link_stays_and_its_target_is_written() {
        let folder = folder("links");
        let (real, link) = (folder.join("real"), folder.join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_whole(&link, "the result", |out| out.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_link_that_was_planted_beside_is_not_written_through() {
        let folder = folder("planted");
        let victim = folder.join("victim");
        fs::write(&victim, "kept").unwrap();
        for name in ["out.part", ".out.part", "begun"] {
            std::os::unix::fs::symlink(folder.join("made by us"), folder.join(name)).unwrap();
        }
        write_whole(&folder.join("out"), "the result", |out| out.write_all(b"new")).unwrap();
        begin(&folder.join("begun")).unwrap().write_all(b"new").unwrap();
        assert!(!folder.join("made by us").exists());
        assert_eq!(fs::read(folder.join("out")).unwrap(), b"new");
        assert_eq!(fs::read(folder.join("begun")).unwrap(), b"new");
        assert_eq!(fs::read(&victim).unwrap(), b"kept");
        assert!(fresh(&victim).is_err(), "what is there is never opened");
        let mut names = [unguessable(), unguessable(), unguessable()];
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_link_of_another_user_is_refused_and_changes_nothing() {
        let folder = folder("laid");
        let (victim, link) = (folder.join("victim"), folder.join("link"));
        fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        if std::os::unix::fs::lchown(&link, Some(65_534), None).is_err() {
            println!("skipped: only root gives a link to somebody else");
            return fs::remove_dir_all(&folder).unwrap();
        }
        let fault = write_whole(&link, "the result", |out| out.write_all(b"new")).unwrap_err();
        assert!(fault.what.contains("a link that user 65534 has made"), "{fault}");
        assert!(begin(&link).is_err());
        assert!(check_writable(&link).is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"kept");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_device_stays_a_device_and_a_pipe_that_no_one_reads_is_refused() {
        let full = Path::new("/dev/full");
        let fault = write_whole(full, "the result", |out| out.write_all(b"x")).unwrap_err();
        assert!(fault.what.contains("No space left"), "{fault}");
        assert!(!fs::metadata(full).unwrap().is_file());
        let folder = folder("pipes");
        let pipe = folder.join("pipe");
        let name = std::ffi::CString::new(pipe.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: the name ends with a zero byte and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert!(check_writable(&pipe).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
