//! A datacenter: thousands of servers, requests that fan out over them, neighbours beside them.
//!
//! Servers do not talk to each other within a request's service, so each is a queue of its own at
//! its own load; a root request picks servers at random and waits for the slowest of each level.
//! [`parallel`] splits the work into pieces that do not depend on the number of CPUs.

pub mod job;
mod parallel;
pub mod placement;
pub mod run;
mod server;
