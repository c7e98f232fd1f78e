//! What is written: tables, JSON, histograms, raw requests, and what the program says of itself.

pub mod describe;
pub mod hlog;
pub(crate) mod pretty_json;
pub mod raw;
pub mod table;
