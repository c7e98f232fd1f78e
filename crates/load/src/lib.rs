//! Open-loop load generator: the plan is drawn first, replies are never waited for.
//!
//! [`job`] (what is asked) → [`resolve`] (what it means) → plan (drawn before the run) → [`drive`]
//! (the hot loop) → [`marks`] (what became of each request) → [`result`].

pub mod address;
pub mod begin;
pub mod bodies;
mod carried;
pub mod cli;
mod complaints;
pub mod content;
pub mod cpu;
pub mod cpu_time;
pub mod describe;
pub mod drive;
pub mod excluded;
mod heard;
pub mod hello;
pub mod hlog;
pub mod job;
pub mod lanes;
pub mod long;
pub mod marks;
pub mod measure;
pub mod measurement;
pub mod misses;
pub mod outage;
pub mod pace;
pub mod pages;
pub mod playback;
pub mod preload;
pub mod program;
pub mod progress;
pub mod protocols;
pub mod qos_sample;
mod quantiles;
pub mod raw;
pub mod request;
pub mod resolve;
pub mod result;
pub mod run;
pub mod said;
pub mod sampled;
pub mod schedule;
pub mod selfcheck;
pub mod sentinel;
pub mod server_watch;
pub mod shards;
pub mod slices;
pub mod stops;
pub mod summary;
pub mod table;
pub mod tally;
pub mod target;
mod tidy;
pub mod told;
pub mod transports;
pub mod turns;
