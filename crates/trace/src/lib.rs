//! Where the time of each request goes, from the wire to the reply, in a server that is left as it is.
//!
//! Reading order: [`stages`] (what is measured), [`reasons`] (what can go wrong with a request),
//! [`bins`] and [`counts`] (what the kernel keeps), [`result`] (what is written), [`text`] (what
//! people read), [`target`] (whom we look at), [`refusal`] (why the kernel may not let us), [`how`] (which
//! requests, at which price), `session` (the only part that talks to the kernel), with `windowed` (see
//! [`window`]) and `whole` for parts of the time and all of it,
//! [`program`]. Everything but `session` and its helpers is pure and builds without clang; the
//! kernel side is `src/bpf/breakdown.bpf.c`. Beside it stand [`culprit`]: who or what made the slowest
//! requests slow, and [`who`]: who else runs on some CPUs.

pub mod bins;
pub mod bytes;
pub mod chrome;
pub mod cli;
pub mod counts;
pub mod culprit;
pub mod describe;
pub mod few;
pub mod framing;
pub mod how;
pub mod jackknife;
mod layout;
pub mod parts;
pub mod pidns;
pub mod reasons;
pub mod record;
pub mod refusal;
pub mod result;
pub mod stages;
pub mod summary;
pub mod target;
pub mod text;
pub mod verdict;
pub mod who;
pub mod window;

pub mod cpu_samples;
pub mod hooks;
pub mod records;

#[cfg(feature = "bpf")]
mod attach;
#[cfg(feature = "bpf")]
mod calls;
#[cfg(feature = "bpf")]
mod compat;
#[cfg(feature = "bpf")]
mod control;
#[cfg(feature = "bpf")]
pub mod kernel;
#[cfg(feature = "bpf")]
mod live;
#[cfg(feature = "bpf")]
mod load;
#[cfg(feature = "bpf")]
mod netns;
#[cfg(feature = "bpf")]
mod pace;
#[cfg(feature = "bpf")]
pub mod program;
#[cfg(feature = "bpf")]
mod read;
#[cfg(feature = "bpf")]
pub mod session;
#[cfg(feature = "bpf")]
mod shared;
#[cfg(feature = "bpf")]
mod whole;
#[cfg(feature = "bpf")]
mod windowed;
