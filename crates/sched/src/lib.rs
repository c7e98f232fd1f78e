//! Borrowed virtual time as a `sched_ext` scheduler: weight for the long-run share, warp for who goes first.
//!
//! The kernel side is `bpf/bvt.bpf.c`; its arithmetic, `bpf/arithmetic.h`, is that of the simulator.
//!
//! Reading order: [`job`] (what is asked), [`terms`] (understood), [`groups`] and [`host`] (this
//! machine), [`shapes`] (what both sides share), [`line`] (what is printed), `run`, [`args`] and
//! [`program`].
//!
//! Source: Duda and Cheriton, "Borrowed-Virtual-Time (BVT) scheduling", SOSP 1999; Leverich and
//! Kozyrakis, `EuroSys` 2014, section 4.3.4 (L26).

pub mod args;
pub mod groups;
pub mod host;
pub mod job;
pub mod line;
#[cfg(feature = "bpf")]
mod load;
#[cfg(feature = "bpf")]
pub mod program;
#[cfg(feature = "bpf")]
mod run;
pub mod shapes;
pub mod terms;
