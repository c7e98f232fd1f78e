//! A datacenter: thousands of servers, requests that fan out over them, neighbours beside them.
//!
//! Servers do not talk to each other within a request's service, so each is a queue of its own at
//! its own load, in its steady state; a root request picks servers at random and waits for the
//! slowest of each level. [`parallel`] splits the work into pieces that do not depend on the number
//! of CPUs. Reading order: [`run`], `hour`, `server`, `steady`, `roots`, `known`.

mod hour;
pub mod job;
mod known;
mod parallel;
pub mod placement;
pub mod result;
mod roots;
pub mod run;
mod server;
mod servers;
mod steady;
