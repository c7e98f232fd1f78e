//! Which process still runs, by proc(5).
//!
//! The first thread of a process may end before the others. Then its own entries, such as files and namespaces, are
//! empty, and those of the others are not. Takes the root of /proc as an argument, so that tests can fake it.

use std::fs;
use std::path::{Path, PathBuf};

/// Whether any thread of the process `pid` runs. One that waits to be collected has none.
pub fn lives(proc_root: &Path, pid: u32) -> bool {
    runs(&folder(proc_root, pid))
}

/// Where a thread of the process `pid` that runs has its entries: the first one if it does. Where none does, the
/// process's own folder, if there is one.
pub fn folder(proc_root: &Path, pid: u32) -> PathBuf {
    let own = proc_root.join(pid.to_string());
    if runs(&own) {
        return own;
    }
    let threads = fs::read_dir(own.join("task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path()).find(|thread| runs(thread)).unwrap_or(own)
}

/// Whether the thread of this folder has not ended. Its name, in brackets, may hold any bytes.
fn runs(folder: &Path) -> bool {
    let stat = fs::read(folder.join("stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !matches!(rest.trim_start().chars().next(), Some('Z' | 'X')))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_process_lives_as_long_as_any_of_its_threads_runs() {
        let root = std::env::temp_dir().join(format!("sojourn-process-{}", std::process::id()));
        for (of, state) in [
            ("10", b'S'),
            ("10/task/10", b'S'),
            ("20", b'Z'), // its first thread has ended
            ("20/task/20", b'Z'),
            ("20/task/21", b'R'),
            ("30", b'Z'), // all have
            ("30/task/30", b'Z'),
            ("40", b'X'),
        ] {
            fs::create_dir_all(root.join(of)).unwrap();
            fs::write(
                root.join(of).join("stat"),
                [b"7 (a Z) \xff b) ".as_slice(), &[state], b" 1 7 7"].concat(),
            )
            .unwrap();
        }
        let living = [10, 20, 30, 40, 50].map(|pid| lives(&root, pid));
        assert_eq!(living, [true, true, false, false, false]);
        let folders = [10, 20, 30, 50].map(|pid| folder(&root, pid));
        assert_eq!(folders, ["10", "20/task/21", "30", "50"].map(|name| root.join(name)));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_process_that_waits_to_be_collected_does_not_live() {
        let proc_root = Path::new("/proc");
        assert!(lives(proc_root, std::process::id()));
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(lives(proc_root, child.id()));
        drop(child.stdin.take()); // it ends, and is there until it is waited for
        let deadline = Instant::now() + Duration::from_secs(60);
        while lives(proc_root, child.id()) && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(folder(proc_root, child.id()).exists() && !lives(proc_root, child.id()));
        child.wait().unwrap();
        assert!(!lives(proc_root, child.id()));
    }
}
