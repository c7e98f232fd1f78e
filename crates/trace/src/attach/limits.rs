//! How much the kernel side has room for; the same numbers as in `src/bpf`.

/// CPUs that the kernel's side has room for.
pub const MAX_CPUS: usize = 1024;
