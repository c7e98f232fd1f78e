//! Open-loop load generator: the plan is drawn first, replies are never waited for.
//!
//! `job` → plan → `drive` → marks → result.

pub mod job;
pub mod marks;
pub mod result;
