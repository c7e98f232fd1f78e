//! Programs into the kernel, their settings there, and the server that they watch.

#[cfg(feature = "bpf")]
pub(crate) mod calls;
#[cfg(feature = "bpf")]
pub(crate) mod compat;
#[cfg(feature = "bpf")]
pub(crate) mod control;
pub mod hooks;
pub mod how;
#[cfg(feature = "bpf")]
pub mod kernel;
pub(crate) mod limits;
#[cfg(feature = "bpf")]
pub(crate) mod links;
#[cfg(feature = "bpf")]
pub(crate) mod load;
#[cfg(feature = "bpf")]
pub(crate) mod netns;
pub mod pidns;
pub mod refusal;
#[cfg(feature = "bpf")]
pub(crate) mod shared;
#[cfg(feature = "bpf")]
pub(crate) mod steps;
pub mod target;
