//! From the object file to programs in the kernel.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;

use libbpf_rs::{Map, MapCore as _, MapFlags, MapMut, Object, ObjectBuilder};
use sojourn_base::Fault;
use sojourn_trace::attach::kernel;
use sojourn_trace::attach::pidns;
use sojourn_trace::attach::refusal::{self, Refusal};

use crate::groups;
use crate::host;
use crate::shapes::{self, CPUS_MAX};
use crate::terms::Plan;

/// The object that was built with this program.
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bvt.bpf.o"));

/// Refuses what can be refused before anything is loaded: rights, size of the machine, types.
pub fn check() -> Result<(), Fault> {
    let missing = kernel::missing_rights();
    if !missing.is_empty() {
        let what = format!("no right to load a scheduler: {} missing", missing.join(", "));
        return Err(Fault::usage(what, "capabilities of this process", "run as root"));
    }
    let cpus = kernel::cpus();
    if cpus > CPUS_MAX {
        let what = format!("this machine has {cpus} CPUs, the scheduler is built for {CPUS_MAX}");
        return Err(Fault::usage(what, "src/bpf/shapes.h", "raise MAX_CPUS and rebuild"));
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Fault::usage(
            "this kernel does not describe its types (no BTF)",
            "/sys/kernel/btf/vmlinux",
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y",
        ));
    }
    Ok(())
}

/// Refuses numbers of a container's own processes, because the kernel side knows tasks by the machine's.
pub fn check_numbers(plan: &Plan, proc_root: &Path) -> Result<(), Fault> {
    let Some(class) = plan.classes.iter().find(|class| !class.pids.is_empty()) else {
        return Ok(());
    };
    if pidns::of(proc_root)? == 0 {
        return Ok(());
    }
    let what = "the numbers of processes here are those of a container, and the scheduler is the machine's";
    let fix =
        "run it outside the container, or in one that sees the machine's processes (--pid=host)";
    Err(Fault::usage(what, format!("class {}", class.name), fix))
}

/// Loads the object in `bytes` for `plan`; nothing is in force yet.
pub fn object(bytes: &[u8], plan: &Plan) -> Result<Object, Fault> {
    kernel::listen_to_libbpf();
    let builder =
        ObjectBuilder::default().name("sojourn_sched").map_err(refused)?.open_memory(bytes);
    let mut open = builder.map_err(refused)?;
    for mut map in open.maps_mut() {
        if map.name().to_str() == Some(".rodata.bvt") {
            map.set_initial_value(&shapes::settings(plan, kernel::cpus())).map_err(refused)?;
        }
    }
    let object = open.load().map_err(|error| explain(&error, &kernel::libbpf_messages()))?;
    for (number, class) in plan.classes.iter().enumerate() {
        let class_bytes = (number as u32).to_ne_bytes();
        for pid in &class.pids {
            let map = map(&object, "bvt_by_pid")?;
            map.update(&pid.to_ne_bytes(), &class_bytes, MapFlags::ANY).map_err(refused)?;
        }
    }
    put_groups(&object, plan, true)?;
    Ok(object)
}

/// Tells the kernel side the groups of each class; again now and then, as groups come below them.
///
/// `is_first`: a group that is not there is a fault; one that has gone since has no one in it.
pub fn put_groups(object: &Object, plan: &Plan, is_first: bool) -> Result<(), Fault> {
    for (number, class) in plan.classes.iter().enumerate() {
        for folder in &class.groups {
            let result = groups::numbers(folder).map_err(|fault| fault.within(&class.name));
            let ids = if is_first { result? } else { result.unwrap_or_default() };
            for id in ids {
                let map = map(object, "bvt_by_group")?;
                let class_bytes = (number as u32).to_ne_bytes();
                map.update(&id.to_ne_bytes(), &class_bytes, MapFlags::ANY).map_err(refused)?;
            }
        }
    }
    Ok(())
}

/// Numbers of tasks that have ended are of no class any more.
pub fn drop_ended(object: &Object, plan: &Plan) -> Result<(), Fault> {
    let by_pid = map(object, "bvt_by_pid")?;
    for pid in host::ended(plan, Path::new("/")) {
        let _ = by_pid.delete(&pid.to_ne_bytes()); // it may be gone
    }
    Ok(())
}

/// The object's map of that name; a fault if it has none.
pub fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, Fault> {
    object.maps().find(|map| map.name().to_str() == Some(name)).ok_or_else(|| lacking(name))
}

/// The same, to be changed.
pub fn map_mut<'a>(object: &'a mut Object, name: &str) -> Result<MapMut<'a>, Fault> {
    object.maps_mut().find(|map| map.name().to_str() == Some(name)).ok_or_else(|| lacking(name))
}

fn lacking(name: &str) -> Fault {
    Fault::failed(format!("the BPF object has no map {name}"), "sojourn-sched", "rebuild it")
}

/// Programs of an object by name, with the instructions that the verifier went through.
pub fn verifier_costs(object: &Object) -> Vec<(String, u32)> {
    let loaded = object.progs().filter(|program| program.as_fd().as_raw_fd() > 0);
    let cost = |program: &libbpf_rs::Program<'_>| {
        kernel::program_cost(program).map_or(0, |cost| cost.verified)
    };
    loaded.map(|it| (it.name().to_string_lossy().into_owned(), cost(&it))).collect()
}

/// A refusal by the kernel in the middle of things.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub fn refused(error: libbpf_rs::Error) -> Fault {
    let what = format!("the kernel refused: {error:#}\n{}", kernel::libbpf_messages());
    Fault::failed(what.trim_end(), "bpf()", "see dmesg; report it with the kernel's version")
}

fn explain(error: &libbpf_rs::Error, text: &str) -> Fault {
    let is_permission = error.kind() == libbpf_rs::ErrorKind::PermissionDenied;
    let at = format!("Linux {}", kernel::release());
    match refusal::of(text, is_permission) {
        Refusal::Verifier { program, log } => Fault::failed(
            format!("the kernel's verifier refuses the program {program}: {error:#}\n{log}"),
            at,
            "report it with the kernel's version and these lines",
        ),
        Refusal::Rights | Refusal::Lockdown => Fault::usage(
            format!("the kernel does not take the scheduler: {error:#}\n{}", text.trim_end()),
            at,
            "the capabilities are held and yet refused: a container, a seccomp filter, or kernel lockdown",
        ),
        Refusal::Other => Fault::failed(
            format!("the kernel does not take the scheduler: {error:#}\n{}", text.trim_end()),
            at,
            "needs sched_ext as of Linux 6.13 or later",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Class, Job};

    /// In a container, number 7 is another process than the kernel's.
    #[test]
    fn numbers_of_a_container_are_refused() {
        let root = std::env::temp_dir().join(format!("sojourn-inside-{}", std::process::id()));
        std::fs::create_dir_all(root.join("1/ns")).unwrap();
        std::fs::write(root.join("1/ns/pid"), "").unwrap(); // another file than the machine's namespace
        let class = Class { name: "web".into(), cgroups: vec!["web".into()], ..Class::default() };
        let plan = |pids: &[u32]| {
            let class = Class { pids: pids.to_vec(), ..class.clone() };
            crate::terms::plan(&Job { classes: vec![class], ..Job::default() }).unwrap()
        };
        let (numbers, groups) =
            [&[7][..], &[]].map(|pids| check_numbers(&plan(pids), &root)).into();
        std::fs::remove_dir_all(root).unwrap();
        let fault = numbers.unwrap_err();
        assert!(fault.exit == 2 && fault.what.contains("of a container"), "{fault}");
        assert_eq!(groups, Ok(()), "groups have the same numbers there");
    }
}
