//! What a job means, and the arrays that are drawn and touched before the run.

pub mod begin;
pub mod lanes;
pub mod marks;
pub mod pages;
pub mod resolve;
pub mod schedule;
