//! Open-loop load generator: the plan is drawn first, replies are never waited for.
//!
//! [`job`] (what is asked) → [`plan`] (what it means, drawn before the run) → [`drive`] (the hot loop, over
//! [`transports`], in the words of [`protocols`], beside [`watch`]) → [`tally`] (what requests came to)
//! → [`judge`] (the result, and whether it holds) → [`output`] (how it is written). A folder imports only
//! those before it.

pub mod cli;
pub mod drive;
pub mod job;
pub mod judge;
pub mod measure;
pub mod metrics;
pub mod output;
pub mod plan;
pub mod program;
pub mod protocols;
pub mod tally;
pub mod transports;
pub mod watch;
