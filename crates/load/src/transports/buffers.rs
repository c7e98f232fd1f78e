//! Provided buffers: the kernel takes one for each arrival, and gets it back when it was read.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

/// A ring of `count` buffers of `size` bytes, registered with one `io_uring`.
pub(super) struct Buffers {
    /// The entries that the kernel reads; page-aligned, as it demands.
    entries: Pages,
    bytes: Box<[u8]>,
    count: u16,
    size: usize,
    tail: u16,
    published: u16,
}

/// Anonymous memory of whole pages.
struct Pages {
    start: NonNull<BufRingEntry>,
    len: usize,
}

impl Pages {
    fn new(len: usize) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_ANONYMOUS | libc::MAP_PRIVATE);
        // SAFETY: asks for fresh memory anywhere; touches none that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        match NonNull::new(start.cast::<BufRingEntry>()) {
            Some(start) if start.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Self { start, len })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: maps exactly what `new` mapped; the ring that knew of it was dropped before.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

impl Buffers {
    /// Allocates, touches and registers them as group `group`. `count` is a power of two.
    pub(super) fn new(ring: &IoUring, group: u16, count: u16, size: usize) -> io::Result<Self> {
        let entries = Pages::new(usize::from(count) * size_of::<BufRingEntry>())?;
        // SAFETY: the memory is fresh, page-aligned and large enough; `Uring` declares the ring
        // before the buffers, so it is dropped first.
        unsafe {
            let address = entries.start.as_ptr() as u64;
            ring.submitter().register_buf_ring_with_flags(address, count, group, 0)?;
        }
        let bytes = vec![1; usize::from(count) * size].into_boxed_slice();
        let mut this = Self { entries, bytes, count, size, tail: 0, published: 0 };
        (0..count).for_each(|buffer| this.give_back(buffer));
        this.publish();
        Ok(this)
    }

    /// The first `len` bytes of `buffer`.
    #[inline]
    pub(super) fn bytes(&self, buffer: u16, len: usize) -> &[u8] {
        let start = usize::from(buffer) * self.size;
        &self.bytes[start..start + len]
    }

    /// `buffer` was read. The kernel knows after [`Buffers::publish`].
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u16) {
        let slot = usize::from(self.tail & (self.count - 1));
        let start = self.bytes[usize::from(buffer) * self.size..].as_mut_ptr();
        // SAFETY: `slot` is below `count`, for which there is room; the kernel does not read this
        // entry before the tail that covers it is published.
        let entry = unsafe { &mut *self.entries.start.as_ptr().add(slot) };
        entry.set_addr(start as u64);
        entry.set_len(self.size as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Hands everything given back to the kernel.
    #[inline]
    pub(super) fn publish(&mut self) {
        if self.published == self.tail {
            return;
        }
        // SAFETY: the first entry exists, and its tail is an aligned u16 that only this thread
        // writes; the kernel reads it with acquire semantics.
        let tail = unsafe {
            let first = self.entries.start.as_ptr();
            AtomicU16::from_ptr(BufRingEntry::tail(first).cast_mut())
        };
        tail.store(self.tail, Ordering::Release);
        self.published = self.tail;
    }
}
