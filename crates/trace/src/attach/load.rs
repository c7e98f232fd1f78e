//! From the object file to programs in the kernel: rights, what this kernel has, settings.

use std::path::Path;

use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Map, MapCore, Object, ObjectBuilder, OpenObject, ProgramMut};
use sojourn_base::Fault;

use crate::attach::calls;
use crate::attach::compat;
use crate::attach::hooks::{CALLS, FEW, READY_FENTRY, TRACEPOINTS};
use crate::attach::how::{How, Options};
use crate::attach::kernel;
use crate::attach::kernel::refused;
use crate::attach::limits::MAX_CPUS;
use crate::attach::pidns;
use crate::attach::refusal;
use crate::attach::target::Target;
use crate::reconstruct::layout::settings;

pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/breakdown.bpf.o"));

/// Loads the object in `bytes` for `target`; and whether it does without hooks on system calls.
pub fn object(
    bytes: &[u8],
    target: &Target,
    options: Options,
    has_stamps: bool,
) -> Result<(Object, bool), Fault> {
    let mut object = open(bytes).map_err(refused)?;
    let is_few = choose_programs(&mut object, options)?;
    let pid_ns = pidns::of(Path::new("/proc"))?;
    for mut map in object.maps_mut() {
        match map.name().to_str() {
            Some("ring") => map.set_max_entries(options.ring_bytes).map_err(refused)?,
            Some("texts") if options.blame.is_none() => map.set_max_entries(1).map_err(refused)?,
            Some(name) if name.starts_with(".rodata.set") => {
                let bytes = settings_of(target, options, (has_stamps, is_few), pid_ns);
                map.set_initial_value(&bytes).map_err(refused)?;
            }
            _ => {}
        }
    }
    let object = object.load().map_err(|error| explain(&error, &kernel::libbpf_messages()))?;
    Ok((object, is_few))
}

/// Where an object file is opened into.
pub(crate) fn open(bytes: &[u8]) -> Result<OpenObject, libbpf_rs::Error> {
    ObjectBuilder::default().name("sojourn_trace")?.open_memory(bytes)
}

/// The processes in the map `tgids`.
pub fn pids(tgids: &impl MapCore) -> Vec<u32> {
    tgids.keys().filter_map(|key| Some(u32::from_ne_bytes(key.try_into().ok()?))).collect()
}

/// The object's map of that name; a fault if it has none.
pub fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, Fault> {
    // The kernel's own names are cut at 15 letters; libbpf keeps data sections' names whole.
    object.maps().find(|map| map.name().to_str().is_some_and(|n| n == name)).ok_or_else(|| {
        Fault::failed(format!("the BPF object has no map {name}"), "sojourn-trace", "rebuild it")
    })
}

/// A program by name, if it was loaded.
pub fn program<'a>(object: &'a Object, name: &str) -> Option<ProgramMut<'a>> {
    use std::os::fd::{AsFd as _, AsRawFd as _};
    object.progs_mut().find(|p| p.name() == name && p.as_fd().as_raw_fd() > 0)
}

/// Refuses what can be refused before anything is loaded: rights, size of the machine, BTF.
pub fn check_host() -> Result<(), Fault> {
    let missing = kernel::missing_rights();
    if !missing.is_empty() {
        return Err(Fault::usage(
            format!("no right to load BPF programs: {} missing", missing.join(", ")),
            "capabilities of this process",
            "run as root, or setcap cap_bpf,cap_perfmon,cap_net_admin,cap_sys_ptrace=ep on the program; nothing \
             of the breakdown works without them",
        ));
    }
    if kernel::cpus() > MAX_CPUS {
        return Err(Fault::usage(
            format!("this machine has {} CPUs, the tool is built for {MAX_CPUS}", kernel::cpus()),
            "MAX_CPUS in src/bpf and src/attach/limits.rs",
            "raise it there, a power of two, and rebuild",
        ));
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Fault::usage(
            "this kernel does not describe its types (no BTF)",
            "/sys/kernel/btf/vmlinux",
            "boot a kernel with CONFIG_DEBUG_INFO_BTF=y; distributions' kernels have it since 2021",
        ));
    }
    Ok(())
}

/// Leaves out programs whose tracepoint this kernel lacks, and those that are not wanted: a sample of flows does
/// without hooks on system calls if it may and the kernel has what replaces them. Answers whether.
fn choose_programs(object: &mut OpenObject, options: Options) -> Result<bool, Fault> {
    let btf = libbpf_rs::btf::Btf::from_vmlinux().map_err(refused)?;
    let has =
        |point: &str| btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{point}")).is_some();
    let needs_fentry = !has("sk_data_ready");
    let is_replaced = TRACEPOINTS.iter().filter(|hook| FEW.contains(&hook.program));
    let is_few = matches!(options.how, How::Sample { .. })
        && !options.all_stages
        && is_replaced.clone().all(|hook| has(hook.point));
    let left_out = if is_few { CALLS } else { FEW };
    for mut program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        if name == READY_FENTRY.program {
            program.set_autoload(needs_fentry);
            continue;
        }
        let Some(hook) = TRACEPOINTS.iter().find(|hook| hook.program == name) else { continue };
        if left_out.contains(&hook.program) {
            program.set_autoload(false);
            continue;
        }
        if has(hook.point) {
            continue;
        }
        if hook.lost.is_empty() && name != "on_ready" {
            return Err(Fault::usage(
                format!("this kernel has no tracepoint {}", hook.point),
                kernel::release(),
                "a kernel of 5.15 or later has it",
            ));
        }
        program.set_autoload(false);
    }
    Ok(is_few)
}

/// The kernel's `struct settings`.
fn settings_of(
    target: &Target,
    options: Options,
    (has_stamps, is_few): (bool, bool),
    pid_ns: u32,
) -> Vec<u8> {
    let mut bytes = vec![0; settings::SIZE];
    for port in &target.ports {
        let at = settings::PORTS + 8 * usize::from(port >> 6);
        let word = u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        bytes[at..at + 8].copy_from_slice(&(word | 1 << (port & 63)).to_ne_bytes());
    }
    bytes[settings::SYSCALL_CLASS..][..calls::MAX].copy_from_slice(&calls::classes());
    let native: Vec<u8> = compat::native().iter().flat_map(|n| n.to_ne_bytes()).collect();
    bytes[settings::NATIVE..][..native.len()].copy_from_slice(&native);
    bytes[settings::PID_NS..][..4].copy_from_slice(&pid_ns.to_ne_bytes());
    bytes[settings::FULL_RECORDS] = u8::from(options.is_full);
    bytes[settings::HAS_RX_STAMPS] = u8::from(has_stamps);
    bytes[settings::IS_FEW] = u8::from(is_few);
    let sample_below = match options.how {
        How::Sample { one_in, .. } => u32::MAX / one_in,
        How::Windows { .. } | How::All => 0,
    };
    bytes[settings::SAMPLE_BELOW..][..4].copy_from_slice(&sample_below.to_ne_bytes());
    bytes
}

/// Why a load failed, by what libbpf logged meanwhile.
pub fn explain(error: &libbpf_rs::Error, log: &str) -> Fault {
    let is_permission = error.kind() == libbpf_rs::ErrorKind::PermissionDenied;
    refusal::fault(&format!("{error:#}"), log, is_permission, &kernel::release())
}
