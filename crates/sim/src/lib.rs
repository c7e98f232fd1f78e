//! Queueing and scheduler simulator, and the closed forms that it is checked against.
//!
//! What a machine at hand cannot show is simulated; what is simulated was first compared with what
//! is known exactly. Reading order: [`closed`] (formulas), [`queue`] (requests and workers, one
//! recursion per discipline), [`stats`] (sections and their intervals), [`cli`].
//!
//! Every result is a function of its job alone: same seed, same bytes, on any number of CPUs.

pub mod closed;
