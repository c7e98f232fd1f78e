//! System calls by number: what kind each is, and what a thread that sleeps in it waits for.

use libc::c_long;

/// Numbers that the kernel's side has room for.
pub const MAX: usize = 512;

// `enum sys_class` of `bpf/shapes.h`.
const OTHER: u8 = 0;
const WAITS: u8 = 1;
const READ: u8 = 2;
const WRITE: u8 = 3;
const OPENS: u8 = 4;
const PARK: u8 = 5;
const CORK: u8 = 6;
const URING: u8 = 7;

// `enum wait`, SYS_SLEEP_AT bits up.
const EVENT: u8 = 1 << 3;
const SOCKET: u8 = 2 << 3;
const DISK: u8 = 3 << 3;
const LOCK: u8 = 4 << 3;
const SLEEP: u8 = 5 << 3;
/// A disk, or a socket or pipe: how the thread sleeps shows which.
const FILE: u8 = 7 << 3;

// Of reads, what their second argument is: `SYS_HAS_…`.
const HAS_BUFFER: u8 = 0x40;
const HAS_IOVEC: u8 = 0x80;
const HAS_MSGHDR: u8 = 0xc0;

/// The same number everywhere; libc has no name for it.
const FUTEX_WAIT: c_long = 455;

const CLASSES: &[(u8, &[c_long])] = &[
    (WAITS | EVENT, WAIT),
    (READ | FILE | HAS_BUFFER, &[libc::SYS_read]),
    (READ | SOCKET | HAS_BUFFER, &[libc::SYS_recvfrom]),
    (READ | FILE | HAS_IOVEC, &[libc::SYS_readv]),
    (READ | SOCKET | HAS_MSGHDR, &[libc::SYS_recvmsg]),
    (READ | SOCKET, &[libc::SYS_recvmmsg]),
    (READ | FILE, &[libc::SYS_splice]),
    (WRITE | FILE, &[libc::SYS_write, libc::SYS_writev, libc::SYS_sendfile]),
    (WRITE | SOCKET, &[libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg]),
    (OPENS | DISK, OPEN),
    (PARK | LOCK, &[libc::SYS_futex, libc::SYS_futex_waitv, FUTEX_WAIT]),
    (CORK, &[libc::SYS_setsockopt]),
    (URING | SOCKET, &[libc::SYS_io_uring_enter]),
    (OTHER | SOCKET, &[libc::SYS_connect, libc::SYS_accept, libc::SYS_accept4]),
    (OTHER | DISK, FILES),
    (OTHER | LOCK, &[libc::SYS_flock, libc::SYS_fcntl, libc::SYS_semop, libc::SYS_semtimedop]),
    (OTHER | SLEEP, &[libc::SYS_nanosleep, libc::SYS_clock_nanosleep]),
];

/// Calls in which a thread has nothing to do.
#[cfg(target_arch = "x86_64")]
pub const WAIT: &[c_long] = &[
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
];
/// Calls in which a thread has nothing to do.
#[cfg(not(target_arch = "x86_64"))]
pub const WAIT: &[c_long] =
    &[libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_ppoll, libc::SYS_pselect6];

#[cfg(target_arch = "x86_64")]
const OPEN: &[c_long] = &[libc::SYS_open, libc::SYS_creat, libc::SYS_openat, libc::SYS_openat2];
#[cfg(not(target_arch = "x86_64"))]
const OPEN: &[c_long] = &[libc::SYS_openat, libc::SYS_openat2];

/// Calls that are about files, whatever is done with them.
const FILES: &[c_long] = &[
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_msync,
    libc::SYS_fallocate,
    libc::SYS_ftruncate,
    libc::SYS_copy_file_range,
    libc::SYS_getdents64,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_readlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
];

/// What the kernel's side knows of each number.
pub fn classes() -> [u8; MAX] {
    let mut classes = [0; MAX];
    for (class, numbers) in CLASSES {
        for &number in *numbers {
            classes[number as usize] = *class;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of an enum of `bpf/shapes.h`, in order.
    fn names(head: &str) -> Vec<String> {
        let body = include_str!("../bpf/shapes.h").split_once(head).unwrap().1;
        let code = body.split_once("};").unwrap().0.lines().map(|line| {
            let code = line.split_once("/*").map_or(line, |(code, _)| code);
            code.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>()
        });
        code.flatten().filter(|name| !name.is_empty() && name != "}").collect()
    }

    #[test]
    fn the_kernel_side_has_the_same_kinds_in_the_same_order() {
        let classes = names("enum sys_class {");
        let at = |kind: u8| classes[kind as usize].trim_start_matches("SYS_").to_owned();
        for (kind, name) in [
            (OTHER, "OTHER"),
            (WAITS, "WAIT"),
            (READ, "READ"),
            (WRITE, "WRITE"),
            (OPENS, "OPEN"),
            (PARK, "PARK"),
            (CORK, "CORK"),
            (URING, "URING"),
        ] {
            assert_eq!(at(kind), name);
        }
        let waits = names("enum wait {");
        for (kind, name) in [
            (EVENT, "WAIT_EVENT"),
            (SOCKET, "WAIT_SOCKET"),
            (DISK, "WAIT_DISK"),
            (LOCK, "WAIT_LOCK"),
            (SLEEP, "WAIT_SLEEP"),
            (FILE, "WAIT_CLIENT"), // as which it stands in this table
        ] {
            assert_eq!(waits[usize::from(kind >> 3)], name);
        }
    }

    #[test]
    fn what_is_read_or_waited_for_is_known_by_number() {
        let classes = classes();
        assert_eq!(classes[libc::SYS_recvfrom as usize], READ | SOCKET | HAS_BUFFER);
        assert_eq!(classes[libc::SYS_fdatasync as usize], DISK);
        assert_eq!(classes[libc::SYS_getpid as usize], 0);
    }
}
