//! What the kernel side keeps of requests, as it is read, and what follows from it. No kernel, no clock.

pub mod bins;
pub mod bytes;
pub mod counts;
pub mod cpu_samples;
pub mod framing;
pub mod jackknife;
pub(crate) mod layout;
pub mod parts;
pub mod reasons;
pub mod record;
pub mod stages;
pub mod window;
