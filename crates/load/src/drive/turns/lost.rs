//! A shared file that somebody cut short while it was mapped: whoever touches it next is not killed.
//!
//! The kernel answers an access behind the end of a file with SIGBUS. Here the pages are then replaced by
//! zeroed ones of this process's own, and the access is repeated: the client has lost its turns, as if
//! there were no other, and goes on. Any other SIGBUS goes where it would have gone.

use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

/// Mappings that are guarded at a time: one for each thread. Further ones are not.
const HELD_MAX: usize = 1024;

/// Where guarded mappings begin; 0: a place for one more.
static HELD: [AtomicUsize; HELD_MAX] = [const { AtomicUsize::new(0) }; HELD_MAX];
/// How long each is, bytes.
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// Who answered SIGBUS before, and answers all others.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// One guarded mapping; dropped before it is unmapped.
#[derive(Debug)]
pub(super) struct Guard(Option<usize>);

impl Guard {
    /// Guards `bytes` from `base` on, as many in each mapping.
    pub(super) fn new(base: *mut libc::c_void, bytes: usize) -> Self {
        LENGTH.store(bytes, Release);
        BEFORE.get_or_init(answer);
        let free =
            |slot: &&AtomicUsize| slot.compare_exchange(0, base as usize, AcqRel, Acquire).is_ok();
        Self(HELD.iter().find(free).map(|_| base as usize))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(base) = self.0 {
            let is_it =
                |slot: &&AtomicUsize| slot.compare_exchange(base, 0, AcqRel, Acquire).is_ok();
            let _ = HELD.iter().find(is_it);
        }
    }
}

/// Answers SIGBUS from now on; returns who did before.
fn answer() -> libc::sigaction {
    // SAFETY: both are plain data, zeroed before they are used; the function answers any signal.
    unsafe {
        let (mut own, mut before): (libc::sigaction, libc::sigaction) =
            (std::mem::zeroed(), std::mem::zeroed());
        own.sa_sigaction = on_bus as *const () as usize;
        own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&raw mut own.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const own, &raw mut before);
        before
    }
}

/// Only calls what a handler of signals may: loads, and system calls that keep `errno`.
extern "C" fn on_bus(signal: libc::c_int, info: *mut libc::siginfo_t, more: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid `info`; `errno` is this thread's own.
    let (at, errno) = unsafe { ((*info).si_addr() as usize, libc::__errno_location()) };
    let length = LENGTH.load(Acquire);
    let is_hit = |base: usize| base != 0 && at.wrapping_sub(base) < length;
    if let Some(base) = HELD.iter().map(|slot| slot.load(Acquire)).find(|&base| is_hit(base)) {
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        let flags = flags | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: replaces a mapping that is this module's to replace, as long as it is held.
        let is_replaced = unsafe {
            let retained = *errno;
            let made = libc::mmap(base as *mut libc::c_void, length, rights, flags, -1, 0);
            *errno = retained;
            made != libc::MAP_FAILED
        };
        if is_replaced {
            return;
        }
    }
    let before = BEFORE.get().filter(|it| it.sa_flags & libc::SA_SIGINFO != 0);
    // SAFETY: a handler that was installed with SA_SIGINFO is a function of this form.
    unsafe {
        if let Some(it) = before {
            type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
            let handler: Handler = std::mem::transmute(it.sa_sigaction as *const ());
            handler(signal, info, more);
        } else {
            let mut usual: libc::sigaction = std::mem::zeroed();
            usual.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(libc::SIGBUS, &raw const usual, ptr::null_mut());
        }
    }
}
