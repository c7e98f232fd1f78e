//! Control groups of tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A control group that goes with the test; none where the machine lets no one make one.
pub struct Group(PathBuf);

impl Group {
    /// With a process in it.
    pub fn new(pid: u32) -> Option<Self> {
        let name = format!("planted-{}", std::process::id());
        let trees = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
        let has = |tree: &&str| Path::new(tree).join("cgroup.procs").exists();
        let folder = Path::new(trees.into_iter().find(has)?).join(name);
        fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        group.add(pid).then_some(group)
    }

    /// Puts a process into it.
    pub fn add(&self, pid: u32) -> bool {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).is_ok()
    }

    pub fn name(&self) -> &str {
        self.0.file_name().unwrap().to_str().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}
