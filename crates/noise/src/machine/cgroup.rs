//! Memory that the own cgroup and those around it leave: a container may have less than its machine.
//!
//! Pages of files that have not been used lately count as free, as the kernel counts them in `MemAvailable`.
//! Sources: cgroup-v2.rst, "Memory"; cgroup-v1/memory.rst; `cgroup_namespaces(7)`.

use std::fs;
use std::path::{Component, Path};

/// Where a version of cgroups says what.
struct Version {
    /// Where its files are, below the root.
    mount: &'static str,
    max: &'static str,
    current: &'static str,
    /// The word in `memory.stat` for pages of files that are given up first.
    unused: &'static str,
}

const V1: Version = Version {
    mount: "sys/fs/cgroup/memory",
    max: "memory.limit_in_bytes",
    current: "memory.usage_in_bytes",
    unused: "total_inactive_file",
};
const V2: Version = Version {
    mount: "sys/fs/cgroup",
    max: "memory.max",
    current: "memory.current",
    unused: "inactive_file",
};

/// The least of it, bytes, as the files below `root` have it; `None`: nothing is limited.
pub(super) fn available_bytes(root: &Path) -> Option<u64> {
    let own = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    own.lines().filter_map(|line| of_line(root, line)).min()
}

/// The same of one line, `NUMBER:CONTROLLERS:PATH`; the one without controllers is of version 2.
fn of_line(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    if (number, controllers) == ("0", "") {
        return V2.available_bytes(root, path);
    }
    let is_memory = controllers.split(',').any(|name| name == "memory");
    if is_memory { V1.available_bytes(root, path) } else { None }
}

impl Version {
    /// Of the cgroup `path` and those around it. In a container the mount may be its own cgroup, and `path`
    /// be that on the machine, or lead out of what is seen: then what is mounted says it.
    fn available_bytes(&self, root: &Path, path: &str) -> Option<u64> {
        let (mount, path) = (root.join(self.mount), Path::new(path.trim_start_matches('/')));
        let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
        let path = if is_below { path } else { Path::new("") };
        path.ancestors().filter_map(|part| self.left(&mount.join(part))).min()
    }

    /// What one cgroup leaves; `None`: it has no limit, or is not to be seen.
    fn left(&self, folder: &Path) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (max, current) = (number(self.max)?, number(self.current)?);
        let stat = read("memory.stat").unwrap_or_default();
        let unused = |line: &str| line.strip_prefix(self.unused)?.trim().parse::<u64>().ok();
        let unused = stat.lines().find_map(unused).unwrap_or(0);
        Some(max.saturating_sub(current.saturating_sub(unused)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left where `own` is the process's cgroups, and these are the files of others.
    fn left(name: &str, own: &str, files: &[(&str, &str)]) -> Option<u64> {
        let folder = format!("noise-cgroup-{name}-{}", std::process::id());
        let root = std::env::temp_dir().join(folder);
        for (path, text) in [("proc/self/cgroup", own)].iter().chain(files) {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }
        let left = available_bytes(&root);
        fs::remove_dir_all(root).unwrap();
        left
    }

    #[test]
    fn a_container_has_what_its_own_cgroup_leaves() {
        let files = [
            ("sys/fs/cgroup/memory.max", "2000"),
            ("sys/fs/cgroup/memory.current", "1500"),
            ("sys/fs/cgroup/memory.stat", "anon 700\ninactive_file 300\nactive_file 500"),
        ];
        assert_eq!(left("own", "0::/", &files), Some(800));
        assert_eq!(left("out", "0::/../../a", &files), Some(800), "not above the mount");
        assert_eq!(left("host", "0::/docker/abc", &files), Some(800), "named as on the machine");
    }

    #[test]
    fn the_least_of_all_cgroups_around_it_counts() {
        let files = [
            ("sys/fs/cgroup/a/memory.max", "1000"),
            ("sys/fs/cgroup/a/memory.current", "400"),
            ("sys/fs/cgroup/a/b/memory.max", "5000"),
            ("sys/fs/cgroup/a/b/memory.current", "100"),
            ("sys/fs/cgroup/a/b/c/memory.max", "max"),
            ("sys/fs/cgroup/a/b/c/memory.current", "50"),
        ];
        assert_eq!(left("nested", "0::/a/b/c", &files), Some(600));
        assert_eq!(left("beside", "0::/x", &files), None, "that of others");
        let over = [("sys/fs/cgroup/memory.max", "5"), ("sys/fs/cgroup/memory.current", "7")];
        assert_eq!(left("over", "0::/", &over), Some(0));
    }

    #[test]
    fn the_first_version_has_a_folder_for_memory() {
        let own = "5:cpu,cpuacct:/x\n4:hugetlb,memory:/docker/abc\n0::/";
        let files = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "500"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "200"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50"),
        ];
        assert_eq!(left("first", own, &files), Some(350));
        assert_eq!(left("none", own, &[]), None);
        assert_eq!(available_bytes(Path::new("/nowhere")), None);
    }
}
