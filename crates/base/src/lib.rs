//! What every native tool of the lab shares.
//!
//! Reading order: [`units`] (what people type), [`clock`], [`rng`], [`quantiles`] (which ones), [`span`] (a summary of many times),
//! [`kind`] (how a thing describes itself), [`program`] (from a command line to an exit code), [`fault`] (what went wrong, where, and how to fix it),
//! [`files`], [`job`], [`cpus`], [`process`] (which one still runs), [`schedstat`] (what a thread ran and waited), [`threads`] (where the kernel may refuse one), [`accept`] (clients of a service), [`scrape`] (numbers for Prometheus), [`visible`] (what strangers wrote, for a terminal).

pub mod accept;
pub mod clock;
pub mod cpus;
pub mod echo;
pub mod fault;
pub mod files;
pub mod job;
pub mod kind;
pub mod process;
pub mod program;
pub mod quantiles;
pub mod rng;
pub mod schedstat;
pub mod scrape;
pub mod span;
pub mod threads;
pub mod units;
pub mod visible;

pub use fault::{Exit, Fault};
