//! Several clients on one CPU, of which one runs at a time: it looks at its connections, then hands on.
//!
//! Left to the kernel, clients that all spin keep each other from the CPU for whole time slices; where all
//! but one sleep, the one that spins comes late by what the others do, and those that wake by more than
//! 50 µs (measured: 5 to 37 of 100 requests). So they take turns by a word that all have mapped: whoever
//! has the turn does what is due, for some microseconds at most, gives the turn to the next in the ring and
//! sleeps until it comes back (`futex(2)`). One of them is ready to run at any time, as if a single client spun there.
//!
//! One that ends leaves the ring. Of one that was killed or stopped the turn is taken after [`LOST_NS`]. Where
//! the file is cut short, each goes on as if it were alone ([`lost`]).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use sojourn_base::Fault;
use sojourn_base::clock::{Clock, Monotonic};

use crate::watch::cpu;

mod lost;

/// Rings in a file, one for each CPU.
const RINGS: usize = sojourn_base::cpus::CPUS_MAX;
/// Length of the file.
const BYTES: usize = RINGS * size_of::<Ring>();
/// Members that a ring has room for.
const SEATS: u32 = 32;
/// How long who has more to do keeps the turn, ns: who waits for it sends late by so much, and each time it
/// changes hands costs some microseconds.
const TURN_NS: u64 = 30_000;
/// Without any sign from who has the turn, it is taken from there.
const LOST_NS: u64 = 50_000_000;

/// What the members of one CPU share. All zero: there is no member.
#[repr(C, align(64))]
struct Ring {
    /// The seat of who may run.
    turn: AtomicU32,
    /// A bit for each seat that is taken.
    members: AtomicU32,
}

/// One thread's place in the ring of its CPU.
#[derive(Debug)]
pub struct Turns {
    ring: NonNull<Ring>,
    base: NonNull<libc::c_void>,
    guard: Option<lost::Guard>,
    seat: Option<u32>,
    /// When the turn came.
    since_ns: u64,
    /// After how long without a sign it takes the turn of another, [`LOST_NS`] but in tests.
    lost_ns: u64,
}

impl Turns {
    /// Maps the rings in `path`, which is made if it is not there, and looks at that of `cpu`. The thread is
    /// not in it yet.
    pub fn open(path: &Path, cpu: usize) -> Result<Self, Fault> {
        let cannot = |error: std::io::Error| {
            let what = format!("cannot share turns by {}: {error}", path.display());
            Fault::failed(what, "turns", "name a file in a folder that can be written")
        };
        let file = open(path).map_err(cannot)?;
        let base = map(&file).map_err(cannot)?;
        let guard = Some(lost::Guard::new(base.as_ptr(), BYTES));
        // SAFETY: the mapping holds `RINGS` rings, zeroed or in use, and the index is below that.
        let ring = unsafe { base.cast::<Ring>().add(cpu % RINGS) };
        Ok(Self { ring, base, guard, seat: None, since_ns: 0, lost_ns: LOST_NS })
    }

    /// Takes a seat and waits for the turn. Where all seats are taken the kernel orders this one.
    pub fn enter(&mut self) {
        let ring = self.ring();
        let mut members = ring.members.load(Acquire);
        let seat = loop {
            let seat = members.trailing_ones();
            if seat == SEATS {
                return;
            }
            match ring.members.compare_exchange(members, members | 1 << seat, AcqRel, Acquire) {
                Ok(_) => break seat,
                Err(now) => members = now,
            }
        };
        if members == 0 {
            ring.turn.store(seat, Release);
        }
        self.wait(seat);
        self.seat = Some(seat);
    }

    /// Lets every other member have its turn, and waits for the next of its own; goes on where nobody else
    /// is in the ring, or `is_busy` and [`TURN_NS`] are not over.
    #[inline]
    pub fn pass(&mut self, is_busy: bool) {
        let Some(seat) = self.seat else {
            return cpu::give_way();
        };
        if is_busy && Monotonic.now_ns() < self.since_ns + TURN_NS {
            return;
        }
        let ring = self.ring();
        // It may have been taken for lost.
        let members = ring.members.fetch_or(1 << seat, AcqRel) | 1 << seat;
        let next = after(members, seat);
        if next != seat {
            self.give(next);
            self.wait(seat);
        }
        self.since_ns = Monotonic.now_ns();
    }

    /// Gives up seat and turn.
    pub fn leave(&mut self) {
        let Some(seat) = self.seat.take() else {
            return;
        };
        let ring = self.ring();
        let left = ring.members.fetch_and(!(1 << seat), AcqRel) & !(1 << seat);
        if left != 0 && ring.turn.load(Acquire) == seat {
            self.give(after(left, seat));
        }
    }

    fn ring(&self) -> &Ring {
        // SAFETY: mapped until this is dropped, and everything in it is atomic.
        unsafe { self.ring.as_ref() }
    }

    fn give(&self, seat: u32) {
        let ring = self.ring();
        ring.turn.store(seat, Release);
        // SAFETY: the word is mapped; whoever waits for that seat is woken, if anybody does.
        unsafe {
            let (word, op) = (ring.turn.as_ptr(), libc::FUTEX_WAKE_BITSET);
            let unused = ptr::null::<libc::timespec>();
            libc::syscall(libc::SYS_futex, word, op, 1, unused, ptr::null::<u32>(), 1_u32 << seat);
        }
    }

    fn wait(&self, seat: u32) {
        let ring = self.ring();
        loop {
            let turn = ring.turn.load(Acquire);
            if turn == seat {
                return;
            }
            if self.is_woken(turn, seat) {
                continue;
            }
            if ring.turn.compare_exchange(turn, seat, AcqRel, Acquire).is_ok() {
                ring.members.fetch_and(!1_u32.wrapping_shl(turn), AcqRel);
            }
        }
    }

    /// Sleeps while the turn is at `turn`; false if it still was after `lost_ns`.
    fn is_woken(&self, turn: u32, seat: u32) -> bool {
        let until_ns = Monotonic.now_ns() + self.lost_ns;
        let until = libc::timespec {
            tv_sec: (until_ns / 1_000_000_000) as _,
            tv_nsec: (until_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: word and time are valid while the call lasts.
        let failed = unsafe {
            let (word, op) = (self.ring().turn.as_ptr(), libc::FUTEX_WAIT_BITSET);
            let bit = 1_u32 << seat;
            libc::syscall(
                libc::SYS_futex,
                word,
                op,
                turn,
                &raw const until,
                ptr::null::<u32>(),
                bit,
            )
        } != 0;
        !failed || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        self.leave();
        self.guard = None; // first: what is mapped there next is not ours to replace
        // SAFETY: as mapped in `map`; nothing points into it any more.
        unsafe { libc::munmap(self.base.as_ptr(), BYTES) };
    }
}

/// Opens a file of rings, or makes one. No link is followed, and no other file is grown or written into.
fn open(path: &Path) -> Result<File, std::io::Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let result = file.metadata()?;
    let is_ours =
        result.is_file() && result.nlink() == 1 && [0, BYTES as u64].contains(&result.len());
    if !is_ours {
        return Err(std::io::Error::other("there is something else"));
    }
    file.set_len(BYTES as u64)?;
    Ok(file)
}

fn map(file: &File) -> Result<NonNull<libc::c_void>, std::io::Error> {
    use std::os::fd::AsRawFd;
    let (length, rights) = (BYTES, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping of an open file of that length.
    let base = unsafe {
        libc::mmap(ptr::null_mut(), length, rights, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    match NonNull::new(base) {
        Some(base) if base.as_ptr() != libc::MAP_FAILED => Ok(base),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The next of `members` after `seat`, in a ring; `seat` if there is none.
fn after(members: u32, seat: u32) -> u32 {
    let later = members & !(u32::MAX >> (SEATS - 1 - seat));
    match (later, members) {
        (0, 0) => seat,
        (0, all) => all.trailing_zeros(),
        (later, _) => later.trailing_zeros(),
    }
}

#[cfg(test)]
mod tests;
