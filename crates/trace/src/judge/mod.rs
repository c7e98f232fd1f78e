//! From counts to a result, and whether it holds.

pub mod blocks;
pub mod difference;
pub mod few;
#[cfg(feature = "bpf")]
pub mod made;
pub mod result;
pub mod summary;
pub mod verdict;
