//! The few things asked of the kernel that neither std nor libbpf wraps.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use libbpf_rs::libbpf_sys;
use sojourn_base::Fault;

/// `CLOCK_REALTIME` − `CLOCK_MONOTONIC`, ns, from the closest of a few paired readings.
pub fn real_minus_mono_ns() -> i64 {
    let read = |clock| {
        let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `ts` is a valid place for one timespec; both clocks exist on every Linux.
        unsafe { libc::clock_gettime(clock, &raw mut ts) };
        ts.tv_sec * 1_000_000_000 + ts.tv_nsec
    };
    let pair = || {
        let before = read(libc::CLOCK_MONOTONIC);
        let real = read(libc::CLOCK_REALTIME);
        let after = read(libc::CLOCK_MONOTONIC);
        (after - before, real - i64::midpoint(before, after))
    };
    (0..16).map(|_| pair()).min().map_or(0, |(_, offset)| offset)
}

/// A socket that makes the kernel stamp every received packet as long as it is open.
///
/// The stamp is one clock reading per packet, taken where the driver or the backlog hands the
/// packet over: cheaper than a hook there, and nothing to look up later.
pub fn receive_stamps() -> io::Result<OwnedFd> {
    // SAFETY: plain system call with constant arguments; the result is checked.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let on: libc::c_int = 1;
    // SAFETY: the option takes one int, and `on` is one.
    let answer = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if answer == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// One sampling clock per CPU, at `hz`.
pub fn cpu_clocks(cpus: usize, hz: u64) -> io::Result<Vec<OwnedFd>> {
    (0..cpus).map(|cpu| cpu_clock(cpu, hz)).collect()
}

/// A sampling clock on one CPU, at `hz`.
pub fn cpu_clock(cpu: usize, hz: u64) -> io::Result<OwnedFd> {
    const FD_CLOEXEC: libc::c_ulong = 8; // PERF_FLAG_FD_CLOEXEC
    // SAFETY: the structure is plain data for which all zeros is valid.
    let mut attr: libbpf_sys::perf_event_attr = unsafe { std::mem::zeroed() };
    attr.size = size_of::<libbpf_sys::perf_event_attr>() as u32;
    attr.type_ = libbpf_sys::PERF_TYPE_SOFTWARE;
    attr.config = u64::from(libbpf_sys::PERF_COUNT_SW_CPU_CLOCK);
    attr.__bindgen_anon_1.sample_freq = hz;
    attr.set_freq(1);
    // SAFETY: `attr` lives through the call and says its own size.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attr,
            -1,
            cpu as libc::c_int,
            -1,
            FD_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Lets a sampling clock tick, or not.
pub fn tick(clock: &OwnedFd, is_on: bool) {
    const ENABLE: libc::c_ulong = 0x2400; // PERF_EVENT_IOC_ENABLE
    const DISABLE: libc::c_ulong = 0x2401;
    let what = if is_on { ENABLE } else { DISABLE };
    // SAFETY: without an argument that is looked at; a clock that cannot tick samples nothing.
    unsafe { libc::ioctl(clock.as_raw_fd(), what as _, 0) };
}

/// CPUs that may come and go, those offline included.
pub fn cpus() -> usize {
    // SAFETY: no memory is touched.
    let n = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(n).unwrap_or(1)
}

/// Makes the kernel measure every BPF program's run time as long as the answer is stored.
pub fn enable_bpf_stats() -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is checked.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What the kernel knows of a loaded program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramCost {
    /// Time in it, ns, while statistics were on.
    pub run_ns: u64,
    /// Runs while statistics were on.
    pub runs: u64,
    /// Events it did not see because it was interrupted by itself.
    pub missed: u64,
    /// Instructions the verifier went through.
    pub verified: u32,
}

/// Asks the kernel how often a program ran and how long.
pub fn program_cost(program: &impl AsFd) -> io::Result<ProgramCost> {
    // SAFETY: the structure is plain data for which all zeros is valid.
    let mut info: libbpf_sys::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: `info` is as large as `size` says.
    let answer = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(
            program.as_fd().as_raw_fd(),
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(ProgramCost {
        run_ns: info.run_time_ns,
        runs: info.run_cnt,
        missed: info.recursion_misses,
        verified: info.verified_insns,
    })
}

/// A name that only one process can hold; freed by the kernel when it ends, however it ends.
///
/// `None` if another tracer holds it.
pub fn only_tracer() -> Option<std::os::unix::net::UnixListener> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    let address = SocketAddr::from_abstract_name("sojourn-trace").ok()?;
    let listener = UnixListener::bind_addr(&address);
    if listener.is_err() {
        let _ = UnixStream::connect_addr(&address); // so that it knows; it may just have ended
    }
    listener.ok()
}

/// Whether another tracer has begun since `only_tracer`.
pub fn was_joined(only: &std::os::unix::net::UnixListener) -> bool {
    only.set_nonblocking(true).is_ok() && only.accept().is_ok()
}

/// The kernel's release, as `uname -r` says it.
pub fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
}

/// Capabilities this process lacks; `CAP_SYS_ADMIN` includes the first two.
pub fn missing_rights() -> Vec<&'static str> {
    const SYS_ADMIN: u32 = 21;
    const NEEDED: [(u32, &str); 3] = [(39, "CAP_BPF"), (38, "CAP_PERFMON"), (12, "CAP_NET_ADMIN")];
    let held = held_rights();
    let has = |bit: u32| held >> bit & 1 == 1;
    let is_replaced = |bit: u32| bit > 32 && has(SYS_ADMIN);
    NEEDED.into_iter().filter(|(bit, _)| !has(*bit) && !is_replaced(*bit)).map(|(_, n)| n).collect()
}

/// Capabilities of this process, one bit each.
pub(crate) fn held_rights() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    lines
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .unwrap_or(0)
}

static LIBBPF_LOG: std::sync::Mutex<String> = std::sync::Mutex::new(String::new());

/// Keeps what libbpf would print from now on, for the error that may follow.
pub fn listen_to_libbpf() {
    if let Ok(mut log) = LIBBPF_LOG.lock() {
        log.clear();
    }
    libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, text| {
        if let Ok(mut log) = LIBBPF_LOG.lock() {
            log.push_str(&text);
        }
    })));
}

/// What libbpf has logged since.
pub fn libbpf_messages() -> String {
    LIBBPF_LOG.lock().map(|log| log.clone()).unwrap_or_default()
}

/// A refusal by the kernel in the middle of things.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(crate) fn refused(error: libbpf_rs::Error) -> Fault {
    Fault::failed(
        format!("the kernel refused: {error:#}"),
        "bpf()",
        "see dmesg; report it with the kernel's version",
    )
}
