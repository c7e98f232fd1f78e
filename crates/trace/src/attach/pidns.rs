//! Whose numbers of processes are meant: those that `/proc` shows, which in a container are not the
//! kernel's own.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use sojourn_base::Fault;

/// The machine's own PID namespace: `PROC_PID_INIT_INO` of the kernel.
const MACHINES: u64 = 0xEFFF_FFFC;
/// With the kernel's own number below it: a task that the namespace does not hold (`bpf/pids.h`).
const OUTSIDE: u32 = 1 << 31;

/// The PID namespace that `/proc` is of, by its inode number; 0: the machine's own.
///
/// # Errors
/// It is not known.
pub fn of(proc_root: &Path) -> Result<u32, Fault> {
    let number = |who: &str| {
        let about = fs::metadata(proc_root.join(who).join("ns/pid"));
        about.map(|about| about.ino())
    };
    // Process 1 is in the namespace whose numbers /proc shows, wherever this one is.
    let result = number("1").or_else(|error| {
        let is_own = fs::read_link(proc_root.join("self"))
            .is_ok_and(|link| link.to_str() == Some(&std::process::id().to_string()));
        if is_own { number("self") } else { Err(error) }
    });
    match result {
        Ok(MACHINES) => Ok(0),
        Ok(inode) => Ok(inode as u32),
        Err(error) => Err(Fault::usage(
            format!("the owner of the process numbers in /proc is not known: {error}"),
            proc_root.join("1/ns/pid").display().to_string(),
            "run as root; in a container, with --pid=host",
        )),
    }
}

/// Is it the number of a task that the namespace does not hold? It has none there.
pub fn is_outside(number: u32) -> bool {
    number & OUTSIDE != 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_namespace_is_told_by_its_first_process() {
        let result = of(Path::new("/proc")).unwrap();
        let own = fs::metadata("/proc/self/ns/pid").unwrap().ino();
        assert_eq!(result == 0, own == MACHINES);
    }

    #[test]
    fn where_nothing_can_be_told_it_is_refused() {
        let fault = of(Path::new("/nowhere")).unwrap_err();
        assert!(fault.to_string().contains("--pid=host"), "{fault}");
    }

    #[test]
    fn a_number_of_a_task_outside_is_marked() {
        assert!(!is_outside(77) && is_outside(OUTSIDE + 77));
        assert!(include_str!("../bpf/pids.h").contains("#define OUTSIDE 0x80000000"));
    }
}
