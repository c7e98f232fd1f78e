//! When every request came, and when its reply began and ended: two cheap hooks, no stages.
//!
//! The kernel's side is that of the black box (`src/bpf/slow.bpf.c`), set to leave no request out. A load's
//! referee needs no more, and a service pays a fraction of what a whole trace costs.
//!
//! Reading order: [`args`] (the option), [`rows`] (writes become requests), [`result`] (their counts, and whether they hold),
//! `hooks` (talks to the kernel), `act` (from the options to the file).

pub mod args;
pub mod result;
pub mod rows;

#[cfg(feature = "bpf")]
pub mod act;
#[cfg(feature = "bpf")]
mod file;
#[cfg(feature = "bpf")]
mod hooks;
