//! The black box: every request is timed all the time, and the slowest of the last minutes are stored with what
//! their threads waited for.
//!
//! Reading order: [`asked`] (what starts a dump), [`memory`] (the bounded store of slow requests), [`tally`] (all
//! requests by second), [`parts`] and [`cut`] (a request's time by stage and culprit), [`dump`] (what is written),
//! [`perfetto`] and [`otlp`] (the same for other viewers), [`folder`] (where dumps go), [`metrics`] and [`listen`] (for Prometheus),
//! [`service`] (whom to watch, by process, name or control group), [`unit`] (for systemd). All of that is pure or
//! talks to files only; `hooks` talks to the kernel, `windows` traces stages beside it, `turns` is
//! the loop, and `act` begins it. The kernel's side is `src/bpf/slow.bpf.c`
//! for the requests and `src/bpf/culprit.bpf.c` for the threads.

pub mod args;
pub mod asked;
pub mod assemble;
pub mod cut;
pub mod dump;
pub mod folder;
pub mod listen;
pub mod log;
pub mod memory;
pub mod metrics;
pub mod otlp;
pub mod parts;
pub mod perfetto;
pub mod record;
pub mod service;
pub mod stamp;
pub mod state;
pub mod tally;
pub mod unit;
pub mod writer;

#[cfg(feature = "bpf")]
pub mod act;
#[cfg(feature = "bpf")]
pub mod hooks;
#[cfg(feature = "bpf")]
mod turns;
#[cfg(feature = "bpf")]
pub mod windows;
