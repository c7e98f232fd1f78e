//! `sojourn-counters`: what the kernel counts of a service and of the machine, sample by sample.

use std::io;
use std::process::ExitCode;

use sojourn_base::clock::{Clock, Monotonic};
use sojourn_base::visible::Visible;

fn main() -> ExitCode {
    let ending = blocked();
    let (mut out, mut talk) = (Visible::new(io::stdout()), Visible::new(io::stderr()));
    let mut wait = |until_ns| came(&ending, until_ns);
    ExitCode::from(sojourn_counters::program::main(
        std::env::args_os(),
        &mut wait,
        &mut out,
        &mut talk,
    ))
}

/// The signals that end it, which from now on wait until they are asked for.
fn blocked() -> libc::sigset_t {
    // SAFETY: the set is made by `sigemptyset` before it is read; failure blocks nothing.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        set
    }
}

/// Sleeps until `until_ns` of the monotonic clock; true: one of `ending` came before.
fn came(ending: &libc::sigset_t, until_ns: u64) -> bool {
    loop {
        let left_ns = until_ns.saturating_sub(Monotonic.now_ns());
        let left = libc::timespec {
            tv_sec: (left_ns / 1_000_000_000) as _,
            tv_nsec: (left_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: both are valid through the call; nothing is asked to be written.
        let signal = unsafe { libc::sigtimedwait(ending, std::ptr::null_mut(), &raw const left) };
        if signal > 0 || left_ns == 0 {
            return signal > 0;
        }
    }
}
