//! Where dumps go: whole files that only their owner reads, a bounded number of them.
//!
//! The folder is opened once for each dump and everything is done through that handle, so that no other user can put
//! another folder or a link in its place in between.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sojourn_base::Fault;

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
}

/// One file of a dump: what its name ends in, and what fills it.
pub type Part<'a> = (&'a str, &'a dyn Fn(&mut dyn Write) -> io::Result<()>);

impl Folder {
    /// Makes it where there is none, and looks at it.
    ///
    /// # Errors
    /// Others can write into it, or it cannot be made.
    pub fn new(path: &Path, count: usize, bytes: u64) -> Result<Self, Fault> {
        let folder = Self { path: path.to_owned(), count: count.max(1), bytes };
        if !path.exists() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|error| folder.fault(&format!("it cannot be made: {error}")))?;
        }
        folder.open().map(|_| folder)
    }

    /// Writes the files of one dump, then lets the oldest dumps go. The path of the first file.
    ///
    /// # Errors
    /// They cannot be written; none of them is there then.
    pub fn write(&self, name: &str, parts: &[Part<'_>]) -> Result<PathBuf, Fault> {
        let handle = self.open()?;
        let inside = inside(&handle);
        let stem = free_stem(&inside, name);
        // The first one last: who waits for it finds the others.
        let rising = parts.iter().rev();
        let written = rising.map(|(end, fill)| one(&inside, &format!("{stem}{end}"), fill));
        let written: io::Result<Vec<()>> = written.collect();
        let written = written.and_then(|_| handle.sync_all());
        if let Err(error) = written {
            for (end, _) in parts {
                let _ = fs::remove_file(inside.join(format!("{stem}{end}")));
            }
            return Err(Fault::usage(
                format!("a dump cannot be written: {error}"),
                self.path.display().to_string(),
                "make room there, lower --dumps-size, or name another folder with --dumps",
            ));
        }
        self.rotate(&inside, &stem);
        Ok(self.path.join(format!("{stem}{}", parts.first().map_or("", |(end, _)| end))))
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

    /// The oldest dumps go while there are too many or they are too large; the one of `newest` stays.
    fn rotate(&self, inside: &Path, newest: &str) {
        let mut dumps = BTreeMap::<String, (u64, Vec<PathBuf>)>::new();
        for entry in fs::read_dir(inside).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(about) = entry.path().symlink_metadata() else { continue };
            if name.starts_with(BEGIN) && about.is_file() {
                let stem = name.split('.').next().unwrap_or_default().to_owned();
                let dump = dumps.entry(stem).or_default();
                dump.0 += about.len();
                dump.1.push(entry.path());
            }
        }
        let mut bytes: u64 = dumps.values().map(|dump| dump.0).sum();
        let mut count = dumps.len();
        for (stem, (size, files)) in dumps {
            if count <= self.count && bytes <= self.bytes || stem == newest {
                break;
            }
            for file in &files {
                let _ = fs::remove_file(file);
            }
            (count, bytes) = (count - 1, bytes - size);
        }
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

/// Writes a new file that only its owner reads, and gives it its name.
fn one(
    inside: &Path,
    name: &str,
    fill: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let beside = inside.join(format!(".{:016x}.part", RandomState::new().hash_one(name)));
    let flags = libc::O_NOFOLLOW;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(&beside)?;
    let mut out = BufWriter::new(file);
    let filled = fill(&mut out)
        .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&beside, inside.join(name)));
    if filled.is_err() {
        let _ = fs::remove_file(&beside);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("sojourn-ring-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn write(folder: &Folder, name: &str, bytes: usize) -> Result<PathBuf, Fault> {
        let fill = |out: &mut dyn Write| out.write_all(&vec![b'x'; bytes]);
        folder.write(name, &[(".json", &fill), (".perfetto.json", &fill)])
    }

    #[test]
    fn a_dump_is_whole_and_its_owners_alone() {
        let path = place("whole");
        let folder = Folder::new(&path, 3, 1 << 20).unwrap();
        let first = write(&folder, "20261126T120000Z", 10).unwrap();
        assert_eq!(first.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        write(&folder, "20261126T120000Z", 10).unwrap();
        let wanted = ["001.json", "001.perfetto.json", "002.json", "002.perfetto.json"];
        let wanted = wanted.map(|end| format!("ring-20261126T120000Z-{end}"));
        assert_eq!(names(&path), wanted, "two in one second, and nothing else is left");
        let fails = |_: &mut dyn Write| Err(io::Error::other("full"));
        let fine = |out: &mut dyn Write| out.write_all(b"x");
        let fault = folder.write("x", &[(".json", &fine), (".perfetto.json", &fails)]).unwrap_err();
        assert!(fault.fix.contains("make room"), "{fault}");
        assert_eq!(names(&path), wanted, "nothing of half a dump");
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn the_oldest_go_by_number_and_by_size() {
        let path = place("rotated");
        let folder = Folder::new(&path, 3, 100).unwrap();
        fs::write(path.join("other.json"), vec![0; 1_000]).unwrap();
        for second in 0..6 {
            write(&folder, &format!("2026112{second}"), 5).unwrap();
        }
        let left = names(&path);
        assert_eq!(left.len(), 1 + 3 * 2, "{left:?}");
        assert!(left[0] == "other.json" && left[1].starts_with("ring-20261123"), "{left:?}");
        write(&folder, "20261129", 46).unwrap();
        assert_eq!(names(&path).len(), 1 + 2, "92 bytes leave no room for 10 more");
        write(&folder, "20261130", 500).unwrap();
        assert_eq!(names(&path).len(), 1 + 2, "the newest stays, however large");
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_planted_link_is_neither_followed_nor_removed_by_rotation() {
        let path = place("planted");
        let victim = place("victim");
        fs::write(&victim, "as it was").unwrap();
        let folder = Folder::new(&path, 1, 100).unwrap();
        for name in ["ring-a-001.json", "ring-a-001.perfetto.json", "ring-0-001.json"] {
            std::os::unix::fs::symlink(&victim, path.join(name)).unwrap();
        }
        let written = write(&folder, "a", 5).unwrap();
        assert!(
            written.ends_with("ring-a-002.json") && written.symlink_metadata().unwrap().is_file()
        );
        assert_eq!(fs::read(&victim).unwrap(), b"as it was");
        let linked = place("linked");
        std::os::unix::fs::symlink(&path, &linked).unwrap();
        assert!(Folder::new(&linked, 1, 1).unwrap_err().what.contains("a link"));
        fs::remove_file(&linked).unwrap();
        fs::remove_file(&victim).unwrap();
        fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_write_into_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let path = place("open");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let fault = Folder::new(&path, 1, 1).unwrap_err();
        assert!(fault.what.contains("other users"), "{fault}");
        fs::remove_dir_all(&path).unwrap();
        assert!(Folder::new(Path::new("/proc/none"), 1, 1).is_err());
    }
}
