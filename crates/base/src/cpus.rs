//! CPUs as people write them, `1` or `0,2-3`, and threads pinned to them.

use crate::Fault;

/// The CPUs in `text`, in its order, each below `end`.
pub fn parse(text: &str, end: usize) -> Result<Vec<usize>, Fault> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            (Ok(first), Ok(last)) if first <= last && last < end => found.extend(first..=last),
            _ => {
                let what = format!("'{part}' is no CPU and no range of CPUs");
                let fix = "write CPUs that may be used: 1 or 0,2-3";
                return Err(Fault::usage(what, "cpus", fix));
            }
        }
    }
    Ok(found)
}

/// CPUs have numbers below this, as many as the kernel can be built for (`NR_CPUS` of x86).
pub const CPUS_MAX: usize = 8192;

/// CPUs that a thread may run on. As large as the kernel's own set, whatever its size: `cpu_set_t` ends at
/// 1024 CPUs, where the kernel refuses to fill it and `CPU_SET` panics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet(Vec<libc::c_ulong>);

const WORD: usize = libc::c_ulong::BITS as usize;

impl CpuSet {
    /// Those of `cpus` that are below [`CPUS_MAX`].
    pub fn new(cpus: &[usize]) -> Self {
        let mut set = Self(vec![0; CPUS_MAX / WORD]);
        for &cpu in cpus.iter().filter(|&&cpu| cpu < CPUS_MAX) {
            set.0[cpu / WORD] |= 1 << (cpu % WORD);
        }
        set
    }

    /// Those of thread `tid` (0: the calling one); `None` if it has ended, or the kernel does not say.
    pub fn of(tid: i32) -> Option<Self> {
        let mut set = Self::new(&[]);
        // SAFETY: the kernel fills at most the length that it is given.
        let failed =
            unsafe { libc::sched_getaffinity(tid, set.bytes(), set.0.as_mut_ptr().cast()) } != 0;
        (!failed).then_some(set)
    }

    /// Whether `cpu` is one of them.
    pub fn has(&self, cpu: usize) -> bool {
        self.0.get(cpu / WORD).is_some_and(|word| word >> (cpu % WORD) & 1 != 0)
    }

    /// The same set, from which `cpus` are taken.
    #[must_use]
    pub fn without(mut self, cpus: &[usize]) -> Self {
        for (word, out) in self.0.iter_mut().zip(Self::new(cpus).0) {
            *word &= !out;
        }
        self
    }

    /// Whether there is no CPU in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    /// Puts the calling thread on them.
    pub fn take(&self) -> std::io::Result<()> {
        // SAFETY: the kernel reads at most the length that it is given.
        let failed =
            unsafe { libc::sched_setaffinity(0, self.bytes(), self.0.as_ptr().cast()) } != 0;
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    }

    fn bytes(&self) -> usize {
        size_of_val(self.0.as_slice())
    }
}

/// Pins the calling thread, and those that it will start, to the CPUs in `text`; "": to none.
pub fn pin(text: &str) -> Result<(), Fault> {
    if text.is_empty() {
        return Ok(());
    }
    CpuSet::new(&parse(text, CPUS_MAX)?).take().map_err(|error| {
        let what = format!("cannot pin to '{text}': {error}");
        Fault::usage(what, "cpus", "write CPUs that may be used: 1 or 0,2-3")
    })
}

/// Asks for turns of 100 µs, the shortest there are, on a CPU that is shared with others.
///
/// EEVDF lets a thread have its slice of some milliseconds to the end, yield as it may, unless the one
/// that wakes has a shorter one. Older kernels refuse or ignore it: there a yield gives way at once, and
/// whoever slept goes first. Source: `sched_setattr(2)`; custom slices of Linux 6.12 (`PREEMPT_SHORT`).
/// `thread` 0 is the one that calls.
pub fn take_short_turns(thread: libc::pid_t) {
    const SHORTEST_NS: u64 = 100_000;
    // SAFETY: a zeroed attribute is that of an ordinary thread; failure changes nothing.
    unsafe {
        let mut attr: libc::sched_attr = std::mem::zeroed();
        attr.size = size_of_val(&attr) as u32;
        attr.sched_nice = libc::getpriority(libc::PRIO_PROCESS, thread.unsigned_abs());
        attr.sched_runtime = SHORTEST_NS;
        libc::syscall(libc::SYS_sched_setattr, thread, &raw const attr, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read_and_else_refused() {
        assert_eq!(parse("0,2-3", 8), Ok(vec![0, 2, 3]));
        assert_eq!(parse(" 1 ", 8), Ok(vec![1]));
        for wrong in ["", "x", "3-2", "8", "1,,2", "-1"] {
            assert_eq!(parse(wrong, 8).unwrap_err().at, "cpus", "{wrong}");
        }
    }

    #[test]
    fn a_set_of_more_than_1024_cpus_is_one_of_the_kernels() {
        let own = CpuSet::of(0).unwrap();
        assert!(!own.is_empty());
        let first = (0..CPUS_MAX).find(|&cpu| own.has(cpu)).unwrap();
        let far = CpuSet::new(&[first, 1024, 8191, 8192, usize::MAX]);
        assert!(far.has(1024) && far.has(8191) && !far.has(8192) && !far.has(usize::MAX));
        assert!(!far.without(&[1024]).has(1024) && own.clone().without(&[8192]) == own);
        std::thread::spawn(move || {
            CpuSet::new(&[first, 5000]).take().unwrap(); // those that are not there are ignored
            assert_eq!(CpuSet::of(0), Some(CpuSet::new(&[first])));
            assert!(CpuSet::new(&[5000]).take().is_err());
            assert_eq!(pin("8191").unwrap_err().at, "cpus", "refused, and no panic");
            assert_eq!(pin("8192").unwrap_err().at, "cpus");
        })
        .join()
        .unwrap();
    }
}
