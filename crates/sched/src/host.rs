//! What this machine must have, asked before anything is loaded.

use std::fs;
use std::path::Path;

use sojourn_base::Fault;

use crate::terms::Plan;

/// As the kernel names it while it is in force; `bpf/bvt.bpf.c` has the same.
pub const NAME: &str = "sojourn_bvt";
const FOLDER: &str = "sys/kernel/sched_ext";

/// What `sched_ext` says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// "enabled", "disabled" or on the way.
    pub state: String,
    /// The scheduler that is in force; "": none.
    pub scheduler: String,
}

/// What is in force; none where the kernel has no `sched_ext`. `root`: of the machine.
pub fn state(root: &Path) -> Option<State> {
    let text = |name| fs::read_to_string(root.join(FOLDER).join(name));
    let state = text("state").ok()?.trim().to_owned();
    Some(State { state, scheduler: text("root/ops").unwrap_or_default().trim().to_owned() })
}

/// Refuses a kernel without `sched_ext`, and one where another scheduler is in force.
pub fn check(root: &Path) -> Result<(), Fault> {
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    let Some(now) = state(root) else {
        return Err(Fault::usage(
            "this kernel has no sched_ext",
            format!("/{FOLDER}, Linux {}", release.trim()),
            "boot one with CONFIG_SCHED_CLASS_EXT=y and its types (BTF), 6.13 or later, such as \
             Debian's cloud kernel from 6.18 on; other settings of the scheduler need none: \
             `sojourn kinds knobs` has policy",
        ));
    };
    if now.state != "disabled" {
        let who = if now.scheduler.is_empty() { "a scheduler" } else { now.scheduler.as_str() };
        return Err(Fault::usage(
            format!("{who} is in force already, and there can be one"),
            format!("/{FOLDER}/state: {}", now.state),
            "end the program that loaded it, or give it both jobs",
        ));
    }
    Ok(())
}

/// Refuses threads and processes that are not there. `root`: of the machine.
pub fn check_members(plan: &Plan, root: &Path) -> Result<(), Fault> {
    for class in &plan.classes {
        if let Some(pid) = class.pids.iter().find(|pid| has_ended(**pid, root)) {
            let what = format!("there is no process or thread {pid}");
            return Err(Fault::usage(what, format!("class {}", class.name), "has it ended?"));
        }
    }
    Ok(())
}

/// Threads and processes of `plan` that have ended: their numbers may be given to others. `root`: of the machine.
pub fn ended(plan: &Plan, root: &Path) -> Vec<u32> {
    let all = plan.classes.iter().flat_map(|class| class.pids.iter().copied());
    all.filter(|pid| has_ended(*pid, root)).collect()
}

/// A thread that is not its process's first is found but not listed.
fn has_ended(pid: u32, root: &Path) -> bool {
    !root.join(format!("proc/{pid}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Class, Job};

    fn put(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn a_kernel_without_it_one_with_another_and_one_that_is_free_are_distinguished() {
        let root = std::env::temp_dir().join(format!("sojourn-host-{}", std::process::id()));
        put(&root, "proc/sys/kernel/osrelease", "6.1.0-9\n");
        let fault = check(&root).unwrap_err();
        assert!(fault.exit == 2 && fault.at.contains("6.1.0-9"), "{fault}");
        assert!(fault.fix.contains("CONFIG_SCHED_CLASS_EXT"), "{fault}");
        put(&root, "sys/kernel/sched_ext/state", "enabled\n");
        put(&root, "sys/kernel/sched_ext/root/ops", "scx_other\n");
        let fault = check(&root).unwrap_err();
        assert!(fault.what.contains("scx_other is in force"), "{fault}");
        put(&root, "sys/kernel/sched_ext/state", "disabled\n");
        assert_eq!(check(&root), Ok(()));
        let class = Class { name: "web".into(), pids: vec![1, 99], ..Class::default() };
        let plan = crate::terms::plan(&Job { classes: vec![class], ..Job::default() }).unwrap();
        put(&root, "proc/1/comm", "init\n");
        let fault = check_members(&plan, &root).unwrap_err();
        assert!(fault.what.contains("99") && fault.at.contains("web"), "{fault}");
        assert_eq!(ended(&plan, &root), [99]);
        fs::remove_dir_all(root).unwrap();
    }
}
