//! How closely the culprit's hooks look, and the settings that say so to the kernel's side.

use super::{FLOOR_NS, IRQ_NS};
use crate::attach::calls;
use crate::attach::compat;

/// Classes of system calls: `enum call_class` in `bpf/culprit.h`.
const IDLE: u8 = 1;
const HAS_FILE: u8 = 2;
/// Calls that take a file as their first argument.
const FILES: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_getdents64,
    libc::SYS_splice,
];

/// How closely the hooks look.
#[derive(Clone, Copy, Debug)]
pub struct Eye {
    /// Waits and sleeps shorter than this are not sent, ns.
    pub floor_ns: u64,
    /// Between two stacks of a thread there is at least so much time, ns.
    pub stack_gap_ns: u64,
    /// Runs shorter than this are not remembered, ns.
    pub run_ns: u64,
    /// Of runs shorter than this the control group is not read, ns.
    pub group_ns: u64,
    /// Sleeps in `epoll_wait` and its like from here on are sent too, ns, without whoever ended them; 0: none is.
    pub idle_ns: u64,
    /// Calls in which a thread has nothing to do, beside those.
    pub idles: &'static [libc::c_long],
    /// Interrupts are looked at, too.
    pub sees_interrupts: bool,
}

/// In windows: as closely as it can.
pub(crate) const IN_WINDOWS: Eye = Eye {
    floor_ns: FLOOR_NS,
    stack_gap_ns: 0,
    run_ns: 1_000,
    group_ns: 10_000,
    idle_ns: 0,
    idles: &[],
    sees_interrupts: true,
};

/// The kernel's `struct culprit_settings`.
pub(crate) fn settings(pid_ns: u32, eye: Eye) -> Vec<u8> {
    let mut classes = [0_u8; calls::MAX];
    for (calls, class) in [(FILES, HAS_FILE), (calls::WAIT, IDLE), (eye.idles, IDLE)] {
        for &call in calls {
            classes[call as usize] = class;
        }
    }
    let words = [eye.floor_ns, IRQ_NS, eye.stack_gap_ns, eye.run_ns, eye.group_ns, eye.idle_ns];
    let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    bytes.extend(classes);
    bytes.extend(compat::native().iter().flat_map(|n| n.to_ne_bytes()));
    bytes.extend(pid_ns.to_ne_bytes());
    bytes.extend([0; 4]); // the struct's end
    bytes
}
