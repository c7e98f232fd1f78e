//! From counts to a result, and whether it holds.

pub mod few;
pub mod result;
pub mod summary;
pub mod verdict;
