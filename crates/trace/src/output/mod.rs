//! What is written: pages, JSON, Chrome traces, full records, and what the program says of itself.

pub mod chrome;
pub mod describe;
pub mod records;
pub mod text;
pub mod windows;
