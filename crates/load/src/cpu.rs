//! Where the calling thread runs, and how exactly the kernel wakes it.

use std::mem;

use sojourn_base::Fault;

/// Whether this process may run on `cpu`.
pub fn may_run_on(cpu: usize) -> bool {
    // SAFETY: a zeroed cpu_set_t is an empty set, and the kernel fills at most its size.
    let allowed = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, mem::size_of_val(&set), &raw mut set) != 0 {
            return true; // cannot be known: pinning will tell
        }
        set
    };
    // SAFETY: the set is valid; the caller's number is below its size.
    cpu < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(cpu, &allowed) }
}

/// Pins the calling thread to `cpu`.
pub fn pin(cpu: usize) -> Result<(), Fault> {
    // SAFETY: a zeroed cpu_set_t is an empty set; `cpu` was checked by `may_run_on`.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set) != 0
    };
    if failed {
        return Err(Fault::failed(
            format!("cannot pin a thread to CPU {cpu}: {}", std::io::Error::last_os_error()),
            "cpus",
            "choose CPUs that `taskset -cp $$` lists",
        ));
    }
    Ok(())
}

/// Asks for wake-ups at the nanosecond asked for instead of up to 50 µs later.
///
/// Source: `PR_SET_TIMERSLACK` in prctl(2). Affects the calling thread.
pub fn wake_exactly() {
    // SAFETY: takes one number and touches no memory; failure leaves the default slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
