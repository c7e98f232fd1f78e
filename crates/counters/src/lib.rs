//! What the kernel counts of a service and of the machine, written down sample by sample.
//!
//! Files of `/proc` are copied with the time at which each was read; what they mean is worked out
//! afterwards by whoever reads the record (`python/sojourn/host/usage`). So it costs little while load
//! runs: it may share a CPU with a client that spins, which stands still whenever this program runs.
//! Therefore a sample is read in pieces of [`reader::PIECE_NS`], with sleep in between.
//!
//! Reading order: [`reader`], [`members`] (which processes are the service), [`sample`], [`program`].

pub mod members;
pub mod program;
pub mod reader;
pub mod sample;
