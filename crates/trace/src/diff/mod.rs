//! Which stage, cause and culprit moved mean and tail between two traces, or between pairs of them.
//!
//! [`args`] (the command line) → [`read`] (result files, which may be anyone's) → [`parts`] (mean and tail of a
//! side by stage) → [`resample`] and [`changes`] (intervals and p-values of the differences), [`culprits`] (the
//! same by cause), [`doubts`] → [`judge`] (what has moved: a family of hypotheses) → [`text`], [`flame`],
//! [`together`] (one file for Perfetto) → [`act`].
//!
//! The tail's mean is that of the slowest 1 − q of the requests of each side: the difference of two such means
//! is the sum of the differences by stage. A quantile has no such parts.

pub mod act;
pub mod args;
pub mod changes;
pub mod culprits;
pub mod doubts;
pub mod flame;
pub mod judge;
pub mod parts;
pub mod read;
pub mod resample;
pub mod text;
pub mod together;

#[cfg(test)]
pub(crate) mod testing;
