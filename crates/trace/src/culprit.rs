//! Who is to blame for the tail: what ran, woke, held or interrupted while the slowest requests waited.
//!
//! Reading order: [`seen`] (the hooks' events), [`suspect`] (what it can be put down to), [`pieces`]
//! (a thread's time between two moments, cut up by that), [`join`] (a request's time, cut up, and the
//! sums over the tail and the others), [`rule`] (who may be named), [`sentence`], [`result`], [`text`],
//! [`flame`].
//! All of that is pure; `watch` and `symbols` talk to the kernel, whose side is `src/bpf/culprit.bpf.c`.
//!
//! Every moment of a request belongs to exactly one suspect or stage, in the tail and in the body
//! alike, so the excess of the tail over the body is the sum of their differences.

pub mod decode;
pub mod endpoint;
pub mod flame;
pub mod join;
pub mod keep;
pub mod pieces;
pub mod result;
pub mod rule;
pub mod seen;
pub mod sentence;
pub mod suspect;
pub mod svg;
pub mod tail;
pub mod text;

#[cfg(feature = "bpf")]
pub mod eye;
#[cfg(feature = "bpf")]
pub mod symbols;
#[cfg(feature = "bpf")]
pub mod watch;

/// Waits and sleeps shorter than this are not sent by the hooks, ns.
pub const FLOOR_NS: u64 = 20_000;
/// Time in interrupts is sent in pieces of this, ns.
pub const IRQ_NS: u64 = 40_000;
/// The quantile that is asked about if none is given.
pub const QUANTILE: f64 = 0.99;

#[cfg(test)]
mod tests;
