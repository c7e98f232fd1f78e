//! Numbers of system calls that 32-bit processes make, as those of the machine's own ABI.
//!
//! The kernel's side (`bpf/compat.h`) says which ABI a call is of, and looks its number up here. Only
//! calls are listed that `calls.rs` knows something of.

/// Numbers that the table has room for: `OTHER_ABI` of `bpf/shapes.h`.
pub const MAX: usize = 560;
/// Of a number that is not listed: `NO_CALL`.
const NONE: u16 = 0xffff;
/// Where the calls of `socketcall` lie, by its first argument.
#[cfg(target_arch = "x86_64")]
const SOCKETCALL: usize = 480;

/// The machine's own number of each.
pub fn native() -> [u16; MAX] {
    let mut table = [NONE; MAX];
    for (number, own) in listed() {
        table[number] = own as u16;
    }
    table
}

#[cfg(target_arch = "x86_64")]
fn listed() -> impl Iterator<Item = (usize, libc::c_long)> {
    let by_socketcall = SOCKETCALLS.iter().map(|(call, own)| (SOCKETCALL + call, *own));
    IA32.iter().chain(X32).copied().chain(by_socketcall)
}

#[cfg(not(target_arch = "x86_64"))]
fn listed() -> impl Iterator<Item = (usize, libc::c_long)> {
    ARM.iter().copied()
}

/// From `arch/x86/entry/syscalls/syscall_32.tbl`.
#[cfg(target_arch = "x86_64")]
const IA32: &[(usize, libc::c_long)] = &[
    (3, libc::SYS_read),
    (4, libc::SYS_write),
    (5, libc::SYS_open),
    (8, libc::SYS_creat),
    (55, libc::SYS_fcntl),
    (82, libc::SYS_select),
    (93, libc::SYS_ftruncate),
    (118, libc::SYS_fsync),
    (142, libc::SYS_select),
    (143, libc::SYS_flock),
    (144, libc::SYS_msync),
    (145, libc::SYS_readv),
    (146, libc::SYS_writev),
    (148, libc::SYS_fdatasync),
    (162, libc::SYS_nanosleep),
    (168, libc::SYS_poll),
    (180, libc::SYS_pread64),
    (181, libc::SYS_pwrite64),
    (187, libc::SYS_sendfile),
    (194, libc::SYS_ftruncate),
    (220, libc::SYS_getdents64),
    (221, libc::SYS_fcntl),
    (239, libc::SYS_sendfile),
    (240, libc::SYS_futex),
    (256, libc::SYS_epoll_wait),
    (267, libc::SYS_clock_nanosleep),
    (295, libc::SYS_openat),
    (300, libc::SYS_newfstatat),
    (301, libc::SYS_unlinkat),
    (305, libc::SYS_readlinkat),
    (308, libc::SYS_pselect6),
    (309, libc::SYS_ppoll),
    (313, libc::SYS_splice),
    (319, libc::SYS_epoll_pwait),
    (324, libc::SYS_fallocate),
    (333, libc::SYS_preadv),
    (334, libc::SYS_pwritev),
    (337, libc::SYS_recvmmsg),
    (345, libc::SYS_sendmmsg),
    (362, libc::SYS_connect),
    (364, libc::SYS_accept4),
    (366, libc::SYS_setsockopt),
    (369, libc::SYS_sendto),
    (370, libc::SYS_sendmsg),
    (371, libc::SYS_recvfrom),
    (372, libc::SYS_recvmsg),
    (378, libc::SYS_preadv2),
    (379, libc::SYS_pwritev2),
    (383, libc::SYS_statx),
    (407, libc::SYS_clock_nanosleep),
    (413, libc::SYS_pselect6),
    (414, libc::SYS_ppoll),
    (417, libc::SYS_recvmmsg),
    (420, libc::SYS_semtimedop),
    (422, libc::SYS_futex),
    (426, libc::SYS_io_uring_enter),
    (437, libc::SYS_openat2),
    (441, libc::SYS_epoll_pwait2),
    (449, libc::SYS_futex_waitv),
];

/// First arguments of `socketcall`: `SYS_…` of `linux/net.h`.
#[cfg(target_arch = "x86_64")]
const SOCKETCALLS: &[(usize, libc::c_long)] = &[
    (3, libc::SYS_connect),
    (5, libc::SYS_accept),
    (9, libc::SYS_sendto),
    (10, libc::SYS_recvfrom),
    (11, libc::SYS_sendto),
    (12, libc::SYS_recvfrom),
    (14, libc::SYS_setsockopt),
    (16, libc::SYS_sendmsg),
    (17, libc::SYS_recvmsg),
    (18, libc::SYS_accept4),
    (19, libc::SYS_recvmmsg),
    (20, libc::SYS_sendmmsg),
];

/// Those that x32 has for itself; its others are the machine's own.
#[cfg(target_arch = "x86_64")]
const X32: &[(usize, libc::c_long)] = &[
    (515, libc::SYS_readv),
    (516, libc::SYS_writev),
    (517, libc::SYS_recvfrom),
    (518, libc::SYS_sendmsg),
    (519, libc::SYS_recvmsg),
    (534, libc::SYS_preadv),
    (535, libc::SYS_pwritev),
    (537, libc::SYS_recvmmsg),
    (538, libc::SYS_sendmmsg),
    (541, libc::SYS_setsockopt),
    (546, libc::SYS_preadv2),
    (547, libc::SYS_pwritev2),
];

/// From `arch/arm/tools/syscall.tbl`.
#[cfg(not(target_arch = "x86_64"))]
const ARM: &[(usize, libc::c_long)] = &[
    (3, libc::SYS_read),
    (4, libc::SYS_write),
    (5, libc::SYS_openat),
    (8, libc::SYS_openat),
    (55, libc::SYS_fcntl),
    (93, libc::SYS_ftruncate),
    (118, libc::SYS_fsync),
    (142, libc::SYS_pselect6),
    (143, libc::SYS_flock),
    (144, libc::SYS_msync),
    (145, libc::SYS_readv),
    (146, libc::SYS_writev),
    (148, libc::SYS_fdatasync),
    (162, libc::SYS_nanosleep),
    (168, libc::SYS_ppoll),
    (180, libc::SYS_pread64),
    (181, libc::SYS_pwrite64),
    (187, libc::SYS_sendfile),
    (217, libc::SYS_getdents64),
    (221, libc::SYS_fcntl),
    (239, libc::SYS_sendfile),
    (240, libc::SYS_futex),
    (252, libc::SYS_epoll_pwait),
    (265, libc::SYS_clock_nanosleep),
    (283, libc::SYS_connect),
    (285, libc::SYS_accept),
    (289, libc::SYS_sendto),
    (290, libc::SYS_sendto),
    (291, libc::SYS_recvfrom),
    (292, libc::SYS_recvfrom),
    (294, libc::SYS_setsockopt),
    (296, libc::SYS_sendmsg),
    (297, libc::SYS_recvmsg),
    (322, libc::SYS_openat),
    (335, libc::SYS_pselect6),
    (336, libc::SYS_ppoll),
    (340, libc::SYS_splice),
    (346, libc::SYS_epoll_pwait),
    (361, libc::SYS_preadv),
    (362, libc::SYS_pwritev),
    (365, libc::SYS_recvmmsg),
    (366, libc::SYS_accept4),
    (374, libc::SYS_sendmmsg),
    (397, libc::SYS_statx),
    (407, libc::SYS_clock_nanosleep),
    (413, libc::SYS_pselect6),
    (414, libc::SYS_ppoll),
    (417, libc::SYS_recvmmsg),
    (422, libc::SYS_futex),
    (426, libc::SYS_io_uring_enter),
    (437, libc::SYS_openat2),
    (441, libc::SYS_epoll_pwait2),
    (449, libc::SYS_futex_waitv),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::calls;

    #[test]
    fn every_number_fits_and_stands_once() {
        let mut numbers: Vec<usize> = listed().map(|(number, _)| number).collect();
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all);
        assert!(numbers.iter().all(|&number| number < MAX));
        assert!(listed().all(|(_, own)| (own as usize) < calls::MAX));
    }

    /// Calls in which requests are read, waited for and answered.
    #[test]
    fn whatever_tells_the_stages_of_a_request_is_listed() {
        let classes = calls::classes();
        let listed: Vec<usize> = listed().map(|(_, own)| own as usize).collect();
        for (number, class) in classes.iter().enumerate().filter(|(_, class)| *class & 7 != 0) {
            let is_known = listed.contains(&number) || number == 455; // its number is the same
            assert!(is_known, "call {number} of class {class}");
        }
    }

    #[test]
    fn the_table_has_room_for_what_the_kernel_looks_up() {
        let shapes = include_str!("../bpf/shapes.h");
        assert!(shapes.contains(&format!("#define OTHER_ABI {MAX}\n")));
        #[cfg(target_arch = "x86_64")]
        assert!(include_str!("../bpf/compat.h").contains(&format!("SOCKETCALL_AT {SOCKETCALL}\n")));
    }
}
