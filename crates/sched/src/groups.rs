//! Control groups of version 2 by the number that the kernel side knows them by.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sojourn_base::Fault;

const MOUNT: &str = "/sys/fs/cgroup";
/// Of a folder that is a group of version 2.
const MARK: &str = "cgroup.controllers";

/// Numbers of the group at `told` and of all below it; of a folder without a slash before it, below
/// the usual mount.
pub fn numbers(reported: &str) -> Result<Vec<u64>, Fault> {
    let root = Path::new(MOUNT).join(reported);
    if !root.join(MARK).exists() {
        return Err(Fault::usage(
            format!("{} is not a control group of version 2", root.display()),
            "cgroups",
            "name a folder below the mount of cgroup2; tasks can be named by pids too",
        ));
    }
    let (mut result, mut left) = (Vec::new(), vec![root]);
    while let Some(folder) = left.pop() {
        // One that is removed meanwhile has no one in it.
        result.extend(std::fs::metadata(&folder).map(|facts| facts.ino()));
        left.extend(below(&folder));
    }
    Ok(result)
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_itself_and_all_below_it() {
        let root = std::env::temp_dir().join(format!("sojourn-groups-{}", std::process::id()));
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let reported = root.display().to_string();
        let fault = numbers(&reported).unwrap_err();
        assert!(fault.what.contains("is not a control group"), "{fault}");
        std::fs::write(root.join(MARK), "").unwrap();
        let mut result = numbers(&reported).unwrap();
        let mut expected: Vec<u64> =
            ["", "a", "a/b"].map(|name| std::fs::metadata(root.join(name)).unwrap().ino()).into();
        result.sort_unstable();
        expected.sort_unstable();
        assert_eq!(result, expected);
        std::fs::remove_dir_all(root).unwrap();
    }
}
