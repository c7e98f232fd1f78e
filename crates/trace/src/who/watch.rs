//! One look: load, attach, wait, read, detach.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libbpf_rs::{Link, MapCore as _, MapFlags, Object, ProgramInput, ProgramMut};
use sojourn_base::Fault;
use sojourn_base::clock::{Clock as _, Monotonic, unix_ns};
use sojourn_base::process;

use super::{LONG_NS, MAX_CPUS, Seen, WhoTask};
use crate::attach::kernel;
use crate::attach::kernel::refused;
use crate::attach::load;
use crate::attach::pidns;
use crate::attach::target;
use crate::reconstruct::bytes::{u32_at, u64_at};
use crate::reconstruct::layout::{who_cpu, who_task};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/who.bpf.o"));

/// Often enough to see who runs there all the time; of no weight beside it.
const SAMPLE_HZ: u64 = 97;
const PAUSE: Duration = Duration::from_millis(20);
/// The kernel's flag: run it on that CPU.
const BPF_F_TEST_RUN_ON_CPU: u32 = 1;
/// Longer than a hook runs: those that began before the end are over.
const SETTLE: Duration = Duration::from_millis(1);

/// Looks at `cpus` for `duration_ns`, leaving out the processes `left_out` and this one.
pub fn run(
    cpus: &[u32],
    left_out: &[u32],
    duration_ns: u64,
    stop: &AtomicBool,
    begun: &mut dyn FnMut(),
) -> Result<Seen, Fault> {
    let online = kernel::cpus();
    if let Some(cpu) = cpus.iter().find(|&&cpu| cpu as usize >= online) {
        return Err(Fault::usage(
            format!("this machine has no CPU {cpu}"),
            "--who",
            format!("its CPUs are 0 to {}", online - 1),
        ));
    }
    let object = object(OBJECT, cpus)?;
    for pid in left_out.iter().chain([&std::process::id()]) {
        let map = load::map(&object, "who_left_out")?;
        map.update(&pid.to_ne_bytes(), &1_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?;
    }
    let mut seen = Seen { cpus: cpus.to_vec(), ..Seen::default() };
    let attached = attach(&object, cpus, &mut seen)?;
    seen.started_unix_ns = unix_ns();
    let started_ns = Monotonic.now_ns();
    control(&object, started_ns, 0)?;
    look_at_each(&object, cpus)?;
    begun();
    let end_ns = started_ns + duration_ns;
    while Monotonic.now_ns() < end_ns && !stop.load(Ordering::Relaxed) {
        let left = Duration::from_nanos(end_ns.saturating_sub(Monotonic.now_ns()));
        std::thread::sleep(PAUSE.min(left));
    }
    look_at_each(&object, cpus)?;
    control(&object, started_ns, Monotonic.now_ns())?;
    let ended_ns = Monotonic.now_ns(); // later than any run that the hook still counted
    std::thread::sleep(SETTLE);
    seen.duration_ns = ended_ns - started_ns;
    read(&object, (started_ns, ended_ns), left_out, &mut seen)?;
    seen.tasks.iter_mut().for_each(show_numbers);
    drop(attached);
    Ok(seen)
}

/// Whoever is outside this PID namespace has no number here.
fn show_numbers(task: &mut WhoTask) {
    for number in [&mut task.tid, &mut task.pid] {
        *number = if pidns::is_outside(*number) { 0 } else { *number };
    }
}

/// Loads the object in `bytes`, ours or one that another compiler made, and nothing else.
pub fn check_loads(bytes: &[u8]) -> Result<(), Fault> {
    object(bytes, &[0]).map(drop)
}

fn object(bytes: &[u8], cpus: &[u32]) -> Result<Object, Fault> {
    kernel::listen_to_libbpf();
    let mut object = load::open(bytes).map_err(refused)?;
    let mut words = [0_u64; MAX_CPUS / 64 + 2];
    for &cpu in cpus {
        words[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    words[MAX_CPUS / 64] = LONG_NS;
    words[MAX_CPUS / 64 + 1] = u64::from(pidns::of(Path::new("/proc"))?);
    let settings: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    for mut map in object.maps_mut() {
        if map.name().to_str() == Some(".rodata.who") {
            map.set_initial_value(&settings).map_err(refused)?;
        }
    }
    object.load().map_err(|error| load::explain(&error, &kernel::libbpf_messages()))
}

/// Dropping it detaches everything.
struct Attached {
    _links: Vec<Link>,
    _clocks: Vec<OwnedFd>,
}

fn program<'a>(object: &'a Object, name: &str) -> Result<ProgramMut<'a>, Fault> {
    load::program(object, name).ok_or_else(|| {
        Fault::failed(format!("the object has no program {name}"), "who.bpf.c", "rebuild it")
    })
}

fn attach(object: &Object, cpus: &[u32], seen: &mut Seen) -> Result<Attached, Fault> {
    let mut links = vec![program(object, "who_switch")?.attach().map_err(refused)?];
    let clocks: Result<Vec<OwnedFd>, _> =
        cpus.iter().map(|&cpu| kernel::cpu_clock(cpu as usize, SAMPLE_HZ)).collect();
    let clocks = clocks.unwrap_or_default();
    let sampler = program(object, "who_sample")?;
    for clock in &clocks {
        links.extend(sampler.attach_perf_event(clock.as_raw_fd()));
    }
    if links.len() <= cpus.len() {
        let what = "no CPU samples: a task that never leaves its CPU is not recognised";
        seen.warnings.push(what.into());
    }
    Ok(Attached { _links: links, _clocks: clocks })
}

/// Sees who is on each CPU now. Kernels before 5.10 cannot, nor can a CPU that is off: the samples remain.
fn look_at_each(object: &Object, cpus: &[u32]) -> Result<(), Fault> {
    let edge = program(object, "who_edge")?;
    for &cpu in cpus {
        let there = ProgramInput { cpu, flags: BPF_F_TEST_RUN_ON_CPU, ..ProgramInput::default() };
        let _ = edge.test_run(there);
    }
    Ok(())
}

/// The kernel's `struct who_control`.
fn control(object: &Object, started_ns: u64, ended_ns: u64) -> Result<(), Fault> {
    let bytes: Vec<u8> = [started_ns, ended_ns].iter().flat_map(|w| w.to_ne_bytes()).collect();
    let map = load::map(object, ".data.who")?;
    map.update(&0_u32.to_ne_bytes(), &bytes, MapFlags::ANY).map_err(refused)
}

fn read(
    object: &Object,
    times: (u64, u64),
    left_out: &[u32],
    seen: &mut Seen,
) -> Result<(), Fault> {
    let map = load::map(object, "who_tasks")?;
    for key in map.keys() {
        let value = map.lookup(&key, MapFlags::ANY).map_err(refused)?.unwrap_or_default();
        if value.len() == who_task::SIZE {
            seen.tasks.push(task(u32_at(&key, 0), &value));
        }
    }
    let map = load::map(object, ".bss.who")?;
    let all = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(refused)?.unwrap_or_default();
    for cpu in seen.cpus.clone() {
        let Some(line) = all.get(cpu as usize * who_cpu::SIZE..(cpu as usize + 1) * who_cpu::SIZE)
        else {
            continue;
        };
        seen.add_cpu(line);
        if u32_at(line, who_cpu::IS_KNOWN) != 0 {
            close(u32_at(line, who_cpu::TID), u64_at(line, who_cpu::IN_NS), times, left_out, seen);
        }
    }
    Ok(())
}

/// The run that was still going on at the end, of `tid`, since `in_ns`.
fn close(tid: u32, in_ns: u64, (started_ns, ended_ns): (u64, u64), out: &[u32], seen: &mut Seen) {
    let run_ns = ended_ns.saturating_sub(in_ns.max(started_ns));
    let pid = process_of(tid);
    if tid == 0 {
        seen.idle_ns += run_ns;
    } else if pid.is_some_and(|pid| pid == std::process::id() || out.contains(&pid)) {
        seen.left_out_ns += run_ns;
    } else if let Some(task) = seen.tasks.iter_mut().find(|task| task.tid == tid) {
        add(task, run_ns);
    } else {
        let name = target::name(Path::new("/proc"), tid).unwrap_or_default();
        let has_program = |pid| process::folder(Path::new("/proc"), pid).join("exe").exists();
        let is_kernel = pid.is_some_and(|pid| !has_program(pid));
        let name = if pidns::is_outside(tid) { "(outside)" } else { &name };
        let mut task = WhoTask {
            name: name.to_owned(),
            tid,
            pid: pid.unwrap_or(tid),
            is_kernel,
            ..WhoTask::default()
        };
        add(&mut task, run_ns);
        seen.tasks.push(task);
    }
}

fn add(task: &mut WhoTask, run_ns: u64) {
    task.runs += 1;
    task.run_ns += run_ns;
    task.longest_ns = task.longest_ns.max(run_ns);
    if run_ns > LONG_NS {
        task.long_runs += 1;
        task.long_ns += run_ns;
    }
}

fn process_of(tid: u32) -> Option<u32> {
    let status = std::fs::read(format!("/proc/{tid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status); // it begins with the name, which may hold any bytes
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

fn task(tid: u32, value: &[u8]) -> WhoTask {
    let name = value[who_task::NAME..].split(|&byte| byte == 0).next().unwrap_or_default();
    WhoTask {
        name: String::from_utf8_lossy(name).into_owned(),
        tid,
        pid: u32_at(value, who_task::PID),
        is_kernel: u32_at(value, who_task::IS_KERNEL) != 0,
        runs: u64_at(value, who_task::RUNS),
        run_ns: u64_at(value, who_task::RUN_NS),
        long_runs: u64_at(value, who_task::LONG_RUNS),
        long_ns: u64_at(value, who_task::LONG_NS),
        longest_ns: u64_at(value, who_task::LONGEST_NS),
        ..WhoTask::default()
    }
}
