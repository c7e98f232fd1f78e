//! A map's memory, shared with the kernel: read and written without a system call.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::atomic::{AtomicU64, Ordering};

use libbpf_rs::{Map, MapCore as _};
use sojourn_base::Fault;

/// A map's memory, mapped here until this is dropped.
pub struct Shared {
    at: *mut libc::c_void,
    bytes: usize,
}

impl Shared {
    /// The first `bytes` of a map's values.
    pub fn new(map: &Map<'_>, bytes: usize) -> Result<Self, Fault> {
        let fd = map.as_fd().as_raw_fd();
        let way = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of a file that the kernel bounds; the result is checked.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, way, libc::MAP_SHARED, fd, 0) };
        if at == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            let name = map.name().to_string_lossy().into_owned();
            return Err(Fault::failed(
                format!("cannot map the kernel's memory: {error}"),
                name,
                "report it with the kernel's version",
            ));
        }
        Ok(Self { at, bytes })
    }

    /// Length of the mapped memory, bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The word at a byte that 8 divides.
    ///
    /// # Panics
    /// If it lies outside.
    fn atomic(&self, at: usize) -> &AtomicU64 {
        let is_inside = at.checked_add(8).is_some_and(|end| end <= self.bytes);
        assert!(at.is_multiple_of(8) && is_inside, "word {at} of {}", self.bytes);
        // SAFETY: inside the mapping and aligned, as was just checked; both sides use whole words.
        unsafe { AtomicU64::from_ptr(self.at.cast::<u8>().add(at).cast()) }
    }

    /// The word at a byte that 8 divides.
    pub fn word(&self, at: usize) -> u64 {
        self.atomic(at).load(Ordering::Acquire)
    }

    /// Writes it; what was written before is seen by whoever sees it.
    pub fn set(&self, at: usize, word: u64) {
        self.atomic(at).store(word, Ordering::Release);
    }

    /// Sets all of it to zero, word by word, as others may read meanwhile.
    pub fn clear(&self) {
        (0..self.bytes / 8).for_each(|k| self.atomic(8 * k).store(0, Ordering::Relaxed));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this mapping, which has no user any more.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}
