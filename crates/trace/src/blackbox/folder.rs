//! Where dumps go: whole files that only their owner reads, a bounded number of them.
//!
//! The folder is opened once for each dump and everything is done through that handle, so that no other user can put
//! another folder or a link in its place in between.
//!
//! Where the disk is full, the oldest dumps are removed and the new one is written again, because the newest one
//! is the one that somebody waits for.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sojourn_base::Fault;

mod old;
mod part;

/// How the names of all files begin; others in the folder are left alone.
const BEGIN: &str = "ring-";

/// A folder for dumps, of which the oldest are removed beyond a count and a size.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Dumps at most.
    count: usize,
    /// All of them together at most, bytes.
    bytes: u64,
    /// Dumps that were removed because the disk was full.
    removed_for_room: u64,
}

/// One file of a dump: what its name ends in, and what fills it.
pub type Part<'a> = (&'a str, &'a dyn Fn(&mut dyn Write) -> io::Result<()>);

impl Folder {
    /// Makes it where there is none, and looks at it.
    ///
    /// # Errors
    /// Others can write into it, or it cannot be made.
    pub fn new(path: &Path, count: usize, bytes: u64) -> Result<Self, Fault> {
        let folder =
            Self { path: path.to_owned(), count: count.max(1), bytes, removed_for_room: 0 };
        if !path.exists() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|error| folder.fault(&format!("it cannot be made: {error}")))?;
        }
        folder.open().map(|_| folder)
    }

    /// Removes the files of dumps that another start had begun and not finished. How many.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn sweep(&self) -> Result<usize, Fault> {
        self.open().map(|handle| part::sweep(&inside(&handle)))
    }

    /// Dumps that were removed since the start because the disk was full.
    pub fn removed_for_room(&self) -> u64 {
        self.removed_for_room
    }

    /// Writes the files of one dump, then lets the oldest dumps go. The path of the first file.
    /// On a full disk the oldest dumps go first, as many as it takes.
    ///
    /// # Errors
    /// They cannot be written; none of them is there then.
    pub fn write(&mut self, name: &str, parts: &[Part<'_>]) -> Result<PathBuf, Fault> {
        let handle = self.open()?;
        let inside = inside(&handle);
        let stem = free_stem(&inside, name);
        let written = loop {
            match all(&handle, &inside, &stem, parts) {
                Err(error) if old::is_full(&error) && self.make_room(&handle, parts, &error) => {}
                written => break written,
            }
        };
        if let Err(error) = written {
            return Err(Fault::usage(
                format!("a dump cannot be written: {error}"),
                self.path.display().to_string(),
                "make room there, lower --dumps-size, or name another folder with --dumps",
            ));
        }
        old::rotate(&inside, &stem, (self.count, self.bytes));
        Ok(self.path.join(format!("{stem}{}", parts.first().map_or("", |(end, _)| end))))
    }

    /// Removes the oldest dumps for a dump of `parts`; whether one was removed.
    fn make_room(&mut self, handle: &File, parts: &[Part<'_>], error: &io::Error) -> bool {
        let available = old::available(handle, error);
        let removed = old::make_room(&inside(handle), part::size(parts), available);
        self.removed_for_room += removed;
        removed > 0
    }

    fn open(&self) -> Result<File, Fault> {
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let handle = OpenOptions::new().read(true).custom_flags(flags).open(&self.path);
        let handle = handle.map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP | libc::ENOTDIR) => self.fault("it is a link or no folder"),
            _ => self.fault(&format!("it cannot be opened: {error}")),
        })?;
        let about = handle.metadata().map_err(|error| self.fault(&error.to_string()))?;
        // SAFETY: it takes nothing and cannot fail.
        let own = unsafe { libc::geteuid() };
        if about.uid() != own || about.mode() & 0o022 != 0 {
            return Err(self.fault("other users can write into it or own it"));
        }
        Ok(handle)
    }

    fn fault(&self, what: &str) -> Fault {
        Fault::usage(
            format!("the folder for dumps cannot be used: {what}"),
            self.path.display().to_string(),
            "name a folder with --dumps that belongs to you and that no other user can write into (mode 0700)",
        )
    }
}

/// Paths through the handle, whatever the folder is called meanwhile.
fn inside(handle: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

/// `ring-NAME`, with a number behind where it is taken; names sort by time.
fn free_stem(inside: &Path, name: &str) -> String {
    let is_free = |stem: &String| inside.join(format!("{stem}.json")).symlink_metadata().is_err();
    let numbered = (1..1_000).map(|n| format!("{BEGIN}{name}-{n:03}"));
    numbered.into_iter().find(is_free).unwrap_or_else(|| format!("{BEGIN}{name}"))
}

/// Writes the files of a dump, all or none.
fn all(handle: &File, inside: &Path, stem: &str, parts: &[Part<'_>]) -> io::Result<()> {
    // The first one last: who waits for it finds the others.
    let mut rising = parts.iter().rev();
    let written =
        rising.try_for_each(|(end, fill)| part::one(inside, &format!("{stem}{end}"), fill));
    let written = written.and_then(|()| handle.sync_all());
    if written.is_err() {
        for (end, _) in parts {
            let _ = fs::remove_file(inside.join(format!("{stem}{end}")));
        }
    }
    written
}

#[cfg(test)]
mod tests;
