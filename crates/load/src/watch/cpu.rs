//! CPUs as people write them, where the calling thread runs, and how exactly the kernel wakes it.

use sojourn_base::Fault;
use sojourn_base::cpus::{CPUS_MAX, CpuSet};

/// Whether this process may run on `cpu`.
pub fn may_run_on(cpu: usize) -> bool {
    // Where it cannot be known, pinning shows it.
    cpu < CPUS_MAX && CpuSet::of(0).is_none_or(|allowed| allowed.has(cpu))
}

/// Whether this process is given `cpu` when it asks for it: `taskset` and `isolcpus` keep it from none,
/// a cpuset does. Asked in a thread, with which it ends.
pub fn may_be_had(cpu: usize) -> bool {
    if may_run_on(cpu) {
        return true;
    }
    let asked = std::thread::Builder::new().spawn(move || pin(cpu).is_ok());
    asked.is_ok_and(|thread| thread.join().unwrap_or(false))
}

/// Pins the calling thread to `cpu`.
pub fn pin(cpu: usize) -> Result<(), Fault> {
    CpuSet::new(&[cpu]).take().map_err(|error| {
        Fault::failed(
            format!("cannot pin a thread to CPU {cpu}: {error}"),
            "cpus",
            "choose CPUs that are online and that the cpuset allows (`cpuset.cpus.effective`)",
        )
    })
}

/// Keeps the calling thread off `cpus`, if it may run on any other; where that cannot be had it stays.
pub fn keep_off(cpus: &[usize]) {
    if let Some(left) = CpuSet::of(0).map(|allowed| allowed.without(cpus))
        && !left.is_empty()
    {
        let _ = left.take(); // it stays where it was
    }
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`), 1 to 99; false without the right to.
pub fn become_realtime(priority: i32) -> bool {
    let call = libc::SYS_sched_setscheduler; // musl's own function always refuses
    // SAFETY: the kernel's parameter is one valid `int`; failure changes nothing.
    unsafe { libc::syscall(call, 0, libc::SCHED_FIFO, &raw const priority) == 0 }
}

/// Asks for wake-ups at the nanosecond asked for instead of up to 50 µs later.
///
/// Source: `PR_SET_TIMERSLACK` in prctl(2). Affects the calling thread.
pub fn wake_exactly() {
    // SAFETY: takes one number and touches no memory; failure leaves the default slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}

/// Lets others that are ready on this CPU go first; where there are none it costs 0.2 µs.
#[inline]
pub fn give_way() {
    // SAFETY: takes nothing, touches no memory, and always succeeds on Linux.
    unsafe { libc::sched_yield() };
}

/// The CPUs of `1` or `1,3-5`; refuses those that this process may not use. `key` names the list.
pub fn usable(key: &str, text: &str) -> Result<Vec<usize>, Fault> {
    let cpus = list(key, text)?;
    if let Some(cpu) = cpus.iter().find(|&&cpu| !may_be_had(cpu)) {
        return Err(Fault::usage(
            format!("this process may not run on CPU {cpu}"),
            key,
            "choose CPUs that are online and that the cpuset allows (`cpuset.cpus.effective`)",
        ));
    }
    Ok(cpus)
}

/// The CPUs of `1` or `1,3-5`; refuses those that this machine has not. `key` names the list.
pub fn present(key: &str, text: &str) -> Result<Vec<usize>, Fault> {
    let cpus = list(key, text)?;
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let known = list(key, online.trim()).unwrap_or_default();
    match cpus.iter().find(|&&cpu| !known.is_empty() && !known.contains(&cpu)) {
        Some(cpu) => Err(Fault::usage(
            format!("this machine has no CPU {cpu} that is online"),
            key,
            format!("choose of these: {}", online.trim()),
        )),
        None => Ok(cpus),
    }
}

/// The CPUs of `1` or `1,3-5`; `key` names the list.
pub fn list(key: &str, text: &str) -> Result<Vec<usize>, Fault> {
    let wrong = || {
        let fix = "write CPU numbers such as 1 or 1,3-5";
        Fault::usage(format!("'{text}' is not a list of CPUs"), key, fix)
    };
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| wrong())?;
        let last: usize = last.trim().parse().map_err(|_| wrong())?;
        if first > last || last >= CPUS_MAX {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_taskset_keeps_from_a_thread_is_given_when_it_asks() {
        let cpus: Vec<usize> = (0..1024).filter(|&cpu| may_be_had(cpu)).collect();
        let &[first, second, ..] = &cpus[..] else { return println!("skipped: there is one CPU") };
        let limited = std::thread::spawn(move || {
            pin(first).unwrap();
            assert!(may_be_had(second) && !may_run_on(second));
            assert_eq!(usable("cpus", &second.to_string()).unwrap(), [second]);
            assert!(may_run_on(first) && !may_run_on(second), "it stays where it was");
            assert!(usable("cpus", "1000").is_err());
        });
        limited.join().unwrap();
    }
}
