//! The network namespaces of a service's processes: the kernel lists the TCP sockets of one of them at
//! a time, of that in which who asks is.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use sojourn_base::Fault;
use sojourn_base::process;

/// A network namespace that processes of the service are in.
pub struct NetworkNamespace {
    path: PathBuf,
    /// `None` for that which this process is in.
    file: Option<File>,
}

/// Those of `pids`, each once. A process that has gone is left out; of none, this process's own.
pub fn of(proc_root: &Path, pids: &[u32]) -> Vec<NetworkNamespace> {
    let number = |file: &File| file.metadata().map_or(0, |about| about.ino());
    let own_path = proc_root.join("self/ns/net");
    let own = File::open(&own_path).map_or(0, |file| number(&file));
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for pid in pids {
        let path = process::folder(proc_root, *pid).join("ns/net");
        let Ok(file) = File::open(&path) else { continue };
        let its = number(&file);
        if !seen.contains(&its) {
            seen.push(its);
            found.push(NetworkNamespace { path, file: (its != own).then_some(file) });
        }
    }
    if found.is_empty() {
        found.push(NetworkNamespace { path: own_path, file: None });
    }
    found
}

impl NetworkNamespace {
    /// Does `what` as one of this namespace. Only this thread goes there, and it comes back.
    ///
    /// # Errors
    /// There is no right to go there (`CAP_SYS_ADMIN`), or what `what` says.
    pub fn inside<T>(&self, what: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        let Some(there) = &self.file else { return what() };
        let home = File::open("/proc/thread-self/ns/net").map_err(|error| self.refused(&error))?;
        let go = |to: &File| {
            move_into_link_name_space(to.as_fd(), Some(LinkNameSpaceType::Network))
                .map_err(|error| self.refused(&error.into()))
        };
        go(there)?;
        let done = what();
        go(&home)?;
        done
    }

    fn refused(&self, error: &std::io::Error) -> Fault {
        Fault::failed(
            format!("cannot list the connections of another network namespace: {error}"),
            self.path.display().to_string(),
            "run as root, or with CAP_SYS_ADMIN beside the others",
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree like /proc: who is in which namespace, a file for each.
    fn proc_tree(name: &str, of_each: &[(&str, &str)]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("sojourn-netns-{}-{name}", std::process::id()));
        for (who, namespace) in of_each {
            std::fs::create_dir_all(root.join(who).join("ns")).unwrap();
            std::fs::write(root.join(namespace), "").unwrap();
            symlink(root.join(namespace), root.join(who).join("ns/net")).unwrap();
        }
        root
    }

    #[test]
    fn each_is_gone_over_once_and_one_s_own_is_not_moved_to() {
        let root = proc_tree("many", &[("self", "a"), ("10", "a"), ("11", "b"), ("12", "b")]);
        let result = of(&root, &[10, 11, 12, 99]);
        let moves: Vec<bool> = result.iter().map(|one| one.file.is_some()).collect();
        assert_eq!(moves, [false, true]);
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_process_without_its_first_thread_is_where_its_others_are() {
        let root = proc_tree("threads", &[("self", "a"), ("10/task/11", "b")]);
        std::fs::write(root.join("10/stat"), "10 (x) Z 1").unwrap();
        std::fs::write(root.join("10/task/11/stat"), "11 (x) S 1").unwrap();
        let paths: Vec<PathBuf> = of(&root, &[10]).into_iter().map(|one| one.path).collect();
        assert_eq!(paths, [root.join("10/task/11/ns/net")]);
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn without_processes_it_is_one_s_own() {
        let result = of(Path::new("/proc"), &[]);
        assert_eq!(result.len(), 1);
        assert_eq!(result[0].inside(|| Ok(7)).unwrap(), 7);
    }
}
