//! Memory of one's own, straight from the kernel: aligned to pages, there before it is used.

use std::ptr::NonNull;

use sojourn_base::Fault;

/// Bytes of a page, as this crate counts them.
pub const PAGE: usize = 4096;
/// Bytes of a cache line, as this crate counts them.
pub const LINE: usize = 64;

/// A private mapping, unmapped when it is dropped.
#[derive(Debug)]
pub struct Map {
    at: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to whoever holds the value; nothing else has its address.
unsafe impl Send for Map {}

impl Map {
    /// Maps `bytes`, rounded up to pages, each of them written once; huge pages if asked.
    pub fn new(bytes: u64, is_huge: bool) -> Result<Self, Fault> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX / 2).div_ceil(PAGE) * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let (ask, null) = (libc::PROT_READ | libc::PROT_WRITE, std::ptr::null_mut());
        // SAFETY: a fresh anonymous mapping at an address that the kernel chooses.
        let at = unsafe { libc::mmap(null, bytes, ask, flags, -1, 0) };
        let at =
            NonNull::new(at.cast::<u8>()).filter(|_| at != libc::MAP_FAILED).ok_or_else(|| {
                let error = std::io::Error::last_os_error();
                let what = format!("{} MiB of memory cannot be had: {error}", bytes >> 20);
                Fault::failed(what, "params.size", "give a smaller size")
            })?;
        let mut map = Self { at, bytes };
        let advice = if is_huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range is the mapping; it is advice, a kernel without huge pages refuses it.
        unsafe { libc::madvise(map.at.as_ptr().cast(), bytes, advice) };
        for page in map.words().chunks_mut(PAGE / 8) {
            page[0] = 1; // the zero page of all would be shared, and cached
        }
        Ok(map)
    }

    /// The whole mapping as a slice of words, 8 bytes each.
    pub fn words(&mut self) -> &mut [u64] {
        // SAFETY: pages are aligned for u64, the length is a multiple of 8, and `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr().cast(), self.bytes / 8) }
    }

    /// The whole mapping as a slice of bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping has that many bytes, and `self` is borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }

    /// Turns what was written into code, which can no longer be written; its address.
    ///
    /// Fails where the system allows no one to make code.
    pub fn into_code(self) -> Result<Code, Fault> {
        let ask = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the range is the mapping, which no one writes to any more.
        if unsafe { libc::mprotect(self.at.as_ptr().cast(), self.bytes, ask) } != 0 {
            let error = std::io::Error::last_os_error();
            let what = format!("no code can be made here: {error}");
            return Err(Fault::failed(
                what,
                "l1i",
                "see what keeps it: SELinux's execmem, seccomp",
            ));
        }
        Ok(Code(self))
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, unmapped once.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

/// A mapping that is code.
#[derive(Debug)]
pub struct Code(Map);

impl Code {
    /// The address of its first instruction.
    pub fn start(&self) -> *const u8 {
        self.0.at.as_ptr()
    }
}
