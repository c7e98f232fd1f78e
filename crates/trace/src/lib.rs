//! Where the time of each request goes, from the wire to the reply, in a server that is left as it is.
//!
//! [`reconstruct`] (stages, bins, counts, records: what the kernel side keeps, and what follows from it) →
//! [`attach`] (programs into the kernel, and the server that they watch) → [`culprit`] (what made the slowest
//! requests slow) and [`who`] (who else runs on some CPUs) → `session` (one trace; needs the feature `bpf`) →
//! [`judge`] (the result, and whether it holds) → [`blackbox`] (the slowest requests of the last minutes) → [`output`] (how it is written) → [`times`] (when requests came and were answered, and no more) →
//! [`diff`] (how two results differ) → `program`. A folder
//! imports only those before it. What needs clang or the kernel has the feature `bpf`; all else builds without.
//! The kernel side is `src/bpf/breakdown.bpf.c`.

pub mod attach;
pub mod blackbox;
pub mod cli;
pub mod culprit;
pub mod diff;
pub mod judge;
pub mod output;
#[cfg(feature = "bpf")]
pub mod program;
pub mod quantile;
pub mod reconstruct;
#[cfg(feature = "bpf")]
pub mod session;
pub mod times;
pub mod who;
